//! Waiting for a child process, and resource usage of children.

use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Waits for the exit of a process, by a pidfd (Linux 5.3), or else by polling.
#[derive(Debug)]
pub struct ExitWatch(Option<OwnedFd>);

/// Polling interval for a child without a pidfd.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl ExitWatch {
    /// Watches this child, which must not have been reaped yet.
    #[must_use]
    pub fn new(child: &Child) -> Self {
        Self(pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok())
    }

    /// Returns when the process has ended, on a signal, or when `limit` has passed; the caller must
    /// check which.
    pub fn wait(&self, limit: Duration) {
        let Some(descriptor) = &self.0 else {
            std::thread::sleep(limit.min(POLL_INTERVAL));
            return;
        };
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        // EINTR and an early return both mean: check again.
        let _ = poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&limit));
    }
}

/// Whether a child that was killed ends within `limit`; it is reaped if so. One that hangs in the kernel does
/// not, whatever the signal.
pub fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let (watch, begun) = (ExitWatch::new(child), Instant::now());
    while matches!(child.try_wait(), Ok(None)) {
        let Some(remaining) = limit.checked_sub(begun.elapsed()) else { return false };
        watch.wait(remaining);
    }
    true
}

/// Resource usage of all reaped children of this process and their reaped descendants (getrusage(2),
/// RUSAGE_CHILDREN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChildrenUsage {
    /// CPU time in user mode, microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_us: u64,
    /// Bytes read from a disk.
    pub read_bytes: u64,
    /// Bytes dirtied or written to a disk.
    pub write_bytes: u64,
}

/// The unit of `ru_inblock` and `ru_oublock` (include/linux/task_io_accounting_ops.h shifts bytes
/// right by nine).
const BLOCK: u64 = 512;

/// Reads the usage of children; zeros where the kernel does not provide it.
#[must_use]
pub fn children_usage() -> ChildrenUsage {
    // SAFETY: a zeroed rusage is a valid one and lives through the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let micros =
        |time: libc::timeval| count(time.tv_sec).saturating_mul(1_000_000) + count(time.tv_usec);
    ChildrenUsage {
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        read_bytes: count(usage.ru_inblock) * BLOCK,
        write_bytes: count(usage.ru_oublock) * BLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_exit_of_a_child_is_noticed_immediately_and_its_time_counted() {
        let before = children_usage();
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (end, begun) = (ExitWatch::new(&child), Instant::now());
        while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(60) {
            end.wait(Duration::from_secs(30));
        }
        assert!(begun.elapsed() < Duration::from_secs(25), "the exit was not noticed");
        let after = children_usage();
        assert!(after.user_us + after.system_us > before.user_us + before.system_us);
    }

    #[test]
    fn waiting_ends_at_the_limit() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        ExitWatch::new(&child).wait(Duration::from_millis(10));
        assert!(!ends_within(&mut child, Duration::from_millis(10)));
        child.kill().unwrap();
        assert!(ends_within(&mut child, Duration::from_secs(60)));
    }
}
