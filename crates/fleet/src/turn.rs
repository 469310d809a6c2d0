//! One task at a time on each host.
//!
//! Slurm gives a task its node for itself. But several of Slurm's nodes may be one host (as on a
//! cluster for tests), a task that Slurm gave up may still be at work there, and a person may run
//! `assay run` by hand. None of them would be refused by the others' groups and disks, so they
//! wait for each other.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use assay_host::{lock_file, private_state, unfinished};
use assay_kernel::{file_lock, signal};

use crate::error::Error;

/// Held by the task whose turn it is on this host; the kernel gives it back when its process is
/// gone, however that ended.
#[derive(Debug)]
pub(crate) struct Turn {
    _lock: File,
}

/// The file whose lock says whose turn it is.
const LOCK: &str = "fleet.lock";

/// How often to look whether the host is free.
const LOOK: Duration = Duration::from_millis(200);

/// Waits for this task's turn. `None` when it was asked to stop meanwhile.
pub(crate) fn take(state_dir: &Path) -> Result<Option<Turn>, Error> {
    let path = state_dir.join(LOCK);
    let lock = lock_file(&private_state(state_dir)?, LOCK)?;
    while !(file_lock::try_lock(&lock, &path)? && is_free(state_dir)?) {
        if signal::interrupted_by().is_some() {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
    Ok(Some(Turn { _lock: lock }))
}

/// Whether no run is in progress: the ledger of a living one is locked by it.
fn is_free(state_dir: &Path) -> Result<bool, Error> {
    Ok(!unfinished(state_dir)?.iter().any(|ledger| ledger.live))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_one_task_s_until_it_is_over() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let first = take(&state).unwrap().unwrap();
        let path = state.join("fleet.lock");
        let other = File::options().append(true).open(&path).unwrap();
        assert!(!file_lock::try_lock(&other, &path).unwrap());
        drop(first);
        assert!(file_lock::try_lock(&other, &path).unwrap());
    }
}
