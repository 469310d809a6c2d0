//! Errors of run folders: those of files, with what the user can do about a folder that cannot be written.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

pub use assay_sys::files::Error;

/// The error of a write into a run folder, with a hint for what users can fix.
#[must_use]
pub fn with_remedy(error: Error) -> Error {
    let hint = match error.cause.kind() {
        _ if error.hint.is_some() => return error,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk of the run folder is full; free space there or choose another with --out"
        }
        ErrorKind::PermissionDenied => "choose a run folder that you own with --out",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "a file is in the way; choose another run folder with --out"
        }
        ErrorKind::ReadOnlyFilesystem => "choose a writable run folder with --out",
        _ => return error,
    };
    error.with_hint(hint)
}

/// An error for a file that does not hold samples.
pub(crate) fn damaged(path: &Path, why: &dyn fmt::Display) -> Error {
    let hint = "it was damaged by a copy or a disk, or not written by Assay; copy it again";
    Error::refused("read", path, why).with_hint(hint)
}

/// The source that a file of samples is named after.
pub(crate) fn source_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
