//! Counts of an event of perf on some CPUs, of everybody or of one control group
//! (perf_event_open(2), PERF_FLAG_PID_CGROUP).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::perf_event::open_timed;
use crate::root::Root;

// include/uapi/linux/perf_event.h.
const PERF_FLAG_PID_CGROUP: libc::c_ulong = 4;
/// In place of a task: whoever runs on the CPU.
const EVERYBODY: libc::c_int = -1;

/// An event as perf_event_open(2) knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    kind: u32,
    config: u64,
}

impl Event {
    /// Cycles of a CPU that does not rest.
    pub const CYCLES: Self = Self { kind: 0, config: 0 };
    /// Instructions that came to their end.
    pub const INSTRUCTIONS: Self = Self { kind: 0, config: 1 };
    /// Accesses to the last cache, as the kernel maps them for this CPU.
    pub const CACHE_REFERENCES: Self = Self { kind: 0, config: 2 };
    /// Those that the last cache could not serve.
    pub const CACHE_MISSES: Self = Self { kind: 0, config: 3 };
    /// Nanoseconds that tasks ran; counted by the kernel itself.
    pub const TASK_CLOCK: Self = Self { kind: 1, config: 1 };
    /// Faults of pages; counted by the kernel itself, so that every machine has it.
    pub const PAGE_FAULTS: Self = Self { kind: 1, config: 2 };
    /// Changes from one task to the next; counted by the kernel itself.
    pub const CONTEXT_SWITCHES: Self = Self { kind: 1, config: 3 };

    /// An event of the PMU whose `type` below /sys/bus/event_source/devices is `kind`
    /// (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
    #[must_use]
    pub const fn of_pmu(kind: u32, config: u64) -> Self {
        Self { kind, config }
    }
}

/// One event, added up over some CPUs.
#[derive(Debug)]
pub struct EventCount {
    of: PathBuf,
    lanes: Vec<Lane>,
}

/// The event on one CPU. A CPU with fewer counters than events lends each for a part of the time;
/// what was counted then stands for the whole time since the reading before.
#[derive(Debug)]
struct Lane {
    counter: File,
    /// Count, time enabled and time on the hardware, at the last reading.
    before: [u64; 3],
    total: u64,
}

impl EventCount {
    /// Opens the event for everybody on these CPUs.
    pub fn of_everybody(event: Event, cpus: &[u16]) -> Result<Self, Error> {
        Self::open(event, EVERYBODY, 0, Path::new("all tasks"), cpus)
    }

    /// Opens it for the tasks of a group: its directory on v2, or in v1's perf_event hierarchy.
    pub fn of_group(root: &Root, event: Event, group: &Path, cpus: &[u16]) -> Result<Self, Error> {
        let directory =
            File::open(root.resolve(group)).map_err(|cause| Error::new("open", group, &cause))?;
        Self::open(event, directory.as_raw_fd(), PERF_FLAG_PID_CGROUP, group, cpus)
    }

    fn open(
        event: Event,
        target: libc::c_int,
        flags: libc::c_ulong,
        of: &Path,
        cpus: &[u16],
    ) -> Result<Self, Error> {
        let lane = |cpu: &u16| {
            let counter = open_timed((event.kind, event.config), target, (*cpu).into(), flags)?;
            Ok(Lane { counter, before: [0; 3], total: 0 })
        };
        let lanes = cpus.iter().map(lane).collect::<io::Result<_>>().map_err(|cause| {
            Error::new("perf_event_open", of, &cause)
                .with_hint("it needs CAP_PERFMON, and for groups a kernel with CONFIG_CGROUP_PERF")
        })?;
        Ok(Self { of: of.to_owned(), lanes })
    }

    /// How many descriptors it keeps.
    #[must_use]
    pub const fn descriptors(&self) -> usize {
        self.lanes.len()
    }

    /// How often the event happened since it was opened. Never less than at the reading before.
    pub fn read(&mut self) -> Result<u64, Error> {
        let mut sum = 0_u64;
        for lane in &mut self.lanes {
            let total =
                lane.read().map_err(|cause| Error::new("read the events of", &self.of, &cause))?;
            sum = sum.saturating_add(total);
        }
        Ok(sum)
    }
}

impl Lane {
    fn read(&mut self) -> io::Result<u64> {
        let mut record = [0; 24];
        self.counter.read_exact(&mut record)?;
        let mut now = [0; 3];
        for (value, bytes) in now.iter_mut().zip(record.chunks_exact(8)) {
            *value = bytes.try_into().map_or(0, u64::from_ne_bytes);
        }
        self.total = self.total.saturating_add(share(self.before, now));
        self.before = now;
        Ok(self.total)
    }
}

/// What was counted between two readings, for the whole time between them.
fn share(before: [u64; 3], now: [u64; 3]) -> u64 {
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
    fn an_event_that_was_counted_for_half_of_the_time_counts_twice() {
        assert_eq!(share([100, 10, 10], [300, 50, 30]), 400);
        assert_eq!(share([0; 3], [7, 10, 10]), 7);
    }

    #[test]
    fn an_event_that_never_had_a_counter_happened_as_often_as_is_known() {
        assert_eq!(share([5, 10, 4], [5, 90, 4]), 0);
    }

    #[test]
    fn counts_what_happens_on_a_cpu_or_says_why_not() {
        match EventCount::of_everybody(Event::CONTEXT_SWITCHES, &[0]) {
            Ok(mut count) => {
                let first = count.read().unwrap();
                assert!(count.read().unwrap() >= first);
                assert_eq!(count.descriptors(), 1);
            }
            Err(error) => assert!(error.to_string().contains("CAP_PERFMON"), "{error}"),
        }
    }

    #[test]
    fn what_is_no_group_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let error = EventCount::of_group(&Root::real(), Event::PAGE_FAULTS, directory.path(), &[0])
            .unwrap_err();
        assert_eq!(error.path, directory.path());
    }
}
