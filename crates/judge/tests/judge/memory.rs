//! What groups hold, against limits and protections.

use assay_facts::Available;
use assay_judge::Verdict;
use assay_record::{GroupRecord, RelationRecord, Table};

use crate::synthetic::{Run, Scenario, table};

const MIB: u64 = 1 << 20;

/// A group that held so much under a protection of 100 MiB, in a box whose limit was met so often
/// a second, and that lost so many pages a second.
fn run(relation: RelationRecord, held_mib: u64, met: u64, lost: u64) -> Run {
    let mut run = Scenario::new(&[1]).promise("memory.current", relation).run();
    let trial = run.trial();
    let knob = &mut trial.groups[0].knobs[0];
    (knob.knob, knob.file) = ("memory.low".to_owned(), "memory.low".to_owned());
    knob.written = (100 * MIB).to_string();
    knob.obeyed_by = None;
    trial.groups[0].name = "box/kept".to_owned();
    trial.groups[0].workloads[0].name = "box.kept.reread".to_owned();
    let outer = GroupRecord {
        name: "box".to_owned(),
        measured: true,
        knobs: Vec::new(),
        workloads: Vec::new(),
        disk: None,
    };
    trial.groups.insert(0, outer);
    let repeat = run.repeat();
    let reading = &mut repeat.knobs[0];
    reading.group = "box/kept".to_owned();
    (reading.knob, reading.file) = ("memory.low".to_owned(), "memory.low".to_owned());
    reading.at_start = Available::Value(format!("{}\n", 100 * MIB));
    reading.at_end = reading.at_start.clone();
    repeat.workloads[0].group = "box/kept".to_owned();
    repeat.workloads[0].workload = "box.kept.reread".to_owned();
    run.samples[0][0].push(memory(held_mib, met, lost));
    run
}

fn memory(held_mib: u64, met: u64, lost: u64) -> Table {
    let columns = ["current_bytes", "refault_anon_pages", "refault_file_pages", "max_events"];
    table("memory", &["box", "box/kept"], &columns, 200, |subject, ns| {
        let seconds = ns as f64 * 1e-9;
        let grown = |rate: u64| (rate as f64 * seconds) as u64;
        // A ripple of a quarter of a MiB, so that no series is constant.
        let ripple = ns / 100_000_000 % 5 * MIB / 16;
        if subject == 0 {
            vec![200 * MIB, 0, 0, grown(met)]
        } else {
            vec![held_mib * MIB + ripple, 0, grown(lost), 0]
        }
    })
}

fn protected() -> RelationRecord {
    RelationRecord::AtLeastKnob("memory.low".to_owned())
}

#[test]
fn a_protected_group_that_holds_its_memory_keeps_the_promise_in_bytes() {
    let promise = run(protected(), 120, 50, 0).promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    let group = &promise.groups[0];
    assert_eq!(group.knob, Some(100.0 * MIB as f64));
    assert!((group.share / (120.125 * MIB as f64) - 1.0).abs() < 0.001, "{}", group.share);
    assert!(promise.reason.contains("MiB"), "{}", promise.reason);
}

#[test]
fn a_group_that_lost_its_memory_and_wanted_it_back_breaks_it() {
    let promise = run(protected(), 50, 50, 300).promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
}

#[test]
fn memory_that_was_not_short_shows_nothing() {
    let promise = run(protected(), 120, 0, 0).promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("memory was not short"), "{}", promise.reason);
    assert_eq!(promise.causes[0].code, "C-MEMORY-FREE");

    let mut run = run(protected(), 120, 0, 0);
    let repeat = run.repeat();
    let mut limit = repeat.knobs[0].clone();
    limit.group = "box".to_owned();
    (limit.knob, limit.file) = ("memory.max".to_owned(), "memory.max".to_owned());
    limit.at_start = Available::Value((300 * MIB).to_string());
    limit.at_end = limit.at_start.clone();
    repeat.knobs.push(limit);
    let reason = run.promise().reason;
    assert!(reason.contains("`box` held at most 200.0 MiB of its 300.0 MiB"), "{reason}");
}

#[test]
fn a_group_that_never_wanted_so_much_was_not_denied_it() {
    let promise = run(protected(), 50, 50, 0).promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("its workload wants too little"), "{}", promise.reason);
}

#[test]
fn a_limit_on_what_is_held_needs_no_shortage() {
    let limit = |mib: f64| run(RelationRecord::AtMost(mib * MIB as f64), 120, 0, 0).promise();
    assert_eq!(limit(121.0).verdict, Verdict::Kept, "{}", limit(121.0).reason);
    assert_eq!(limit(80.0).verdict, Verdict::Broken);
}

#[test]
fn refaults_are_a_rate() {
    let mut run = run(RelationRecord::AtMost(310.0), 120, 50, 300);
    run.trial().promises[0].measure = "memory.refaults".to_owned();
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    assert!(promise.reason.contains("refaults/s"), "{}", promise.reason);
}
