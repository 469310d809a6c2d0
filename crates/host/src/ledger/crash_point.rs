//! Crash points: the moments between any two writes at which a process can die. A step that was left behind ends
//! there; in tests the crash injector (`tests/crash_injector.rs`) acts there too.

#[cfg(not(test))]
pub(super) use alive::{crash_point, names_synced, removing, synced, write_all};

#[cfg(test)]
pub(super) use super::crash_injector::{crash_point, names_synced, removing, synced, write_all};

#[cfg(not(test))]
mod alive {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::Path;

    use assay_sys::kernel::Error;

    /// A moment between two writes.
    pub(in super::super) fn crash_point() -> Result<(), Error> {
        super::super::inside::check_not_replaced();
        super::super::hanging_step::check_not_left_behind()
    }

    /// Appends to a ledger; in tests the process may die after each byte.
    pub(in super::super) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Notes that everything appended so far is on disk; in tests it then survives a power cut.
    pub(in super::super) fn synced(_path: &Path) {}

    /// Notes that a ledger is about to be removed; in tests a power cut brings it back until its directory is synced.
    pub(in super::super) fn removing(_path: &Path) {}

    /// Notes that the names in the directory of ledgers are on disk.
    pub(in super::super) fn names_synced(_directory: &Path) {}
}
