//! A failed file operation: operation, path, cause and a hint.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// A failed operation on a file or a directory.
#[derive(Debug)]
pub struct Error {
    /// The verb: `create`, `replace`, `remove`.
    pub operation: &'static str,
    /// What it was applied to.
    pub path: PathBuf,
    /// The system error, or the reason for which this module refused.
    pub cause: io::Error,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    /// A failed system call.
    pub fn new(operation: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        Self { operation, path: path.to_owned(), cause: cause.into(), hint: None }
    }

    /// What the content of a file, or a rule of this program, forbids.
    pub fn refused(operation: &'static str, path: &Path, why: impl fmt::Display) -> Self {
        Self::new(operation, path, io::Error::other(why.to_string()))
    }

    /// The same with this hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether this was the system error.
    #[must_use]
    pub fn is(&self, errno: Errno) -> bool {
        self.cause.raw_os_error() == Some(errno.raw_os_error())
    }

    /// Whether the path does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.is(Errno::NOENT)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.operation, self.path.display(), self.cause)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    /// Only the cause where it is a system error, so that its kind is preserved.
    fn from(error: Error) -> Self {
        match error.cause.raw_os_error() {
            Some(_) => error.cause,
            None => Self::other(error.to_string()),
        }
    }
}
