//! Events of cgroup v1's memory controller: an eventfd(2) registered through `cgroup.event_control`
//! (Documentation/admin-guide/cgroup-v1/memcg_test.rst and memory.rst, 9 "Memory thresholds" and 10
//! "OOM Control").

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// A registered event, until it is dropped.
#[derive(Debug)]
pub struct MemoryEvent {
    event: OwnedFd,
    _file: File,
}

impl MemoryEvent {
    /// Registers an event of `file` in the group directory `group`: `memory.usage_in_bytes` with a
    /// threshold in bytes as `arguments`, or `memory.oom_control` without any.
    pub fn register(root: &Root, group: &Path, file: &str, arguments: &str) -> Result<Self, Error> {
        let path = group.join(file);
        let opened =
            File::open(root.resolve(&path)).map_err(|cause| Error::new("open", &path, &cause))?;
        let event = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|cause| Error::new("eventfd", &path, &cause.into()))?;
        let request = format!("{} {} {arguments}", event.as_raw_fd(), opened.as_raw_fd());
        root.write(group.join("cgroup.event_control"), request.trim_end())?;
        Ok(Self { event, _file: opened })
    }

    /// Waits for the event; returns whether it occurred within `limit`.
    pub fn wait(&self, limit: Duration) -> Result<bool, Error> {
        let mut polled = [PollFd::new(&self.event, PollFlags::IN)];
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        poll(&mut polled, Some(&limit))
            .map_err(|cause| Error::new("poll", Path::new("eventfd"), &cause.into()))?;
        Ok(polled[0].revents().contains(PollFlags::IN))
    }
}
