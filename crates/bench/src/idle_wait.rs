//! Waits for an idle host: one measurement at a time, at a quiet moment.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_sys::kernel::counters::fields;
use assay_sys::kernel::{Root, signal};
use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

use crate::failure::Failure;

/// Held while this process measures; tests on real disks take the same lock.
pub(crate) struct HostLock {
    _lock: File,
}

impl HostLock {
    /// Waits until no test and no other bench uses the host.
    pub(crate) fn acquire() -> Result<Self, Failure> {
        let path = Path::new("/tmp/assay-tests.lock");
        let lock =
            File::options().create(true).append(true).open(path).map_err(|cause| {
                Failure::Failed(format!("cannot open {}: {cause}", path.display()))
            })?;
        // Polling would never succeed while others queue for the lock. The wait has a separate
        // thread, so that Ctrl-C works meanwhile.
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let locked = retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive));
            let locked = locked.map(|()| lock).map_err(|cause| {
                Failure::Failed(format!("cannot lock {}: {cause}", path.display()))
            });
            // After Ctrl-C nothing receives it.
            let _ = sender.send(locked);
        });
        loop {
            match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(locked) => return Ok(Self { _lock: locked? }),
                Err(RecvTimeoutError::Timeout) => pause(Duration::ZERO)?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Failed("the wait for the lock has ended".to_owned()));
                }
            }
        }
    }
}

/// A host up to this busy counts as quiet.
const QUIET: f64 = 0.15;

/// How long to wait for a quiet moment before measuring anyway.
const PATIENCE: Duration = Duration::from_secs(60);

/// Over this time the use of the CPUs is averaged.
const MOMENT: Duration = Duration::from_millis(300);

/// Waits for a quiet moment and returns the last utilisation of the host, as a fraction of all its
/// CPUs.
pub(crate) fn wait() -> Result<f64, Failure> {
    let began = Instant::now();
    loop {
        let before = ticks()?;
        pause(MOMENT)?;
        let busy = part(before, ticks()?);
        if busy <= QUIET || began.elapsed() > PATIENCE {
            return Ok(busy);
        }
    }
}

/// Remark about a moment that was not quiet.
pub(crate) fn remark(busiest: f64) -> Option<String> {
    (busiest > QUIET).then(|| {
        format!("the host was not quiet: up to {:.0} % busy before a measurement", busiest * 100.0)
    })
}

/// `user nice system idle iowait irq softirq steal` of all CPUs (proc_stat(5)).
fn ticks() -> Result<[u64; 8], Failure> {
    let text = Root::real().read("/proc/stat")?;
    fields(text.as_bytes(), "cpu ")
        .ok_or_else(|| Failure::Failed("/proc/stat has no line `cpu`".to_owned()))
}

/// Fraction of the time between two readings in which CPUs were not idle.
fn part(before: [u64; 8], after: [u64; 8]) -> f64 {
    let grown = |index: usize| after[index].saturating_sub(before[index]);
    let all: u64 = (0..8).map(grown).sum();
    let idle = grown(3) + grown(4);
    if all == 0 { 0.0 } else { 1.0 - idle as f64 / all as f64 }
}

/// Between two looks whether the user interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// Sleeps; fails if the user interrupts.
pub(crate) fn pause(length: Duration) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let left = length.saturating_sub(began.elapsed());
        sleep(left.min(LOOK));
        match signal::interrupted_by() {
            Some(signal) => return Err(Failure::Interrupted(signal)),
            None if left <= LOOK => return Ok(()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_idle_and_stolen_time_is_not() {
        let before = [10, 0, 10, 100, 50, 0, 0, 5];
        let after = [20, 0, 20, 140, 80, 0, 0, 15];
        assert!((part(before, after) - 0.3).abs() < 1e-12);
        assert_eq!(part(before, before), 0.0);
    }
}
