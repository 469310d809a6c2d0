//! Turns failed system calls into failures with a remedy.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::failure::Failure;

/// A failed operation on a path.
pub(super) fn unable(operation: &str, path: &Path, error: &io::Error) -> Failure {
    let remedy = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => {
            "free space, reduce the entries or sizes of the file sets, or choose another directory \
             with --set dir=..."
        }
        Some(Errno::NOENT) => "create the directory, or choose another one with --set dir=...",
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            "choose a writable directory with --set dir=..."
        }
        Some(Errno::MFILE | Errno::NFILE) => "raise `ulimit -n`, or reduce threads",
        Some(Errno::INVAL) => {
            "the file system may not support what the operation needs (directio needs sizes and \
             offsets in multiples of a block)"
        }
        _ => "check the kernel log and the file system",
    };
    Failure::Unable {
        what: format!("cannot {operation} {}: {error}", path.display()),
        remedy: remedy.to_owned(),
    }
}

/// The same for errors of rustix.
pub(super) fn refused(operation: &str, path: &Path, errno: Errno) -> Failure {
    unable(operation, path, &errno.into())
}
