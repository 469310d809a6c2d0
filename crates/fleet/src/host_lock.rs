//! Host lock: one task at a time on each host.
//!
//! Slurm gives a task exclusive use of its node. But several Slurm nodes may be one host (as on a
//! test cluster), a task that Slurm gave up on may still be running there, and a person may run
//! `assay run` by hand. Their groups and disks do not conflict, so only this lock makes them wait
//! for each other.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_host::{lock_file, private_state, unfinished};
use assay_kernel::{Root, file_lock, signal};

use crate::error::Error;

/// Held by the running task of this host; the kernel releases it when the process ends, for any
/// reason.
#[derive(Debug)]
pub(crate) struct HostLock {
    _lock: File,
}

/// The lock file.
const LOCK: &str = "fleet.lock";

/// Poll interval.
const LOOK: Duration = Duration::from_millis(200);

/// Waits for the host lock, at most for `patience`. `None` if a signal requested a stop meanwhile.
pub(crate) fn acquire(state_dir: &Path, patience: Duration) -> Result<Option<HostLock>, Error> {
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

/// The error for a host that stayed busy: names the task that holds the lock, or the run.
fn not_free(state_dir: &Path, patience: Duration, held: Option<&File>) -> Error {
    let who = match held {
        Some(lock) => file_lock::holder(&Root::real(), lock),
        None => in_progress(state_dir).ok().flatten(),
    };
    let who = who.unwrap_or_else(|| "another task or run, not visible from here".to_owned());
    let minutes = patience.as_millis().div_ceil(60_000);
    Error::new(format!("the host was not free within {minutes} min: {who}"))
        .hint("wait until it has ended, or end it; then `assay fleet resume`")
}

/// Describes a run in progress: a live run holds a lock on its ledger.
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
    fn the_lock_is_held_by_one_task_until_it_ends() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let first = acquire(&state, Duration::ZERO).unwrap().unwrap();
        let path = state.join("fleet.lock");
        let other = File::options().append(true).open(&path).unwrap();
        assert!(!file_lock::try_lock(&other, &path).unwrap());
        drop(first);
        assert!(file_lock::try_lock(&other, &path).unwrap());
    }

    #[test]
    fn waiting_is_limited_and_the_holder_is_named() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let run = assay_host::Ledger::begin(&state, "by-hand").unwrap();
        let begun = Instant::now();
        let error = acquire(&state, 2 * LOOK).unwrap_err().to_string();
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        let named = format!("run by-hand is in progress, process {}", std::process::id());
        assert!(error.contains(&named) && error.contains("resume"), "{error}");
        assert!(run.finish().unwrap());
        let first = acquire(&state, Duration::ZERO).unwrap().unwrap();
        let error = acquire(&state, 2 * LOOK).unwrap_err().to_string();
        assert!(error.contains("not free within 1 min: another task"), "{error}");
        drop(first);
    }
}
