//! Test double: the groups of a host.

use std::fs;
use std::path::Path;

use assay_test_support::hosts;
use tempfile::TempDir;

use crate::watch::waits::CpuHierarchy;

/// The id of a container.
pub(super) const ID: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";

/// A tree with cgroup2 on `/cg`; `ID` stands for that above.
pub(super) fn host(groups: &[&str]) -> (TempDir, CpuHierarchy) {
    let tree = tempfile::tempdir().unwrap();
    for group in groups {
        make(tree.path(), group);
    }
    (tree, CpuHierarchy::new(&hosts::host(true)).unwrap())
}

fn make(tree: &Path, group: &str) {
    let directory = tree.join("cg").join(group.replace("ID", ID));
    fs::create_dir_all(&directory).unwrap();
    // Every group on the way has processes to list.
    for above in directory.ancestors().take_while(|above| above.starts_with(tree.join("cg"))) {
        if !above.join("cgroup.procs").exists() {
            fs::write(above.join("cgroup.procs"), "").unwrap();
        }
    }
}
