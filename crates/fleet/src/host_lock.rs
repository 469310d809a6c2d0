//! One task at a time on each host.
//!
//! Slurm gives a task its node for itself. But several of Slurm's nodes may be one host (as on a
//! cluster for tests), a task that Slurm gave up may still be at work there, and a person may run
//! `assay run` by hand. None of them would be refused by the others' groups and disks, so they
//! wait for each other.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_host::{lock_file, private_state, unfinished};
use assay_kernel::{Root, file_lock, signal};

use crate::error::Error;

/// Held by the task whose turn it is on this host; the kernel gives it back when its process is
/// gone, however that ended.
#[derive(Debug)]
pub(crate) struct HostLock {
    _lock: File,
}

/// The file whose lock says whose turn it is.
const LOCK: &str = "fleet.lock";

/// How often to look whether the host is free.
const LOOK: Duration = Duration::from_millis(200);

/// Waits for this task's turn, at most for `patience`. `None` when it was asked to stop meanwhile.
pub(crate) fn take(state_dir: &Path, patience: Duration) -> Result<Option<HostLock>, Error> {
    let path = state_dir.join(LOCK);
    let lock = lock_file(&private_state(state_dir)?, LOCK)?;
    let end = Instant::now() + patience;
    loop {
        let is_ours = file_lock::try_lock(&lock, &path)?;
        if is_ours && in_progress(state_dir)?.is_none() {
            return Ok(Some(HostLock { _lock: lock }));
        }
        if signal::interrupted_by().is_some() {
            return Ok(None);
        }
        if Instant::now() >= end {
            return Err(not_free(state_dir, patience, (!is_ours).then_some(&lock)));
        }
        std::thread::sleep(LOOK);
    }
}

/// What has kept the host from becoming free: another task, where there is a lock that one holds, or
/// a run.
fn not_free(state_dir: &Path, patience: Duration, held: Option<&File>) -> Error {
    let who = match held {
        Some(lock) => file_lock::holder(&Root::real(), lock),
        None => in_progress(state_dir).ok().flatten(),
    };
    let who = who.unwrap_or_else(|| "another task or run, which is not seen from here".to_owned());
    let minutes = patience.as_millis().div_ceil(60_000);
    Error::new(format!("the host was not free within {minutes} min: {who}"))
        .hint("wait until that has ended, or end it; then `assay fleet resume`")
}

/// A run that is in progress, in words: the ledger of a living one is locked by it.
fn in_progress(state_dir: &Path) -> Result<Option<String>, Error> {
    let live = unfinished(state_dir)?.into_iter().find(|ledger| ledger.live);
    Ok(live.map(|run| match run.pid {
        Some(pid) => format!("run {} is in progress, process {pid}", run.run_id),
        None => format!("run {} is in progress", run.run_id),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_one_task_s_until_it_is_over() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let first = take(&state, Duration::ZERO).unwrap().unwrap();
        let path = state.join("fleet.lock");
        let other = File::options().append(true).open(&path).unwrap();
        assert!(!file_lock::try_lock(&other, &path).unwrap());
        drop(first);
        assert!(file_lock::try_lock(&other, &path).unwrap());
    }

    #[test]
    fn a_turn_is_not_waited_for_without_end_and_who_has_it_is_named() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let run = assay_host::Ledger::begin(&state, "by-hand").unwrap();
        let begun = Instant::now();
        let error = take(&state, 2 * LOOK).unwrap_err().to_string();
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        let named = format!("run by-hand is in progress, process {}", std::process::id());
        assert!(error.contains(&named) && error.contains("resume"), "{error}");
        assert!(run.finish().unwrap());
        let first = take(&state, Duration::ZERO).unwrap().unwrap();
        let error = take(&state, 2 * LOOK).unwrap_err().to_string();
        assert!(error.contains("not free within 1 min: another task"), "{error}");
        drop(first);
    }
}
