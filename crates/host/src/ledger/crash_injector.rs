//! In tests: a fuse that burns down with every instant at which a process can die, and then
//! fails all that follows, as death would. It also remembers how much of a ledger has reached
//! the disk, which is all that a power cut leaves.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use assay_kernel::Error;

thread_local! {
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    static TEAR: Cell<usize> = const { Cell::new(0) };
    static TORN: Cell<usize> = const { Cell::new(0) };
    static SYNCED: Cell<u64> = const { Cell::new(0) };
    static LOOK: RefCell<Option<Look>> = const { RefCell::new(None) };
}

/// What is called at every instant.
type Look = Box<dyn FnMut()>;

/// Sets the number of instants that are survived; `None` for ever.
pub(super) fn set(instants: Option<usize>) {
    LEFT.set(instants);
    TEAR.set(0);
    TORN.set(0);
}

/// The same, where death in an append leaves this many bytes of it.
pub(super) fn set_with_tear(instants: usize, bytes: usize) {
    set(Some(instants));
    TEAR.set(bytes);
}

/// How many bytes the append in which the process died has left.
pub(super) fn torn() -> usize {
    TORN.get()
}

/// How long the ledger was when it was last on the disk.
pub(super) fn length_on_disk() -> u64 {
    SYNCED.get()
}

/// Does a work that nobody kills, and looks at every instant of it.
pub(super) fn look_at_all(work: impl FnOnce(), look: Look) {
    set(None);
    LOOK.set(Some(look));
    work();
    LOOK.set(None);
}

/// One instant.
pub(crate) fn burn() -> Result<(), Error> {
    LOOK.with_borrow_mut(|look| look.iter_mut().for_each(|look| look()));
    match LEFT.get() {
        None => Ok(()),
        Some(0) => Err(Error::unexpected("go on", Path::new("ledger"), "the process died")),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}

/// An append in which the process may die after any number of bytes.
pub(super) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    if burn().is_ok() {
        return file.write_all(bytes);
    }
    let torn = TEAR.replace(0).min(bytes.len());
    file.write_all(&bytes[..torn])?;
    TORN.set(TORN.get().max(torn));
    Err(io::Error::other("the process died"))
}

pub(super) fn synced(path: &Path) {
    SYNCED.set(path.metadata().map_or(0, |found| found.len()));
}
