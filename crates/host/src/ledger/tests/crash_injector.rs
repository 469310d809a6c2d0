//! Test-only crash injector: after N crash points every operation fails, as after SIGKILL. It also
//! records how much of a ledger has reached the disk, which is all that a power cut leaves.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use assay_sys::kernel::Error;

thread_local! {
    static REMAINING: Cell<Option<usize>> = const { Cell::new(None) };
    static TEAR: Cell<usize> = const { Cell::new(0) };
    static TORN: Cell<usize> = const { Cell::new(0) };
    static SYNCED: Cell<u64> = const { Cell::new(0) };
    static NAMED: Cell<bool> = const { Cell::new(false) };
    static REMOVED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
    static SYNCED_DIRECTORIES: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// A callback for every crash point.
type Observer = Box<dyn FnMut()>;

/// Sets the number of crash points that are survived; `None` for all.
pub(super) fn set(points: Option<usize>) {
    REMAINING.set(points);
    TEAR.set(0);
    TORN.set(0);
}

/// The same, but a crash during an append leaves this many bytes of it.
pub(super) fn set_with_tear(points: usize, bytes: usize) {
    set(Some(points));
    TEAR.set(bytes);
    NAMED.set(false);
    REMOVED.set(None);
}

/// The number of bytes left of the append during which the process crashed.
pub(super) fn torn() -> usize {
    TORN.get()
}

/// The length of the ledger at its last sync.
pub(super) fn length_on_disk() -> u64 {
    SYNCED.get()
}

/// Whether the name of the ledger has reached the disk.
pub(super) fn is_named_on_disk() -> bool {
    NAMED.get()
}

/// The ledger that was removed, unless that has reached the disk.
pub(super) fn removed() -> Option<Vec<u8>> {
    REMOVED.take()
}

/// The directories whose names were synced since the last call.
pub(super) fn synced_directories() -> Vec<PathBuf> {
    SYNCED_DIRECTORIES.take()
}

/// Runs `work` without a crash, calling `observer` at every crash point.
pub(super) fn observe_all(work: impl FnOnce(), observer: Observer) {
    set(None);
    OBSERVER.set(Some(observer));
    work();
    OBSERVER.set(None);
}

/// One crash point.
pub(crate) fn crash_point() -> Result<(), Error> {
    super::hanging_step::check_not_left_behind()?;
    OBSERVER.with_borrow_mut(|observer| observer.iter_mut().for_each(|observer| observer()));
    match REMAINING.get() {
        None => Ok(()),
        Some(0) => Err(Error::unexpected("go on", Path::new("ledger"), "the process died")),
        Some(remaining) => {
            REMAINING.set(Some(remaining - 1));
            Ok(())
        }
    }
}

/// An append that may be interrupted after any number of bytes.
pub(super) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    if crash_point().is_ok() {
        return file.write_all(bytes);
    }
    let torn = TEAR.replace(0).min(bytes.len());
    file.write_all(&bytes[..torn])?;
    TORN.set(TORN.get().max(torn));
    Err(io::Error::other("the process died"))
}

pub(super) fn synced(path: &Path) {
    SYNCED.set(path.metadata().map_or(0, |metadata| metadata.len()));
}

pub(super) fn removing(path: &Path) {
    REMOVED.set(fs::read(path).ok());
}

pub(super) fn names_synced(directory: &Path) {
    let mut names = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_ledger = |entry: fs::DirEntry| entry.path().extension().is_some_and(|of| of == "jsonl");
    NAMED.set(names.any(is_ledger));
    REMOVED.set(None);
    SYNCED_DIRECTORIES.with_borrow_mut(|all| all.push(directory.to_owned()));
}
