//! A device program on the real kernel: denied access fails with EPERM, other access does not.
// A failure in a shared helper is a failure of the test.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_host::{Ledger, gather};
use assay_sys::kernel::Root;
use assay_sys::kernel::device_program::{DeviceRule, Verb, attach};
use assay_sys::kernel::process::Membership;
use assay_test_support::{HostSnapshot, host_lock, skip};

/// Whether a process of the group can use the device, and its error message otherwise.
fn reads(root: &Root, group: &Path, device: &str) -> (bool, String) {
    let membership = Membership::open(root, &[group.to_owned()]).unwrap();
    let mut command = Command::new("head");
    command.args(["-c", "1", device]).stderr(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::null());
    let output = membership.spawn(&mut command).unwrap().wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_denied_device_fails_with_eperm_and_its_neighbour_does_not() {
    const TEST: &str = "a device program";
    let Some(_lock) = host_lock(TEST, &[]) else { return };
    let root = Root::real();
    let Some(mount) = gather(&root).unwrap().cgroup.v2_mount else {
        return skip(TEST, "no cgroup2 is mounted");
    };
    let before = HostSnapshot::take();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "test").unwrap();
    let group: PathBuf = mount.join(format!("assay-test-devices-{}", std::process::id()));
    ledger.make_groups(&root, std::slice::from_ref(&group)).unwrap();
    assert!(reads(&root, &group, "/dev/zero").0, "before the program is attached");

    let rule: DeviceRule = "c 1:5 r".parse().unwrap();
    let attached = attach(&root, &group, &[(Verb::Deny, rule)]);
    let zero = reads(&root, &group, "/dev/zero");
    let random = reads(&root, &group, "/dev/urandom");
    assert_eq!(ledger.restore(&root), []);
    assert!(ledger.finish().unwrap());
    HostSnapshot::assert_same(&before, "after the group is gone");
    if let Err(error) = attached {
        return skip(TEST, &error.to_string().replace('\n', " "));
    }
    assert!(!zero.0 && zero.1.contains("Operation not permitted"), "{zero:?}");
    assert!(random.0, "{random:?}");
}
