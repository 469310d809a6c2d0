//! In tests: a fuse that burns down with every instant at which a process can die, and then
//! fails all that follows, as death would.

use std::cell::Cell;
use std::path::Path;

use assay_kernel::Error;

thread_local! {
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Sets the number of instants that are survived; `None` for ever.
pub(super) fn set(instants: Option<usize>) {
    LEFT.set(instants);
}

/// One instant.
pub(super) fn burn() -> Result<(), Error> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => Err(Error::unexpected("go on", Path::new("ledger"), "the process died")),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}
