//! Why a generator ended without a result, and the exit code for it (docs/cli.md).

use std::fmt;
use std::path::PathBuf;

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The arguments are inconsistent; nothing was started. Exit code 2.
    Usage(String),
    /// A file that describes the load has a mistake; nothing was started. Exit code 2.
    Input {
        /// The file as named by the user.
        path: PathBuf,
        /// Line and column from 1, if the mistake has a position.
        place: Option<(u32, u32)>,
        /// What is wrong, with the word in question.
        what: String,
        /// How to correct it.
        remedy: String,
    },
    /// This host cannot do it: too little memory, a failed system call. Exit code 4.
    Unable {
        /// What cannot be done, with the numbers.
        what: String,
        /// What is needed.
        remedy: String,
    },
    /// The load began and could not continue: a full disk, a removed file. Exit code 5.
    Ended {
        /// Operation, path and errno.
        what: String,
        /// What to check.
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
            Self::Usage(_) | Self::Input { .. } => 2,
            Self::Unable { .. } => 4,
            Self::Ended { .. } | Self::Wrong(_) => 5,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Wrong(text) => f.write_str(text),
            Self::Unable { what, remedy } | Self::Ended { what, remedy } => {
                write!(f, "{what}\n  hint: {remedy}")
            }
            Self::Input { path, place, what, remedy } => {
                write!(f, "{}:", path.display())?;
                if let Some((line, column)) = place {
                    write!(f, "{line}:{column}:")?;
                }
                write!(f, " {what}\n  hint: {remedy}")
            }
        }
    }
}

impl std::error::Error for Failure {}

impl From<assay_sys::kernel::Error> for Failure {
    fn from(error: assay_sys::kernel::Error) -> Self {
        let remedy = error.hint.clone().unwrap_or_else(|| {
            "use less memory, or see `ulimit -v` and /proc/sys/vm/overcommit_memory".to_owned()
        });
        Self::Unable { what: assay_sys::kernel::Error { hint: None, ..error }.to_string(), remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_a_file_is_reported_with_position_and_remedy() {
        let failure = Failure::Input {
            path: "mail.f".into(),
            place: Some((3, 14)),
            what: "unknown flow operation `raed`".to_owned(),
            remedy: "did you mean `read`?".to_owned(),
        };
        assert_eq!(
            failure.to_string(),
            "mail.f:3:14: unknown flow operation `raed`\n  hint: did you mean `read`?"
        );
        assert_eq!(failure.exit_code(), 2);
    }

    #[test]
    fn exit_codes_are_those_of_assay() {
        let (what, remedy) = (String::new(), String::new());
        let ended = Failure::Ended { what: what.clone(), remedy: remedy.clone() };
        let codes = [Failure::usage(""), Failure::Unable { what, remedy }, ended];
        assert_eq!(codes.map(|failure| failure.exit_code()), [2, 4, 5]);
        assert_eq!(Failure::Wrong(String::new()).exit_code(), 5);
    }
}
