//! Where tests of this room make groups, and what they need of the host.

use std::path::PathBuf;

use assay_kernel::Root;
use assay_test_support::{HostLock, Need};

/// Waits for this test's turn; `None`, said and counted, where the host cannot do it.
pub(crate) fn host_lock(test: &str) -> Option<HostLock> {
    assay_test_support::busy_host_lock(test, &[Need::Loop, Need::Bfq])
}

/// A directory in which a test may make groups, in the first hierarchy there is.
pub(crate) fn group_for_tests() -> PathBuf {
    let facts = assay_host::gather(&Root::real()).unwrap();
    let freezer = facts.cgroup.controllers.get("freezer").map(|found| &found.hierarchy);
    let top = match freezer {
        Some(assay_facts::Hierarchy::V1(mount)) => mount.clone(),
        _ => facts.cgroup.v2_mount.clone().unwrap(),
    };
    top.join(format!("assay-test-{}", std::process::id()))
}
