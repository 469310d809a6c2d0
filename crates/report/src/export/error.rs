//! Export errors.

use std::fmt;
use std::path::Path;

use assay_sys::exit::Code;

/// A failed export.
#[derive(Debug)]
pub enum Error {
    /// A run could not be read.
    Run(assay_record::run_folder::Error),
    /// A file could not be written: path and cause.
    Write(String, String),
    /// The requested format has no meaning for this run.
    NotApplicable(String),
    /// The reader closed the pipe: not a failure, but there is nothing more to do.
    ReaderClosed,
}

impl Error {
    pub(crate) fn write(path: &Path, cause: &dyn fmt::Display) -> Self {
        Self::Write(path.display().to_string(), cause.to_string())
    }
}

impl From<assay_sys::files::Error> for Error {
    fn from(error: assay_sys::files::Error) -> Self {
        Self::write(&error.path, &error.cause)
    }
}

impl From<assay_record::run_folder::Error> for Error {
    fn from(error: assay_record::run_folder::Error) -> Self {
        Self::Run(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Write(path, cause) => {
                write!(f, "cannot write {path}: {cause}\n  hint: choose another path with --out")
            }
            Self::NotApplicable(why) => f.write_str(why),
            Self::ReaderClosed => f.write_str("the reader has closed the pipe"),
        }
    }
}

impl std::error::Error for Error {}

/// An output whose reader has closed it is not a failure, but ends the command.
impl From<Error> for assay_sys::exit::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::ReaderClosed => Self::ended(Code::Kept),
            Error::Run(_) | Error::NotApplicable(_) => Self::usage(error),
            Error::Write(..) => Self::host(error),
        }
    }
}
