//! Promises about memory: limits and protections.

use assay_host::facts::{Available, Controller, Hierarchy};
use assay_judge::verdict::Verdict;
use assay_record::run_folder::{Column, GroupRecord, RelationRecord, Table};

use crate::synthetic::{Run, Scenario, table};

const MIB: u64 = 1 << 20;

/// A group that held this much under a protection of 100 MiB, in a box whose limit was reached this
/// often a second, and that refaulted this many pages a second.
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
        existing: None,
        name: "box".to_owned(),
        measured: true,
        knobs: Vec::new(),
        workloads: Vec::new(),
        disk: None,
        outside: false,
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

const COLUMNS: [&str; 4] =
    ["current_bytes", "refault_anon_pages", "refault_file_pages", "max_events"];

/// Growth at this rate per second.
fn grown(rate: u64, ns: u64) -> u64 {
    (rate as f64 * ns as f64 * 1e-9) as u64
}

fn memory(held_mib: u64, met: u64, lost: u64) -> Table {
    table("memory", &["box", "box/kept"], &COLUMNS, 200, |subject, ns| {
        // A ripple of a quarter of a MiB, so that no series is constant.
        let ripple = ns / 100_000_000 % 5 * MIB / 16;
        if subject == 0 {
            vec![200 * MIB, 0, 0, grown(met, ns)]
        } else {
            vec![held_mib * MIB + ripple, 0, grown(lost, ns), 0]
        }
    })
}

/// Records that `memory.max` of a group was this many bytes throughout.
fn limit(run: &mut Run, group: &str, bytes: u64) {
    let repeat = run.repeat();
    let mut limit = repeat.knobs[0].clone();
    limit.group = group.to_owned();
    (limit.knob, limit.file) = ("memory.max".to_owned(), "memory.max".to_owned());
    limit.at_start = Available::Value(bytes.to_string());
    limit.at_end = limit.at_start.clone();
    repeat.knobs.push(limit);
}

/// Next to the protected group one that reads more than its own limit holds; the box around both
/// reached this many limits a second, by a counter that on v2 includes the groups inside.
fn beside_one_in_its_own_limit(met: u64) -> Run {
    let mut run = run(protected(), 120, 0, 0);
    let trial = run.trial();
    let mut hog = trial.groups[1].clone();
    (hog.name, hog.measured) = ("box/hog".to_owned(), false);
    (hog.knobs[0].knob, hog.knobs[0].file) = ("memory.max".to_owned(), "memory.max".to_owned());
    hog.knobs[0].written = (64 * MIB).to_string();
    hog.workloads[0].name = "box.hog.sweep".to_owned();
    trial.groups.push(hog);
    limit(&mut run, "box/hog", 64 * MIB);
    let table = table("memory", &["box", "box/kept", "box/hog"], &COLUMNS, 200, |subject, ns| {
        let ripple = ns / 100_000_000 % 5 * MIB / 16;
        match subject {
            0 => vec![184 * MIB, 0, 0, grown(met, ns)],
            1 => vec![120 * MIB + ripple, 0, 0, 0],
            _ => vec![64 * MIB, 0, grown(300, ns), grown(50, ns)],
        }
    });
    *run.samples[0][0].last_mut().unwrap() = table;
    run
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
fn a_group_that_refaults_its_memory_breaks_it() {
    let promise = run(protected(), 50, 50, 300).promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
}

#[test]
fn memory_that_was_not_short_voids() {
    let promise = run(protected(), 120, 0, 0).promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("memory was not short"), "{}", promise.reason);
    assert_eq!(promise.causes[0].code, "C-MEMORY-FREE");

    let mut run = run(protected(), 120, 0, 0);
    limit(&mut run, "box", 300 * MIB);
    let reason = run.promise().reason;
    assert!(reason.contains("`box` held at most 200.0 MiB of its 300.0 MiB"), "{reason}");
}

#[test]
fn thrashing_in_its_own_limit_is_no_shortage_around_others() {
    // As v1 counts, and as v2 does; the layout of the host is unknown here.
    for met in [0, 50] {
        let promise = beside_one_in_its_own_limit(met).promise();
        assert_eq!(promise.verdict, Verdict::Void, "{met}: {}", promise.reason);
        assert_eq!(promise.causes[0].code, "C-MEMORY-FREE");
    }
    let promise = beside_one_in_its_own_limit(80).promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    // On v1 the counter of the box is its own.
    let mut run = beside_one_in_its_own_limit(50);
    let memory = Controller {
        hierarchy: Hierarchy::V1("/sys/fs/cgroup/memory".into()),
        own_group: "/".to_owned(),
    };
    run.manifest.host.cgroup.controllers.insert("memory".to_owned(), memory);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
}

#[test]
fn thrashing_at_its_own_memory_high_is_no_shortage_around_others() {
    let met = |is_met: bool| {
        let mut run = beside_one_in_its_own_limit(0);
        // Above `memory.high` there are events of `high` and none of `max`.
        let table = run.samples[0][0].last_mut().unwrap();
        let max = table.columns.iter_mut().find(|one| one.name == "max_events").unwrap();
        let none =
            Column { name: "max_events".to_owned(), values: vec![Some(0); max.values.len()] };
        max.name = "high_events".to_owned();
        if !is_met {
            max.values.clone_from(&none.values);
        }
        table.columns.push(none);
        let knob = run.repeat().knobs.last_mut().unwrap();
        (knob.knob, knob.file) = ("memory.high".to_owned(), "memory.high".to_owned());
        let knob = &mut run.trial().groups[2].knobs[0];
        (knob.knob, knob.file) = ("memory.high".to_owned(), "memory.high".to_owned());
        run.promise()
    };
    let own = met(true);
    assert_eq!(own.verdict, Verdict::Void, "{}", own.reason);
    assert_eq!(own.causes[0].code, "C-MEMORY-FREE");
    // Below it the pages were taken for somebody else.
    assert_eq!(met(false).verdict, Verdict::Kept, "{}", met(false).reason);
}

#[test]
fn events_of_high_inside_do_not_hide_those_of_max_around() {
    let mut run = beside_one_in_its_own_limit(0);
    let columns = [&COLUMNS[..], &["high_events"]].concat();
    let table = table("memory", &["box", "box/kept", "box/hog"], &columns, 200, |subject, ns| {
        let ripple = ns / 100_000_000 % 5 * MIB / 16;
        match subject {
            // Its own limit was reached 50 times a second.
            0 => vec![184 * MIB, 0, 0, grown(50, ns), grown(2000, ns)],
            1 => vec![120 * MIB + ripple, 0, 0, 0, 0],
            _ => vec![64 * MIB, 0, grown(300, ns), 0, grown(2000, ns)],
        }
    });
    *run.samples[0][0].last_mut().unwrap() = table;
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
}

#[test]
fn the_larger_of_two_protections_sets_the_needed_demand() {
    let mut run = run(protected(), 50, 50, 0);
    let mut first = run.trial().promises[0].clone();
    first.is = RelationRecord::AtLeast(40.0 * MIB as f64);
    run.trial().promises.insert(0, first);
    let judged = run.judge();
    let promise = &judged.trials[0].promises[1];
    assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
}

#[test]
fn a_group_without_demand_was_not_denied_memory() {
    // A few refaults are not demand.
    for lost in [0, 1] {
        let promise = run(protected(), 50, 50, lost).promise();
        assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
        assert!(promise.reason.contains("its workload needs too little"), "{}", promise.reason);
    }
}

#[test]
fn a_limit_on_memory_needs_no_shortage() {
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
