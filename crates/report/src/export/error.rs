//! Export errors.

use std::{fmt, io};

use assay_sys::exit::{Code, Error};

/// The error of a failed write. That a reader has closed the pipe is no failure, but ends the command.
#[must_use]
pub fn write_error(to: impl fmt::Display, cause: &io::Error) -> Error {
    match cause.kind() {
        io::ErrorKind::BrokenPipe => Error::ended(Code::Kept),
        _ => Error::host(format!(
            "cannot write {to}: {cause}\n  hint: choose another path with --out"
        )),
    }
}

/// The same of a file.
#[must_use]
#[allow(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
pub fn cannot_write(error: assay_sys::files::Error) -> Error {
    write_error(error.path.display(), &error.cause)
}
