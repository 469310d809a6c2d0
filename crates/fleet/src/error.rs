//! Errors of fleets.

use std::fmt;
use std::path::Path;

/// A failure of the fleet itself; a failed run on a host is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What went wrong, as a sentence fragment.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A file operation that failed.
    pub(crate) fn file(verb: &str, path: &Path, cause: &dyn fmt::Display) -> Self {
        Self::new(format!("cannot {verb} {}: {cause}", path.display()))
    }
}

impl From<assay_record::run_folder::Error> for Error {
    fn from(error: assay_record::run_folder::Error) -> Self {
        let what = format!("cannot {} {}: {}", error.operation, error.path.display(), error.cause);
        Self { what, hint: error.hint }
    }
}

impl From<assay_sys::files::Error> for Error {
    fn from(error: assay_sys::files::Error) -> Self {
        let hint = error.hint.clone();
        Self { hint, ..Self::file(error.operation, &error.path, &error.cause) }
    }
}

impl From<assay_sys::kernel::Error> for Error {
    fn from(error: assay_sys::kernel::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
