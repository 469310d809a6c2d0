//! Many groups at once on the real kernel, in every hierarchy of this host.
// A failure in a shared helper is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::process::{Child, Command};
use std::time::Instant;

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_host::facts::{HostFacts, UsedHierarchy};
use assay_sys::kernel::Root;
use assay_test_support::{HostLock, HostSnapshot, host_lock, skip};

const GROUPS: usize = 256;

fn hierarchies(facts: &HostFacts) -> Vec<UsedHierarchy> {
    facts.cgroup.hierarchies_with(["cpu", "cpuset", "io", "memory", "pids"]).0
}

struct Bench {
    root: Root,
    ledger: Ledger,
    hierarchies: Vec<UsedHierarchy>,
    before: HostSnapshot,
    _work: tempfile::TempDir,
    _lock: HostLock,
}

impl Bench {
    fn new(test: &str) -> Option<Self> {
        let lock = host_lock(test, &[])?;
        let root = Root::real();
        let hierarchies = hierarchies(&assay_host::gather(&root).unwrap());
        if hierarchies.is_empty() {
            skip(test, "no control groups are mounted");
            return None;
        }
        let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
        let ledger = Ledger::begin(&work.path().join("state"), "test").unwrap();
        let before = HostSnapshot::take();
        Some(Self { root, ledger, hierarchies, before, _work: work, _lock: lock })
    }

    fn tree(&mut self) -> Tree {
        let top = format!("assay-test-{}", std::process::id());
        Tree::create(&self.root, &mut self.ledger, &self.hierarchies, &top).unwrap()
    }

    fn restore(mut self) {
        assert_eq!(self.ledger.restore(&self.root), []);
        assert!(self.ledger.finish().unwrap());
        HostSnapshot::assert_same(&self.before, "restored");
    }
}

#[test]
fn many_groups_are_created_filled_and_removed() {
    let Some(mut bench) = Bench::new("many groups") else { return };
    let begun = Instant::now();
    let tree = bench.tree();
    let names: Vec<String> = (1..=GROUPS).map(|number| format!("task{number}")).collect();
    for name in &names {
        tree.make(name, false).unwrap();
    }
    let made = begun.elapsed();
    let mut sleepers: Vec<Child> = names
        .iter()
        .map(|name| {
            let group = tree.membership(name).unwrap();
            group.spawn(Command::new("sleep").arg("60")).unwrap()
        })
        .collect();
    for (name, sleeper) in names.iter().zip(&sleepers) {
        assert_eq!(tree.processes(name).unwrap(), [sleeper.id()], "{name}");
    }
    let filled = begun.elapsed() - made;
    bench.restore();
    let removed = begun.elapsed() - made - filled;
    for sleeper in &mut sleepers {
        assert!(!sleeper.wait().unwrap().success(), "it was killed, not left to end");
    }
    eprintln!("{GROUPS} groups: created in {made:?}, filled in {filled:?}, removed in {removed:?}");
}

#[test]
fn a_process_starts_in_its_group_in_every_hierarchy() {
    let Some(mut bench) = Bench::new("started in its group") else { return };
    let tree = bench.tree();
    tree.make("outer", true).unwrap();
    tree.make("outer/inner", false).unwrap();
    let group = tree.membership("outer/inner").unwrap();
    let mut sleeper = group.spawn(Command::new("sleep").arg("60")).unwrap();
    let path = format!("/assay-test-{}/outer/inner", std::process::id());
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", sleeper.id())).unwrap();
    let inside = groups.lines().filter(|line| line.ends_with(&path)).count();
    assert_eq!(inside, bench.hierarchies.len(), "{groups}");
    bench.restore();
    assert!(!sleeper.wait().unwrap().success());
}
