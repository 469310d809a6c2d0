//! Tests of the hierarchy on a fake tree.

use std::cell::Cell;
use std::fs;

use assay_host::facts::{CgroupLayout, Layout};

use super::*;

thread_local! {
    /// How often a quota was read.
    pub(crate) static QUOTAS: Cell<usize> = const { Cell::new(0) };
}

/// A v1 hierarchy with these groups; `=` gives one a quota.
pub(crate) fn tree(groups: &[&str]) -> (tempfile::TempDir, CpuHierarchy) {
    let top = tempfile::tempdir().unwrap();
    for group in groups {
        let (path, quota) = group.split_once('=').unwrap_or((group, "-1"));
        let directory = top.path().join("cpu").join(path);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("cpu.cfs_quota_us"), quota).unwrap();
    }
    (top, CpuHierarchy { tree: GroupTree { mount: "/cpu".into(), is_v2: false }, cpus: 2 })
}

#[test]
fn groups_are_named_below_the_mount_or_by_their_directory() {
    let (top, hierarchy) = tree(&["mine"]);
    let root = Root::at(top.path());
    for given in ["mine", "/mine", "/cpu/mine", "/mine/", "//mine/./"] {
        assert_eq!(hierarchy.path(given), "/mine", "{given}");
    }
    hierarchy.check_group(&root, "/mine").unwrap();
    assert!(
        hierarchy.check_group(&root, "/no").unwrap_err().to_string().contains("no group `/no`")
    );
    assert!(hierarchy.check_group(&root, "/").is_err());
}

#[test]
fn a_group_of_v2_without_the_controller_is_a_group() {
    let (top, _) = tree(&["mine"]);
    let hierarchy = CpuHierarchy { tree: GroupTree { mount: "/cpu".into(), is_v2: true }, cpus: 2 };
    let root = Root::at(top.path());
    hierarchy.check_group(&root, "/mine").unwrap();
    // A quota above it holds its threads as well.
    let below = top.path().join("cpu/mine/below");
    fs::create_dir(&below).unwrap();
    assert!(!hierarchy.is_limited(&root, "/mine/below"));
    fs::write(top.path().join("cpu/mine/cpu.max"), "5000 100000\n").unwrap();
    assert!(
        hierarchy.is_limited(&root, "/mine/below") && !hierarchy.has_quota(&root, "/mine/below")
    );
}

#[test]
fn a_host_without_the_controller_says_why() {
    let layout = CgroupLayout {
        layout: Layout::None,
        v2_mount: None,
        controllers: std::collections::BTreeMap::new(),
        bases: std::collections::BTreeMap::new(),
    };
    let error = GroupTree::new(&layout, "cpu").unwrap_err();
    assert!(error.to_string().contains("does not list it"));
}
