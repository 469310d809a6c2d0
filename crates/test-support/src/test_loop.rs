//! A loop device that a test makes for itself.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sys::kernel::loop_device;

use crate::own;

const BLOCK_SIZE: u32 = 512;

/// A loop device with a number of its own, detached and removed when it goes out of scope.
///
/// A device of the host (`losetup --find`) would not do: it keeps the scheduler and most settings of its queue
/// after it was detached, which a test that compares the host meanwhile would see.
#[derive(Debug)]
pub struct TestLoop {
    number: u32,
}

impl TestLoop {
    /// Creates a sparse image of `mebi` MiB and attaches it.
    #[must_use]
    pub fn attach(image: &Path, mebi: u64) -> Self {
        let file = File::options().read(true).write(true).create_new(true).open(image).unwrap();
        file.set_len(mebi << 20).unwrap();
        let this = Self { number: add() };
        own::loop_device(this.number);
        own::folder(image);
        wait("its node", || this.node().exists());
        loop_device::configure(&this.node(), &file, false, BLOCK_SIZE).unwrap();
        this
    }

    /// The kernel's name, `loop8`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// Its device node.
    #[must_use]
    pub fn node(&self) -> PathBuf {
        loop_device::node(self.number)
    }
}

impl Drop for TestLoop {
    fn drop(&mut self) {
        // A test may have detached it.
        let _ = loop_device::detach(&self.node());
        // The last to close it may be udev; a device that stays shows in the next comparison of the host.
        let begun = Instant::now();
        while loop_device::remove(self.number).is_err() && begun.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Adds a device with a number above all others.
fn add() -> u32 {
    const RIVALS: usize = 16;
    for _ in 0..RIVALS {
        let names = fs::read_dir("/sys/block").unwrap();
        let number = |name: std::ffi::OsString| -> Option<u32> {
            name.to_str()?.strip_prefix("loop")?.parse().ok()
        };
        let last = names.filter_map(|entry| number(entry.ok()?.file_name())).max();
        let next = last.map_or(0, |last| last + 1);
        if loop_device::add(next).is_ok() {
            return next;
        }
        // The number is taken before the device is in sysfs.
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no loop device can be added");
}

fn wait(for_what: &str, mut until: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < Duration::from_secs(5), "no {for_what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
