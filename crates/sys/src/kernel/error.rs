//! Errors of kernel operations: operation, path, value, errno and a hint.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A failed operation on a file or a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The verb: `read`, `write`, `mkdir`, `LOOP_CONFIGURE`.
    pub operation: &'static str,
    /// What it was applied to.
    pub path: PathBuf,
    /// The value to write, for write operations.
    pub value: Option<String>,
    /// The error number returned by the kernel.
    pub errno: Option<i32>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    /// An operation on `path` that failed with `cause`.
    #[must_use]
    pub fn new(operation: &'static str, path: &Path, cause: &io::Error) -> Self {
        Self {
            operation,
            path: path.to_owned(),
            value: None,
            errno: cause.raw_os_error(),
            // An error made by the standard library itself has a message but no errno.
            hint: cause.raw_os_error().is_none().then(|| cause.to_string()),
        }
    }

    /// An operation that met an unexpected state, without an errno.
    #[must_use]
    pub fn unexpected(operation: &'static str, path: &Path, hint: impl Into<String>) -> Self {
        Self { operation, path: path.to_owned(), value: None, errno: None, hint: Some(hint.into()) }
    }

    /// The same, with the value to write.
    #[must_use]
    pub fn with_value(mut self, value: &str) -> Self {
        self.value = Some(value.trim_end().to_owned());
        self
    }

    /// The same, with a remedy.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether this was the error number.
    #[must_use]
    pub fn is(&self, errno: rustix::io::Errno) -> bool {
        self.errno == Some(errno.raw_os_error())
    }
}

impl From<crate::files::Error> for Error {
    fn from(error: crate::files::Error) -> Self {
        let own = Self::new(error.operation, &error.path, &error.cause);
        let hints = [own.hint, error.hint].into_iter().flatten().collect::<Vec<_>>();
        Self { hint: (!hints.is_empty()).then(|| hints.join("; ")), ..own }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.operation, self.path.display())?;
        if let Some(value) = &self.value {
            write!(f, " (value `{value}`)")?;
        }
        if let Some(errno) = self.errno {
            write!(f, ": {}", io::Error::from_raw_os_error(errno))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
