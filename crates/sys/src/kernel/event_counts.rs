//! Counts of a perf event on some CPUs, for all tasks or one control group (perf_event_open(2),
//! PERF_FLAG_PID_CGROUP).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::kernel::error::Error;
use crate::kernel::perf_event::open_timed;
use crate::kernel::root::Root;

// include/uapi/linux/perf_event.h.
const PERF_FLAG_PID_CGROUP: libc::c_ulong = 4;
/// In place of a task: all tasks on the CPU.
const ALL_TASKS: libc::c_int = -1;

/// An event in terms of perf_event_open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    kind: u32,
    config: u64,
}

impl Event {
    /// Cycles of a CPU that is not idle.
    pub const CYCLES: Self = Self { kind: 0, config: 0 };
    /// Retired instructions.
    pub const INSTRUCTIONS: Self = Self { kind: 0, config: 1 };
    /// Accesses to the last-level cache, as mapped by the kernel for this CPU.
    pub const CACHE_REFERENCES: Self = Self { kind: 0, config: 2 };
    /// Misses of the last-level cache.
    pub const CACHE_MISSES: Self = Self { kind: 0, config: 3 };
    /// Run time of tasks in nanoseconds; counted in software.
    pub const TASK_CLOCK: Self = Self { kind: 1, config: 1 };
    /// Page faults; counted in software, so that every machine has it.
    pub const PAGE_FAULTS: Self = Self { kind: 1, config: 2 };
    /// Context switches; counted in software.
    pub const CONTEXT_SWITCHES: Self = Self { kind: 1, config: 3 };

    /// An event of the PMU whose `type` below /sys/bus/event_source/devices is `kind`
    /// (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
    #[must_use]
    pub const fn from_pmu(kind: u32, config: u64) -> Self {
        Self { kind, config }
    }
}

/// One event, summed over some CPUs.
#[derive(Debug)]
pub struct EventCount {
    target_path: PathBuf,
    counters: Vec<CpuCounter>,
}

/// The event on one CPU. A CPU with fewer counters than events multiplexes them; the count is then
/// scaled to the whole time since the previous reading.
#[derive(Debug)]
struct CpuCounter {
    file: File,
    /// Count, time enabled and time running, at the previous reading.
    before: [u64; 3],
    total: u64,
}

impl EventCount {
    /// Opens the event for all tasks on these CPUs.
    pub fn system_wide(event: Event, cpus: &[u16]) -> Result<Self, Error> {
        Self::open(event, ALL_TASKS, 0, Path::new("all tasks"), cpus)
    }

    /// Opens it for the tasks of a group: its directory on v2, or in v1's perf_event hierarchy.
    pub fn for_group(root: &Root, event: Event, group: &Path, cpus: &[u16]) -> Result<Self, Error> {
        let directory =
            File::open(root.resolve(group)).map_err(|cause| Error::new("open", group, &cause))?;
        Self::open(event, directory.as_raw_fd(), PERF_FLAG_PID_CGROUP, group, cpus)
    }

    fn open(
        event: Event,
        target: libc::c_int,
        flags: libc::c_ulong,
        target_path: &Path,
        cpus: &[u16],
    ) -> Result<Self, Error> {
        let counter = |cpu: &u16| {
            let file = open_timed((event.kind, event.config), target, (*cpu).into(), flags)?;
            Ok(CpuCounter { file, before: [0; 3], total: 0 })
        };
        let counters = cpus.iter().map(counter).collect::<io::Result<_>>().map_err(|cause| {
            Error::new("perf_event_open", target_path, &cause)
                .with_hint("it needs CAP_PERFMON, and for groups a kernel with CONFIG_CGROUP_PERF")
        })?;
        Ok(Self { target_path: target_path.to_owned(), counters })
    }

    /// Number of open descriptors.
    #[must_use]
    pub const fn descriptors(&self) -> usize {
        self.counters.len()
    }

    /// Number of events since it was opened. Never decreases.
    pub fn read(&mut self) -> Result<u64, Error> {
        let mut sum = 0_u64;
        for counter in &mut self.counters {
            let total = counter
                .read()
                .map_err(|cause| Error::new("read the events of", &self.target_path, &cause))?;
            sum = sum.saturating_add(total);
        }
        Ok(sum)
    }
}

impl CpuCounter {
    fn read(&mut self) -> io::Result<u64> {
        let mut record = [0; 24];
        self.file.read_exact(&mut record)?;
        let mut now = [0; 3];
        for (value, bytes) in now.iter_mut().zip(record.chunks_exact(8)) {
            *value = bytes.try_into().map_or(0, u64::from_ne_bytes);
        }
        self.total = self.total.saturating_add(scaled(self.before, now));
        self.before = now;
        Ok(self.total)
    }
}

/// The count between two readings, scaled to the whole time between them.
fn scaled(before: [u64; 3], now: [u64; 3]) -> u64 {
    let [count, enabled, running] =
        std::array::from_fn(|at| u128::from(now[at].saturating_sub(before[at])));
    if running == 0 {
        return 0;
    }
    u64::try_from(count * enabled.max(running) / running).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_over_half_of_the_time_is_doubled() {
        assert_eq!(scaled([100, 10, 10], [300, 50, 30]), 400);
        assert_eq!(scaled([0; 3], [7, 10, 10]), 7);
    }

    #[test]
    fn without_time_on_a_counter_the_count_stays_unchanged() {
        assert_eq!(scaled([5, 10, 4], [5, 90, 4]), 0);
    }

    #[test]
    fn context_switches_are_counted_or_the_reason_is_given() {
        match EventCount::system_wide(Event::CONTEXT_SWITCHES, &[0]) {
            Ok(mut count) => {
                let first = count.read().unwrap();
                assert!(count.read().unwrap() >= first);
                assert_eq!(count.descriptors(), 1);
            }
            Err(error) => assert!(error.to_string().contains("CAP_PERFMON"), "{error}"),
        }
    }

    #[test]
    fn a_directory_that_is_not_a_group_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let error =
            EventCount::for_group(&Root::real(), Event::PAGE_FAULTS, directory.path(), &[0])
                .unwrap_err();
        assert_eq!(error.path, directory.path());
    }
}
