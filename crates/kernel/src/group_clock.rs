//! A counter of perf that counts for one control group alone (perf_event_open(2),
//! PERF_FLAG_PID_CGROUP): how long its tasks ran on each CPU.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::perf_event::open;
use crate::root::Root;

// include/uapi/linux/perf_event.h.
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const PERF_FLAG_PID_CGROUP: libc::c_ulong = 4;

/// PERF_COUNT_SW_TASK_CLOCK of one group on some CPUs, from the moment of opening.
#[derive(Debug)]
pub struct GroupClock {
    group: PathBuf,
    counters: Vec<File>,
}

impl GroupClock {
    /// Opens the counter for the group directory `group`, of v2 or of v1's perf_event hierarchy,
    /// on each of these CPUs: a counter of a group belongs to one CPU.
    pub fn open(root: &Root, group: &Path, cpus: &[u16]) -> Result<Self, Error> {
        let directory =
            File::open(root.resolve(group)).map_err(|cause| Error::new("open", group, &cause))?;
        let counters = cpus
            .iter()
            .map(|cpu| task_clock(&directory, *cpu))
            .collect::<io::Result<_>>()
            .map_err(|cause| {
                Error::new("perf_event_open", group, &cause)
                    .with_hint("it needs CAP_PERFMON and a kernel with CONFIG_CGROUP_PERF")
            })?;
        Ok(Self { group: group.to_owned(), counters })
    }

    /// Nanoseconds that tasks of the group ran on these CPUs since it was opened.
    pub fn read_ns(&mut self) -> Result<u64, Error> {
        let mut sum = 0;
        for counter in &mut self.counters {
            let mut value = [0; 8];
            counter
                .read_exact(&mut value)
                .map_err(|cause| Error::new("read the counter of", &self.group, &cause))?;
            sum += u64::from_ne_bytes(value);
        }
        Ok(sum)
    }
}

fn task_clock(directory: &File, cpu: u16) -> io::Result<File> {
    let event = (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    open(event, directory.as_raw_fd(), cpu.into(), PERF_FLAG_PID_CGROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_group_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let error = GroupClock::open(&Root::real(), directory.path(), &[0]).unwrap_err();
        assert!(error.errno.is_some(), "{error}");
        assert_eq!(error.path, directory.path());
    }
}
