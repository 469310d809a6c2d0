//! The table of interface files is that of the kernel which runs here.

#![allow(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use assay_cgroup::{KnobsCheck, check_knobs};
use assay_host::{Ledger, gather, kernel, knobs};
use assay_kernel::Root;
use assay_knob::{KnobFact, Known};
use assay_test_support::{HostSnapshot, busy_host_lock};

#[test]
fn the_table_is_that_of_every_hierarchy_mounted_here() {
    let Some(_lock) = busy_host_lock("the_table_is_that_of_every_hierarchy_mounted_here", &[])
    else {
        return;
    };
    let before = HostSnapshot::take();
    let found = check();
    let lines: Vec<String> = found.differences.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
    assert!(found.compared > 20, "{found:?}");
    HostSnapshot::assert_same(&before, "after a comparison of the table");
}

fn check() -> KnobsCheck {
    let state = tempfile::tempdir().unwrap();
    let root = Root::real();
    let facts = gather(&root).unwrap();
    let mut ledger = Ledger::begin(state.path(), "knobs").unwrap();
    let top = format!("assay-knobs-test-{}", std::process::id());
    let found = check_knobs(&root, &mut ledger, &facts, &kernel(&root, &facts), &top);
    assert!(ledger.restore(&root).is_empty());
    ledger.finish().unwrap();
    found.unwrap()
}

#[test]
fn looking_at_the_knobs_of_this_host_finds_what_a_group_shows_and_changes_nothing() {
    let Some(_lock) = busy_host_lock("looking_at_the_knobs_of_this_host", &[]) else { return };
    let before = HostSnapshot::take();
    let root = Root::real();
    let facts = gather(&root).unwrap();
    let found: Vec<KnobFact> = knobs(&root, &facts);
    HostSnapshot::assert_same(&before, "after a look at the knobs");
    let seen = found.iter().filter(|fact| fact.state.value() == Some(&Known::Seen)).count();
    let absent = found.iter().filter(|fact| fact.state.value().is_none()).count();
    assert!(seen > 10 && absent > 0, "{seen} seen, {absent} absent");
    let all: Vec<String> = assay_knob::all().iter().map(|knob| knob.name.to_owned()).collect();
    for name in all.iter().filter(|name| !name.contains('<')) {
        assert!(found.iter().any(|fact| fact.name == *name), "{name} is not listed");
    }
}
