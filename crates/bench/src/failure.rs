//! Errors of the bench.

use std::fmt;

/// The reason why a measurement failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Interrupted by the user.
    Interrupted(&'static str),
    /// Any other error, with a remedy.
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
    /// From an error of another crate.
    pub(crate) fn from_display(error: &dyn fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<assay_sys::kernel::Error> for Failure {
    fn from(error: assay_sys::kernel::Error) -> Self {
        Self::from_display(&error)
    }
}

impl From<assay_record::run_folder::Error> for Failure {
    fn from(error: assay_record::run_folder::Error) -> Self {
        Self::from_display(&error)
    }
}
