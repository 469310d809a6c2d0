//! Drift of knobs, queues and settings between the start and the end of a repeat.

use std::collections::BTreeMap;

use super::*;
use crate::runner::at_start::AtStart;
use crate::runner::tests::fake_host::{
    FakeHost, TOP, disk, group, hierarchy, knob, setting, trial,
};
use crate::runner::{queues, settings};

const SHARES: &str = "/cg/cpu/assay-test/g/cpu.shares";
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const SCHEDULER: &str = "/sys/block/loop7/queue/scheduler";
const REQUESTS: &str = "/sys/block/loop7/queue/nr_requests";

/// A trial with one of each: a knob, a setting and a queue.
fn planned() -> (Trial, Vec<ScratchDisk>) {
    let mut g = group("g", vec![]);
    g.knobs.push(knob("cpu", "cpu.shares", "512"));
    let mut trial = Trial { hierarchies: vec![hierarchy(false, &["cpu"])], ..trial(vec![g]) };
    trial.settings.push(setting("vm.swappiness", SWAPPINESS, "10"));
    let (plan, ready) = disk();
    trial.disks.push(plan);
    (trial, vec![ready])
}

/// Watches the trial, calls `between` before each of three rounds with its number, and returns the record.
fn watched(host: &FakeHost, mut between: impl FnMut(usize)) -> RepeatRecord {
    let (trial, disks) = planned();
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    for (file, text) in [
        (SHARES, "512\n"),
        (SWAPPINESS, "10\n"),
        (SCHEDULER, "mq-deadline [bfq] none\n"),
        (REQUESTS, "64\n"),
    ] {
        host.put(file, text);
    }
    let root = host.root();
    let start = AtStart::read(&root, &tree, &trial, &disks, settings::read(&root, &trial));
    let mut watch = Watch::open(&root, &tree, &trial, &start.knobs, &disks, &start.queues);
    watch.add_settings(&root, &trial, &start.settings);
    for round in 0..3 {
        between(round);
        watch.due_ns = 0;
        watch.look_if_due();
        watch.due_ns = u64::MAX;
        watch.look_if_due();
    }
    let mut record = RepeatRecord::without_a_window("s", "");
    let values = start.knobs.clone();
    record.knobs = knobs::readings(&trial, values.clone(), values);
    let queues_end = queues::read(&root, &trial, &disks);
    record.queues = queues::readings(&trial, &disks, start.queues, queues_end);
    let now = settings::read(&root, &trial);
    record.settings = settings::readings(&trial, now.clone(), now.clone(), now);
    watch.finish(&mut record);
    record
}

#[test]
fn nothing_drifts_where_nothing_changes() {
    let host = FakeHost::new();
    let record = watched(&host, |_| ());
    let cost = record.watch.unwrap();
    assert_eq!((cost.rounds, cost.files), (3, 4), "a round that is not due is not taken");
    assert!(record.knobs[0].drift.is_empty() && record.queues[0].drift.is_empty());
    assert!(record.settings[0].drift.is_none());
    assert_eq!(record.queues[0].scheduler_at_start, "bfq");
    assert_eq!(record.queues[0].at_start["nr_requests"], "64");
}

/// The end of the repeat shows the value of the start again.
#[test]
fn a_change_that_is_reverted_is_still_seen() {
    let host = FakeHost::new();
    let record = watched(&host, |round| {
        let [shares, swap] = [["512\n", "10\n"], ["9\n", "99\n"], ["512\n", "10\n"]][round];
        host.put(SHARES, shares);
        host.put(SWAPPINESS, swap);
    });
    let seen = |drift: &Drift| (drift.first.value.value().cloned(), drift.readings);
    assert_eq!(seen(&record.knobs[0].drift["cpu.shares"]), (Some("9".to_owned()), 1));
    assert_eq!(seen(record.settings[0].drift.as_ref().unwrap()), (Some("99".to_owned()), 1));
    assert!(record.queues[0].drift.is_empty(), "each drift is noted with its own file");
}

#[test]
fn the_first_and_the_last_of_several_changes_are_kept() {
    let host = FakeHost::new();
    let record = watched(&host, |round| {
        let scheduler = ["[mq-deadline] bfq", "mq-deadline [bfq]", "[none] bfq"][round];
        host.put(SCHEDULER, scheduler);
        host.put(REQUESTS, ["64", "32", "16"][round]);
    });
    let of = |name: &str| {
        let drift = &record.queues[0].drift[name];
        let text = |reading: &TimedReading| reading.value.value().unwrap().clone();
        assert!(drift.first.time_ns <= drift.last.time_ns);
        (text(&drift.first), text(&drift.last), drift.readings)
    };
    assert_eq!(of("scheduler"), ("mq-deadline".to_owned(), "none".to_owned(), 2));
    assert_eq!(of("nr_requests"), ("32".to_owned(), "16".to_owned(), 2));
    assert_eq!(record.queues[0].scheduler_at_end, "none");
}

/// Their readings at start and end carry the error.
#[test]
fn files_that_had_no_value_at_the_start_are_not_watched() {
    let host = FakeHost::new();
    let (trial, _) = planned();
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    let root = host.root();
    let start = AtStart::read(&root, &tree, &trial, &[], vec![]);
    assert!(start.knobs[0].value.reason().unwrap().contains(TOP));
    // The file comes later; without a first value nothing can differ from it.
    host.put(SHARES, "512\n");
    let mut watch = Watch::open(&root, &tree, &trial, &start.knobs, &[], &start.queues);
    watch.add_settings(&root, &trial, &start.settings);
    assert_eq!(watch.cost.files, 0);
    watch.due_ns = 0;
    watch.look_if_due();
    let mut record = RepeatRecord::without_a_window("s", "");
    watch.finish(&mut record);
    assert_eq!(record.watch.unwrap().rounds, 1);
    assert!(record.overrides.is_none() && record.placements.is_empty());
}

#[test]
fn attributes_that_the_study_sets_are_read_besides_those_that_always_matter() {
    let host = FakeHost::new();
    let (mut trial, disks) = planned();
    trial.disks[0].queue.push(("read_ahead_kb".to_owned(), "128".to_owned()));
    host.put(SCHEDULER, "none\n");
    for (name, text) in [("read_ahead_kb", "128"), ("rotational", "0"), ("other", "1")] {
        host.put(format!("/sys/block/loop7/queue/{name}"), text);
    }
    let read = queues::read(&host.root(), &trial, &disks);
    let expected = [("read_ahead_kb", "128"), ("rotational", "0")];
    let expected: BTreeMap<String, String> =
        expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    assert_eq!(read[0].attributes, expected, "not what the kernel lacks, nor what nobody needs");
    assert_eq!(read[0].scheduler, "none");
}
