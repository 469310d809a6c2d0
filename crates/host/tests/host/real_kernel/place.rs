//! Host lock and control groups for the tests of this crate.

use std::path::PathBuf;

use assay_sys::kernel::Root;
use assay_test_support::{HostLock, Need};

/// Waits for the host lock; `None`, after reporting a skipped test, if the host lacks something.
pub(crate) fn host_lock(test: &str) -> Option<HostLock> {
    assay_test_support::host_lock(test, &[Need::Loop, Need::Bfq])
}

/// The path of a control group for a test, in the freezer's v1 hierarchy or in cgroup2.
pub(crate) fn group_for_tests() -> PathBuf {
    let facts = assay_host::gather(&Root::real()).unwrap();
    let freezer = facts.cgroup.controllers.get("freezer").map(|controller| &controller.hierarchy);
    let top = match freezer {
        Some(assay_host::facts::Hierarchy::V1(mount)) => mount.clone(),
        _ => facts.cgroup.v2_mount.clone().unwrap(),
    };
    top.join(format!("assay-test-{}", std::process::id()))
}
