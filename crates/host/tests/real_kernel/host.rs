//! What the tests on the real kernel share: one at a time, and a picture of all that a run may
//! change.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_kernel::{Root, filesystem};

/// Held by the one test that changes the host now, also against tests of other crates.
pub(crate) struct Turn {
    _lock: File,
}

/// Waits for this test's turn; `None`, with the reason printed, where the host cannot do it.
pub(crate) fn turn(test: &str) -> Option<Turn> {
    if let Some(reason) = why_not() {
        skip(test, reason);
        return None;
    }
    let path = Path::new("/tmp/assay-tests.lock");
    let lock = File::options().create(true).append(true).open(path).unwrap();
    filesystem::lock(&lock, path).unwrap();
    Some(Turn { _lock: lock })
}

/// Says that a test did not run and why; `make test` adds these lines up.
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

fn why_not() -> Option<&'static str> {
    let facts = assay_host::gather(&Root::real()).unwrap();
    if facts.effective_user != 0 {
        return Some("not root");
    }
    if !Path::new("/dev/loop-control").exists() {
        return Some("no loop devices");
    }
    if !facts.schedulers.iter().any(|name| name == "bfq") {
        return Some("no queue offers bfq");
    }
    None
}

/// Block devices with every attribute of their queues, mounts and the groups of a hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    queues: BTreeMap<PathBuf, String>,
    nodes: Vec<PathBuf>,
    mounts: Vec<String>,
}

impl Picture {
    pub(crate) fn take() -> Self {
        let mut queues = BTreeMap::new();
        for disk in entries(Path::new("/sys/block")) {
            for directory in [disk.join("queue"), disk.join("queue/iosched"), disk.join("loop")] {
                for file in entries(&directory).into_iter().filter(|path| path.is_file()) {
                    queues.insert(file.clone(), fs::read_to_string(&file).unwrap_or_default());
                }
            }
            queues.insert(disk, String::new());
        }
        let mut nodes = entries(Path::new("/dev"));
        nodes.retain(|path| path.to_string_lossy().starts_with("/dev/loop"));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        Self { queues, nodes, mounts: mounts.lines().map(str::to_owned).collect() }
    }

    /// The attributes of one disk's queue.
    pub(crate) fn queue(&self, disk: &str) -> BTreeMap<PathBuf, String> {
        let place = Path::new("/sys/block").join(disk).join("queue");
        let inside = self.queues.iter().filter(|(path, _)| path.starts_with(&place));
        inside.map(|(path, value)| (path.clone(), value.clone())).collect()
    }
}

pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
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
