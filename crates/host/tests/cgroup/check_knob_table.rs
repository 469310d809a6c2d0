//! The knob table agrees with the running kernel.

#![allow(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use assay_host::cgroup::{KnobTableCheck, check_knob_table};
use assay_host::knob::{Evidence, KnobFact};
use assay_host::{Ledger, gather, kernel, knobs};
use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, host_lock};

#[test]
fn the_table_agrees_with_every_mounted_hierarchy() {
    let Some(_lock) = host_lock("the_table_agrees_with_every_mounted_hierarchy", &[]) else {
        return;
    };
    let before = HostSnapshot::take();
    let result = check();
    let lines: Vec<String> = result.differences.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
    assert!(result.compared > 20, "{result:?}");
    HostSnapshot::assert_same(&before, "after a comparison of the table");
}

fn check() -> KnobTableCheck {
    let state = tempfile::tempdir().unwrap();
    let root = Root::real();
    let facts = gather(&root).unwrap();
    let mut ledger = Ledger::begin(state.path(), "knobs").unwrap();
    let top = format!("assay-knobs-test-{}", std::process::id());
    let result = check_knob_table(&root, &mut ledger, &facts, &kernel(&root, &facts), &top);
    assert!(ledger.restore(&root).is_empty());
    ledger.finish().unwrap();
    result.unwrap()
}

#[test]
fn listing_the_knobs_of_this_host_finds_files_and_changes_nothing() {
    let Some(_lock) = host_lock("listing_the_knobs_of_this_host", &[]) else { return };
    let before = HostSnapshot::take();
    let root = Root::real();
    let facts = gather(&root).unwrap();
    let knob_facts: Vec<KnobFact> = knobs(&root, &facts);
    HostSnapshot::assert_same(&before, "after listing the knobs");
    let present =
        knob_facts.iter().filter(|fact| fact.state.value() == Some(&Evidence::Seen)).count();
    let absent = knob_facts.iter().filter(|fact| fact.state.value().is_none()).count();
    assert!(present > 10 && absent > 0, "{present} present, {absent} absent");
    let all: Vec<String> =
        assay_host::knob::all().iter().map(|knob| knob.name.to_owned()).collect();
    for name in all.iter().filter(|name| !name.contains('<')) {
        assert!(knob_facts.iter().any(|fact| fact.name == *name), "{name} is not listed");
    }
}
