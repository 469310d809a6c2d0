//! Errors that end a run early.

use std::fmt;

use assay_record::run_folder::with_remedy;

/// The cause of a failed run.
#[derive(Debug)]
pub enum Failure {
    /// The host refused a change or lacks something.
    Host(assay_sys::kernel::Error),
    /// The run folder could not be written.
    Record(assay_record::run_folder::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(f),
            Self::Record(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<assay_sys::kernel::Error> for Failure {
    fn from(error: assay_sys::kernel::Error) -> Self {
        Self::Host(error)
    }
}

impl From<assay_sys::files::Error> for Failure {
    /// Files that a run creates by name are in the run folder.
    fn from(error: assay_sys::files::Error) -> Self {
        Self::Record(with_remedy(error))
    }
}
