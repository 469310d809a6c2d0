//! Groups of every hierarchy, read from fake host trees.
// A failure in a shared helper is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;

use assay_host::cgroup::inventory::{Entry, Filter, Inventory, rates, take};
use assay_host::facts::Available;
use assay_sys::kernel::Root;

/// A host with `memory` and `cpuset` on v1 and `pids` on cgroup2.
struct Host {
    tree: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let host = Self { tree: tempfile::tempdir().unwrap() };
        host.file(
            "proc/self/mountinfo",
            "30 20 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n\
             31 20 0:27 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n\
             32 20 0:28 / /cg/named rw - cgroup cgroup rw,name=systemd\n\
             33 20 0:29 / /cg/unified rw - cgroup2 cgroup2 rw\n\
             34 20 0:29 / /elsewhere rw - cgroup2 cgroup2 rw\n",
        );
        host.file("cg/unified/cgroup.controllers", "pids\n");
        for mount in ["memory", "cpuset", "named", "unified"] {
            host.file(&format!("cg/{mount}/cgroup.procs"), "1\n2\n");
        }
        host.file("cg/cpuset/cpuset.cpus", "0-1\n");
        host
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn take(&self, filter: &Filter) -> Inventory {
        take(&Root::at(self.tree.path()), filter)
    }
}

fn group<'i>(inventory: &'i Inventory, path: &str) -> &'i Entry {
    inventory.groups.iter().find(|entry| entry.path == path).unwrap()
}

fn paths(inventory: &Inventory) -> Vec<&str> {
    inventory.groups.iter().map(|entry| entry.path.as_str()).collect()
}

#[test]
fn hierarchies_are_merged_by_path_and_each_is_read_once() {
    let host = Host::new();
    host.file("cg/memory/a/cgroup.procs", "7\n");
    host.file("cg/memory/a/tasks", "7\n8\n");
    host.file("cg/unified/a/cgroup.procs", "7\n9\n");
    host.file("cg/unified/a/cgroup.threads", "7\n9\n");
    host.file("cg/unified/a/b/cgroup.procs", "");
    let inventory = host.take(&Filter::default());
    let names: Vec<&str> = inventory.hierarchies.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["memory", "cpuset", "name=systemd", "v2"]);
    assert_eq!(paths(&inventory), ["/", "/a", "/a/b"]);
    let a = group(&inventory, "/a");
    assert_eq!(a.hierarchies, ["memory", "v2"]);
    assert_eq!((a.processes.as_slice(), a.threads), (&[7, 9][..], 3));
    assert_eq!(group(&inventory, "/").processes, [1, 2]);
}

#[test]
fn set_knobs_are_distinguished_from_defaults() {
    let host = Host::new();
    host.file("cg/memory/set/memory.limit_in_bytes", "67108864\n");
    host.file("cg/memory/free/memory.limit_in_bytes", "9223372036854771712\n");
    host.file("cg/cpuset/set/cpuset.cpus", "1\n");
    host.file("cg/cpuset/free/cpuset.cpus", "0-1\n");
    host.file("cg/unified/set/pids.max", "8\n");
    host.file("cg/unified/free/pids.max", "max\n");
    let inventory = host.take(&Filter::default());
    let set: Vec<String> = group(&inventory, "/set")
        .knobs
        .iter()
        .map(|knob| format!("{}={}", knob.file, knob.value))
        .collect();
    assert_eq!(set, ["memory.limit_in_bytes=67108864", "cpuset.cpus=1", "pids.max=8"]);
    assert_eq!(group(&inventory, "/free").knobs, []);
}

#[test]
fn counters_come_from_their_hierarchy_or_have_a_reason() {
    let host = Host::new();
    host.file("cg/memory/a/memory.usage_in_bytes", "4096\n");
    host.file("cg/memory/a/memory.max_usage_in_bytes", "8192\n");
    host.file("cg/unified/a/pids.current", "3\n");
    host.file("cg/unified/a/cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
    let inventory = host.take(&Filter::default());
    let counts = &group(&inventory, "/a").counts;
    assert_eq!(counts.memory, Available::Value(4096));
    assert_eq!(counts.memory_peak, Available::Value(8192));
    assert_eq!(counts.pids, Available::Value(3));
    assert_eq!(counts.cpu_us, Available::Value(1500));
    let Available::NotAvailable(why) = &counts.read_bytes else { panic!("{counts:?}") };
    assert!(why.contains("`io`"), "{why}");
}

#[test]
fn a_filter_selects_one_hierarchy_or_one_branch() {
    let host = Host::new();
    host.file("cg/memory/a/b/cgroup.procs", "");
    host.file("cg/unified/c/cgroup.procs", "");
    let memory = Filter { controller: Some("memory".to_owned()), ..Filter::default() };
    assert_eq!(paths(&host.take(&memory)), ["/", "/a", "/a/b"]);
    let branch = Filter { below: Some("a".to_owned()), ..Filter::default() };
    assert_eq!(paths(&host.take(&branch)), ["/a", "/a/b"]);
    let nothing = Filter { below: Some("/no/such".to_owned()), ..Filter::default() };
    assert_eq!(paths(&host.take(&nothing)), [""; 0]);
    let absent = Filter { controller: Some("rdma".to_owned()), ..Filter::default() };
    assert!(host.take(&absent).hierarchies.is_empty());
}

#[test]
fn rates_are_computed_from_two_readings() {
    let host = Host::new();
    host.file("cg/unified/a/cpu.stat", "usage_usec 1000000\n");
    let mut before = host.take(&Filter::default());
    host.file("cg/unified/a/cpu.stat", "usage_usec 1500000\n");
    host.file("cg/unified/new/cpu.stat", "usage_usec 5\n");
    let mut after = host.take(&Filter::default());
    (before.taken_ns, after.taken_ns) = (0, 2_000_000_000);
    let rates = rates(&before, &after);
    let cpus_of = |path: &str| {
        let at = after.groups.iter().position(|entry| entry.path == path).unwrap();
        rates[at].cpus.value().copied()
    };
    assert_eq!(cpus_of("/a"), Some(0.25));
    assert_eq!(cpus_of("/new"), None);
}

/// Groups of the host come and go while they are read.
#[test]
fn groups_may_vanish_while_they_are_read() {
    let host = Host::new();
    let root = host.tree.path().to_owned();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let group = root.join("cg/memory/brief/inner");
                fs::create_dir_all(&group).unwrap();
                fs::write(group.join("cgroup.procs"), "5\n").unwrap();
                fs::remove_dir_all(root.join("cg/memory/brief")).unwrap();
            }
        });
        for _ in 0..200 {
            let inventory = host.take(&Filter::default());
            assert_eq!(inventory.groups[0].path, "/");
            assert_eq!(inventory.groups[0].processes, [1, 2]);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn depth_counts_from_the_requested_group_and_empty_branches_are_left_out() {
    let host = Host::new();
    host.file("cg/memory/a/b/c/cgroup.procs", "7\n");
    host.file("cg/memory/a/idle/cgroup.procs", "");
    host.file("cg/memory/empty/cgroup.procs", "");
    let below = Some("/a".to_owned());
    let level = Filter { below: below.clone(), depth: Some(1), ..Filter::default() };
    assert_eq!(paths(&host.take(&level)), ["/a", "/a/b", "/a/idle"]);
    let top = Filter { depth: Some(0), ..Filter::default() };
    assert_eq!(paths(&host.take(&top)), ["/"]);
    let busy = Filter { populated: true, ..Filter::default() };
    assert_eq!(paths(&host.take(&busy)), ["/", "/a", "/a/b", "/a/b/c"]);
    let idle = Filter { below: Some("/empty".to_owned()), populated: true, ..Filter::default() };
    assert_eq!(paths(&host.take(&idle)), ["/empty"], "a group requested by name is shown");
}
