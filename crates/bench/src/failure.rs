//! Why a figure could not be measured.

use std::fmt;

/// What kept the bench from measuring.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user asked to stop.
    Interrupted(&'static str),
    /// Anything else, as a sentence with what to do about it.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(signal) => write!(f, "interrupted by {signal}"),
            Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// A failure described by an error of another room.
    pub(crate) fn of(error: &dyn fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<assay_kernel::Error> for Failure {
    fn from(error: assay_kernel::Error) -> Self {
        Self::of(&error)
    }
}

impl From<assay_run_folder::Error> for Failure {
    fn from(error: assay_run_folder::Error) -> Self {
        Self::of(&error)
    }
}
