//! Clocks, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

use crate::kernel::root::Root;

/// CLOCK_MONOTONIC: the time stamp of every sample and event.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CLOCK_BOOTTIME, used by the kernel for start times of threads: CLOCK_MONOTONIC plus the time for
/// which the machine was suspended.
#[must_use]
pub fn boottime_ns() -> u64 {
    nanoseconds(ClockId::Boottime)
}

/// CPU time of the calling thread.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// CPU time of a process, over all threads, running and ended (clock_getcpuclockid(3)); `None` when it
/// is gone. The time of a running thread since the last tick of its CPU may be missing.
#[must_use]
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both pointers are to values that live through the calls.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    if failed {
        return None;
    }
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// CPU time of this process in user mode and in the kernel, over all threads (getrusage(2)).
#[must_use]
pub fn own_cpu_ns() -> (u64, u64) {
    // SAFETY: a zeroed rusage is a valid one, and it lives through the call, which cannot fail for
    // RUSAGE_SELF.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1000
    };
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

/// CPU time of one thread: the first field of /proc/PID/task/TID/schedstat
/// (Documentation/scheduler/sched-stats.rst). `None` if the thread is gone, or the kernel lacks the
/// file (CONFIG_SCHED_INFO).
#[must_use]
pub fn thread_of_process_cpu_ns(root: &Root, pid: u32, tid: u32) -> Option<u64> {
    let text = root.read(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Time for which the running threads of a process were runnable and waited for a CPU: the sum of the
/// second fields of /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). `None` as
/// above.
#[must_use]
pub fn process_wait_ns(root: &Root, pid: u32) -> Option<u64> {
    let threads = root.list(format!("/proc/{pid}/task")).ok()?;
    threads
        .iter()
        .map(|thread| {
            let text = root.read(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
            text.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum()
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}
