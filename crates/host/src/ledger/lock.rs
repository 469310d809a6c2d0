//! Locks on the set of ledgers and on each ledger. Only the owner of the state directory can take one,
//! and every wait is bounded.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use assay_sys::kernel::{Error, Root, file_lock, process};

use super::boot_id;
use super::journal::{self, Journal};
use super::line::{Contents, Header};

/// Held while the set of ledgers is read or changed, so that of two runs that begin simultaneously one
/// sees the other.
pub(super) struct LockGuard {
    _file: File,
}

/// Time limit for a lock: others hold it only while they read a few files.
const TIMEOUT: Duration = Duration::from_secs(8);

impl LockGuard {
    /// The lock is a file beside the directory of ledgers, which only its owner can open: anyone who
    /// could hold it could also do anything else to the ledgers.
    pub(super) fn acquire(directory: &Path) -> Result<Self, Error> {
        let path = directory.with_file_name("lock");
        let file = super::lock_file(&journal::directory(&path)?, "lock")?;
        file_lock::lock_within(&file, &path, TIMEOUT)?;
        Ok(Self { _file: file })
    }
}

/// Takes the lock of a ledger whose run is dead. A run that is killed while it starts a program leaves
/// a child that shares the lock until its exec, which may take a while on a busy host; so the lock
/// alone does not prove that the run is alive. An error names the process that holds it.
pub(super) fn lock_of_dead(journal: &Journal, contents: &Contents) -> Result<bool, Error> {
    if journal.try_lock()? {
        return Ok(true);
    }
    if contents.header.as_ref().is_none_or(is_alive) {
        return Ok(false);
    }
    journal.lock_within(TIMEOUT)?;
    Ok(true)
}

/// Whether the process that began a ledger is alive, and not another one that reuses its id.
fn is_alive(header: &Header) -> bool {
    let root = Root::real();
    let lives = !matches!(process::state(&root, header.pid), None | Some('Z'));
    let same = |began| process::started(&root, header.pid) == Some(began);
    lives && header.boot == boot_id(&root) && header.started.is_none_or(same)
}
