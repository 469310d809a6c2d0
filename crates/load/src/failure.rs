//! Why a generator ended without a result, and the exit code that says so (docs/cli.md).

use std::fmt;

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The arguments do not make sense together; nothing was started. Exit code 2.
    Usage(String),
    /// This host cannot do it: too little memory, a system call refused. Exit code 4.
    Unable {
        /// What cannot be done, with the numbers.
        what: String,
        /// What would be needed.
        remedy: String,
    },
    /// The load ran and its result is wrong. Exit code 5.
    Wrong(String),
}

impl Failure {
    /// A mistake in the arguments.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// The exit code, by the table of docs/cli.md.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Unable { .. } => 4,
            Self::Wrong(_) => 5,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Wrong(text) => f.write_str(text),
            Self::Unable { what, remedy } => write!(f, "{what}\n  hint: {remedy}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<assay_kernel::Error> for Failure {
    fn from(error: assay_kernel::Error) -> Self {
        let remedy = error.hint.clone().unwrap_or_else(|| {
            "ask for less, or see `ulimit -v` and /proc/sys/vm/overcommit_memory".to_owned()
        });
        Self::Unable { what: assay_kernel::Error { hint: None, ..error }.to_string(), remedy }
    }
}
