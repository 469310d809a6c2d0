//! A library that panics at bytes from elsewhere costs one file and not the program.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::error::Error;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught and told as an error: nobody needs to hear of it
/// twice.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Calls a reader of the Parquet library on a file that may be anybody's. Its own checks do not
/// cover all that a damaged file can say (an offset beyond a page, a level that no column has), and
/// it then panics; nothing of ours is half-done meanwhile.
pub(crate) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let before = GUARDED.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    read.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
        Err(Error::new("read", path, &format!("the Parquet library gave up on it: {said}"))
            .with_hint("a copy or a disk damaged it, or it was made to; copy it again"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_its_file() {
        let place = Path::new("samples/io.parquet");
        let error = guarded::<()>(place, || panic!("no page {}", 7)).unwrap_err().to_string();
        assert!(error.contains("samples/io.parquet") && error.contains("no page 7"), "{error}");
        assert!(!is_guarded());
        assert!(guarded(place, || Ok(is_guarded())).unwrap());
    }
}
