//! What went wrong while something was written for others.

use std::fmt;
use std::io;
use std::path::Path;

/// A failed export.
#[derive(Debug)]
pub enum Error {
    /// A run could not be read.
    Run(assay_run_folder::Error),
    /// A file could not be written: its place and why.
    Write(String, String),
    /// What was asked for has no meaning for this run.
    DoesNotFit(String),
    /// The reader of a pipe has gone away: nothing is wrong, and there is nothing more to do.
    NobodyReads,
}

impl Error {
    pub(crate) fn write(path: &Path, cause: &dyn fmt::Display) -> Self {
        Self::Write(path.display().to_string(), cause.to_string())
    }

    pub(crate) fn io(path: &str, cause: &io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Write(path.to_owned(), cause.to_string()),
        }
    }
}

impl From<assay_files::Error> for Error {
    fn from(error: assay_files::Error) -> Self {
        Self::write(&error.path, &error.cause)
    }
}

impl From<assay_run_folder::Error> for Error {
    fn from(error: assay_run_folder::Error) -> Self {
        Self::Run(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Write(path, cause) => {
                write!(f, "cannot write {path}: {cause}\n  hint: choose another place with --out")
            }
            Self::DoesNotFit(why) => f.write_str(why),
            Self::NobodyReads => f.write_str("nobody reads what is written"),
        }
    }
}

impl std::error::Error for Error {}
