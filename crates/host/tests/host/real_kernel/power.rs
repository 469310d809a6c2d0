//! The power fails: what a file system had not written to its disk yet is lost. Ledger and changes are on different ones, whose
//! writes have no order.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use assay_host::Ledger;
use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, TestLoop, own};

use crate::real_kernel::place::host_lock;

fn call(words: &[&str], path: &Path) -> String {
    let output = Command::new(words[0]).args(&words[1..]).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // e2fsck(8): 1 is corrected.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {output:?}");
    said
}

/// A file system with a disk of its own, which writes nothing by itself for minutes.
struct Disk {
    device: TestLoop,
    at: std::path::PathBuf,
}

impl Disk {
    fn new(work: &Path) -> Self {
        let (device, at) = (TestLoop::attach(&work.join("image"), 16), work.join("disk"));
        call(&["mkfs.ext4", "-q"], &device.node());
        fs::create_dir(&at).unwrap();
        let node = device.node().display().to_string();
        call(&["mount", "-o", "commit=900", &node], &at);
        Self { device, at }
    }

    /// The names that are there after a power cut and a boot.
    fn after_a_power_cut(&self, work: &Path) -> String {
        let copy = work.join("copy");
        fs::copy(work.join("image"), &copy).unwrap();
        call(&["e2fsck", "-fy"], &copy);
        call(&["debugfs", "-R", "ls -p /"], &copy)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
        let _ = &self.device;
    }
}

#[test]
fn what_the_ledger_calls_restored_stays_so_after_a_power_cut() {
    let Some(_lock) = host_lock("a power cut after a restore") else { return };
    let before = HostSnapshot::take();
    let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
    own::folder(work.path());
    let disk = Disk::new(work.path());
    let root = Root::real();
    let mut ledger = Ledger::begin(&work.path().join("state"), "test").unwrap();
    ledger.make_dir(&root, &disk.at.join("assay-dir")).unwrap();
    ledger.make_file(&root, &disk.at.join("assay-file")).unwrap().write_all(b"data").unwrap();
    ledger.make_tree(&root, &disk.at.join("assay-tree")).unwrap();
    fs::write(disk.at.join("assay-tree/file"), "data").unwrap();
    call(&["sync", "-f"], &disk.at);
    let names = disk.after_a_power_cut(work.path());
    for name in ["assay-dir", "assay-file", "assay-tree"] {
        assert!(names.contains(name), "{names}");
    }
    assert_eq!(ledger.restore(&root), []);
    assert!(ledger.finish().unwrap());
    let names = disk.after_a_power_cut(work.path());
    assert!(!names.contains("assay"), "the ledger is gone, and these are left:\n{names}");
    drop(disk);
    HostSnapshot::assert_same(&before, "after a power cut");
}
