//! What holds a suspect back, on a fake host.

use std::fs;

use assay_test_support::{hosts, put};

use super::*;
use crate::collect::fake::host;

/// A process with its parent, in these groups.
fn process(tree: &Path, id: u32, parent: u32, group: &str) {
    let status = format!("State:\tS\nPPid:\t{parent}\nVmSize:\t8 kB\n");
    put(tree, &format!("proc/{id}/status"), &status);
    put(tree, &format!("proc/{id}/cgroup"), &format!("0::/{group}\n"));
    let procs = tree.join("cg").join(group).join("cgroup.procs");
    let before = fs::read_to_string(&procs).unwrap_or_default();
    fs::write(&procs, format!("{before}{id}\n")).unwrap();
}

/// A host on which the caller is in `login`, process 1 in `init`, and a kernel thread in `kernel`.
fn tried(suspect: &str, by: HoldBy, waiting: &Waiting) -> Result<Lever, String> {
    let (tree, hierarchy) = host(&[
        "init",
        "login",
        "hog",
        "hog/inner",
        "mine",
        "mine/inner",
        "kernel",
        "empty",
        "assay-x",
        "idle",
    ]);
    let tree = tree.path();
    let own = std::process::id();
    for (id, parent, group) in [
        (1, 0, "init"),
        (own, 7_000_001, "batch"),
        (7_000_001, 1, "login"),
        (7_000_002, 1, "hog"),
        (7_000_003, 1, "hog/inner"),
        (7_000_004, 1, "mine"),
        (7_000_005, 2, "kernel"),
        (7_000_006, 2, "assay-x"),
        (7_000_007, 2, "idle"),
    ] {
        fs::create_dir_all(tree.join("cg").join(group)).unwrap();
        process(tree, id, parent, group);
    }
    put(tree, "proc/7000005/status", "State:\tS\nPPid:\t2\n");
    for group in ["hog", "mine", "assay-x", "idle"] {
        put(tree, &format!("cg/{group}/cgroup.freeze"), "0\n");
        put(tree, &format!("cg/{group}/cpu.weight"), "100\n");
    }
    put(tree, "cg/idle/cpu.weight", "1\n");
    put(tree, "cg/mine/cpu.max", "50000 100000\n");
    put(tree, "cg/mine/inner/cpu.max", "20000 100000\n");
    let facts = hosts::host(true);
    let root = Root::at(tree);
    let place = Place { root: &root, facts: &facts, hierarchy: &hierarchy };
    let found = place.suspect(suspect).and_then(|suspect| place.lever(suspect, by, waiting));
    found.map_err(|error| error.to_string())
}

fn mine() -> Waiting {
    Waiting { group: Some("/mine".to_owned()), process: None }
}

#[test]
fn a_group_is_frozen_or_gets_the_least_weight() {
    let lever = tried("/hog", HoldBy::Freezing, &mine()).unwrap();
    assert_eq!(lever.describe(), "write 1 to /cg/hog/cgroup.freeze (2 processes)");
    assert!(lever.is_foreign());
    let lever = tried("/hog", HoldBy::Weight, &mine()).unwrap();
    assert_eq!(lever.files[0].path, Path::new("/cg/hog/cpu.weight"));
    assert!(!tried("/assay-x", HoldBy::Freezing, &mine()).unwrap().is_foreign());
}

#[test]
fn quotas_are_lifted_from_above() {
    let lever = tried(OWN_QUOTA, HoldBy::Freezing, &mine()).unwrap();
    let files: Vec<_> = lever.files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(files, ["/cg/mine/cpu.max", "/cg/mine/inner/cpu.max"]);
    assert!(lever.files.iter().all(|file| file.value == "max"));
    let hog = Waiting { group: Some("/hog".to_owned()), process: None };
    let error = tried(OWN_QUOTA, HoldBy::Freezing, &hog).unwrap_err();
    assert!(error.contains("has no quota"), "{error}");
}

#[test]
fn what_the_host_or_the_caller_needs_is_refused() {
    let process = Waiting { group: Some("/mine".to_owned()), process: Some(7_000_002) };
    let inner = Waiting { group: Some("/hog/inner".to_owned()), process: None };
    for (suspect, by, waiting, why) in [
        ("/", HoldBy::Freezing, mine(), "the root"),
        ("/init", HoldBy::Freezing, mine(), "process 1"),
        ("/login", HoldBy::Freezing, mine(), "a process that started it"),
        ("/batch", HoldBy::Freezing, mine(), "assay or a process"),
        ("/kernel", HoldBy::Weight, mine(), "thread of the kernel"),
        ("/empty", HoldBy::Freezing, mine(), "no processes"),
        ("/mine", HoldBy::Freezing, mine(), "the watched group is in it"),
        ("/hog", HoldBy::Freezing, inner, "the watched group is in it"),
        ("/mine/inner", HoldBy::Freezing, mine(), "part of the watched group"),
        ("/hog", HoldBy::Freezing, process, "the watched process is in it"),
        ("/hog/inner", HoldBy::Freezing, mine(), "no freezer"),
        ("/idle", HoldBy::Weight, mine(), "the least weight already"),
        ("/nothing", HoldBy::Freezing, mine(), "no group `/nothing`"),
        ("nothing", HoldBy::Freezing, mine(), "belongs to `nothing`"),
    ] {
        let error = tried(suspect, by, &waiting).unwrap_err();
        assert!(error.contains(why), "{suspect}: {error}");
    }
}
