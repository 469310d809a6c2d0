//! Confines panics of a library on untrusted input to the file being read.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::run_folder::error::Error;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught and reported as an error, so that a panic hook need not report it
/// as well.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Calls the Parquet library on an untrusted file. Its own checks do not cover everything a damaged file can
/// contain (an offset beyond a page, a level that no column has), and it then panics; no state of the caller
/// is left inconsistent.
pub(crate) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let before = GUARDED.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    read.unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<String>().map(String::as_str);
        let reason =
            reason.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(Error::refused("read", path, format!("the Parquet library gave up on it: {reason}"))
            .with_hint("it was damaged by a copy or a disk, or on purpose; copy it again"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_the_file() {
        let place = Path::new("samples/io.parquet");
        let error = guarded::<()>(place, || panic!("no page {}", 7)).unwrap_err().to_string();
        assert!(error.contains("samples/io.parquet") && error.contains("no page 7"), "{error}");
        assert!(!is_guarded());
        assert!(guarded(place, || Ok(is_guarded())).unwrap());
    }
}
