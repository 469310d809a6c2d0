//! Errors of run folders.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A failed operation on a file of a run folder.
#[derive(Debug)]
pub struct Error {
    /// The verb: `create`, `write`, `read`.
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The cause, as reported by the system or the parser.
    pub cause: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl Error {
    pub(crate) fn new(operation: &'static str, path: &Path, cause: &dyn fmt::Display) -> Self {
        Self { operation, path: path.to_owned(), cause: cause.to_string(), hint: None }
    }

    /// A system error, with a hint for those that users can fix.
    pub(crate) fn io(operation: &'static str, path: &Path, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
                "the disk of the run folder is full; free space there or choose another with --out",
            ),
            io::ErrorKind::PermissionDenied => Some("choose a run folder that you own with --out"),
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Some("a file is in the way; choose another run folder with --out")
            }
            io::ErrorKind::ReadOnlyFilesystem => Some("choose a writable run folder with --out"),
            _ => None,
        };
        Self { hint: hint.map(str::to_owned), ..Self::new(operation, path, cause) }
    }

    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }
}

/// An error for a file that does not hold samples.
pub(crate) fn damaged(path: &Path, why: &dyn fmt::Display) -> Error {
    let hint = "it was damaged by a copy or a disk, or not written by Assay; copy it again";
    Error::new("read", path, why).with_hint(hint)
}

/// The source that a file of samples is named after.
pub(crate) fn source_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

impl From<assay_sys::files::Error> for Error {
    fn from(error: assay_sys::files::Error) -> Self {
        let own = Self::io(error.operation, &error.path, &error.cause);
        Self { hint: error.hint.or(own.hint), ..own }
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
