//! Kernel files that notify pollers: `cgroup.events` and triggers of pressure files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// A kernel file to wait on with poll(2) and POLLPRI.
#[derive(Debug)]
pub struct WakeFile {
    path: PathBuf,
    file: File,
}

impl WakeFile {
    /// Opens a file whose changes the kernel notifies, such as `cgroup.events`
    /// (Documentation/admin-guide/cgroup-v2.rst, "[Un]populated Notification").
    pub fn open(root: &Root, path: &Path) -> Result<Self, Error> {
        let file = root.open(path).map_err(|cause| Error::new("open", path, &cause))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Registers a trigger such as `some 100000 500000` on a pressure file, until the value is dropped
    /// (Documentation/accounting/psi.rst, "Monitoring for pressure thresholds").
    pub fn trigger(root: &Root, path: &Path, trigger: &str) -> Result<Self, Error> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(root.resolve(path))
            .map_err(|cause| Error::new("open", path, &cause))?;
        file.write_all(trigger.as_bytes())
            .map_err(|cause| Error::new("write", path, &cause).with_value(trigger))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Reads the file from its start. The kernel notifies changes since the last read.
    pub fn read(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_string(&mut text))
            .map_err(|cause| Error::new("read", &self.path, &cause))?;
        Ok(text)
    }

    /// Waits for a notification; returns whether it came within `limit`.
    pub fn wait(&self, limit: Duration) -> Result<bool, Error> {
        let mut polled = [PollFd::new(&self.file, PollFlags::PRI)];
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        poll(&mut polled, Some(&limit))
            .map_err(|cause| Error::new("poll", &self.path, &cause.into()))?;
        Ok(polled[0].revents().contains(PollFlags::PRI))
    }
}
