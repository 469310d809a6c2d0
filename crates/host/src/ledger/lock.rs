//! Locks on the set of ledgers and on each of them. Only who owns the state directory can take one,
//! and no wait for one goes on for ever.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use assay_kernel::{Error, Root, file_lock, process};

use super::boot_id;
use super::journal::{self, Journal};
use super::line::{Contents, Header};

/// Held while the set of ledgers is looked at or changed, so that of two runs that begin at the
/// same time one sees the other.
pub(super) struct LockGuard {
    _file: File,
}

/// How long a lock is waited for: others hold it for as long as it takes to look at some files.
const PATIENCE: Duration = Duration::from_secs(8);

impl LockGuard {
    /// The lock is a file beside the directory of ledgers, which only its owner can open: who can
    /// hold it could do anything else to the ledgers, too.
    pub(super) fn close(directory: &Path) -> Result<Self, Error> {
        let path = directory.with_file_name("lock");
        let file = super::lock_file(&journal::directory(&path)?, "lock")?;
        file_lock::lock_within(&file, &path, PATIENCE)?;
        Ok(Self { _file: file })
    }
}

/// Who may read a file can lock it against those who write it.
pub(super) fn keep_to_owner(file: &File, path: &Path) -> Result<(), Error> {
    let wrong = |cause: &std::io::Error| Error::new("chmod", path, cause).with_value("600");
    let mode = file.metadata().map_err(|cause| wrong(&cause))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(0o600)).map_err(|cause| wrong(&cause))
}

/// Takes the lock of a ledger whose run is dead. A run that is killed while it starts a program
/// leaves a child that shares the lock until its exec, which on a busy host takes a while; so
/// the lock alone does not prove that the run is alive. Who else holds it is named.
pub(super) fn lock_of_dead(journal: &Journal, contents: &Contents) -> Result<bool, Error> {
    if journal.try_lock()? {
        return Ok(true);
    }
    if contents.header.as_ref().is_none_or(is_alive) {
        return Ok(false);
    }
    journal.lock_within(PATIENCE)?;
    Ok(true)
}

/// Whether the process that began a ledger lives: another one may have its id by now.
fn is_alive(header: &Header) -> bool {
    let root = Root::real();
    let lives = !matches!(process::state(&root, header.pid), None | Some('Z'));
    let same = |began| process::started(&root, header.pid) == Some(began);
    lives && header.boot == boot_id(&root) && header.started.is_none_or(same)
}
