//! A freezer group of cgroup v1 made by the test, representing a foreign group.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub(crate) struct Freezer(PathBuf);

impl Freezer {
    /// `None` if the host has no freezer on cgroup v1.
    pub(crate) fn make() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mount = Path::new("/sys/fs/cgroup/freezer");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = mount.join(format!("test-{}-{number}", std::process::id()));
        mount.join("cgroup.procs").exists().then(|| {
            fs::create_dir(&group).unwrap();
            Self(group)
        })
    }

    /// Moves a process into the group; one that has already ended is ignored.
    pub(crate) fn put(&self, pid: u32) {
        let _ = fs::write(self.0.join("cgroup.procs"), pid.to_string());
    }

    pub(crate) fn freeze(&self) {
        fs::write(self.0.join("freezer.state"), "FROZEN").unwrap();
    }

    pub(crate) fn thaw(&self) {
        fs::write(self.0.join("freezer.state"), "THAWED").unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        for _ in 0..200 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
    }
}
