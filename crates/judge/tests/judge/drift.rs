//! Values changed from outside while a repeat runs, and changed back.

use std::collections::BTreeMap;

use assay_facts::Available;
use assay_run_folder::{Drift, Dropped, SettingReading, SettingRecord, TimedReading, WatchCost};
use assay_verdict::Verdict;

use crate::synthetic::{RELEASED_NS, Run, Scenario};

fn run() -> Run {
    let mut run = Scenario::new(&[100, 200, 400, 800]).run();
    run.repeat().watch = Some(WatchCost { interval_s: 1.0, rounds: 20, files: 10, cpu_s: 0.02 });
    run
}

fn drift(first: &str, last: &str) -> Drift {
    let seen = |after_s: u64, value: &str| TimedReading {
        time_ns: RELEASED_NS + 2_000_000 + after_s * 1_000_000_000,
        value: Available::Value(value.to_owned()),
    };
    Drift { first: seen(5, first), last: seen(8, last), readings: 3 }
}

#[test]
fn a_temporarily_changed_weight_voids() {
    let mut run = run();
    run.repeat().knobs[1].drift =
        BTreeMap::from([("blkio.bfq.weight".to_owned(), drift("900", "901"))]);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    for said in ["`task2`", "`900` 5.0 s after the start", "`901` at 8.0 s", "3 readings"] {
        assert!(promise.reason.contains(said), "no {said} in {}", promise.reason);
    }
    assert_eq!(promise.causes[0].code, "C-KNOB-DRIFT");
}

#[test]
fn another_spelling_of_the_same_value_is_not_a_drift() {
    let mut run = run();
    let same = drift("default 200", "default 200");
    run.repeat().knobs[1].drift = BTreeMap::from([("blkio.bfq.weight".to_owned(), same)]);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
}

#[test]
fn a_temporarily_changed_scheduler_voids() {
    let mut run = run();
    run.repeat().queues[0].drift =
        BTreeMap::from([("scheduler".to_owned(), drift("none", "none"))]);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(
        promise.reason.contains("`scheduler` of loop0 read `none` 5.0 s"),
        "{}",
        promise.reason
    );
}

#[test]
fn an_attribute_without_a_request_may_change() {
    let mut run = run();
    run.repeat().queues[0].drift = BTreeMap::from([("nr_requests".to_owned(), drift("64", "64"))]);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
}

#[test]
fn rereading_is_part_of_the_cost() {
    let with = run().judge().trials[0].observer_cpu;
    let mut without = run();
    without.repeat().watch = None;
    let without = without.judge().trials[0].observer_cpu;
    assert!((with - without - 0.001).abs() < 1e-9, "{with} {without}");
}

/// A run whose study requests one host setting.
fn with_setting(at_end: &str, drift: Option<Drift>) -> Run {
    let mut run = run();
    run.trial().settings.push(SettingRecord {
        setting: "vm.dirty_bytes".to_owned(),
        asked: "16 MiB".to_owned(),
        path: "/proc/sys/vm/dirty_bytes".to_owned(),
        written: "16777216".to_owned(),
        implied: false,
    });
    run.repeat().settings.push(SettingReading {
        setting: "vm.dirty_bytes".to_owned(),
        found: Available::Value("0".to_owned()),
        at_start: Available::Value("16777216".to_owned()),
        at_end: Available::Value(at_end.to_owned()),
        drift,
    });
    run
}

#[test]
fn a_setting_of_the_host_that_changed_voids_every_promise() {
    for (run, said) in [
        (with_setting("0", None), "reads `0` at the end"),
        (with_setting("16777216", Some(drift("4096", "4096"))), "`4096` 5.0 s after the start"),
    ] {
        let promise = run.promise();
        assert_eq!(promise.verdict, Verdict::Void);
        assert!(promise.reason.contains(said), "no {said} in {}", promise.reason);
        assert_eq!(promise.causes[0].code, "C-SETTING-DRIFT");
    }
}

#[test]
fn a_setting_that_held_is_evidence_and_an_unread_one_voids() {
    let run = with_setting("16777216", None);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    let judged = run.judge();
    let check = judged.trials[0].validity.iter().find(|check| check.check == "settings").unwrap();
    assert!(check.evidence.contains("vm.dirty_bytes = 16777216"), "{}", check.evidence);
    let mut run = with_setting("16777216", None);
    run.repeat().settings.clear();
    assert!(run.promise().reason.contains("was not read back"), "{}", run.promise().reason);
}

#[test]
fn dropped_caches_are_reported_with_their_size() {
    let mut run = run();
    run.repeat().dropped = Some(Dropped {
        what: 3,
        seconds: 0.5,
        before_bytes: Available::Value(900 << 20),
        after_bytes: Available::Value(100 << 20),
    });
    let judged = run.judge();
    let check = judged.trials[0].validity.iter().find(|check| check.check == "settings").unwrap();
    assert!(check.evidence.contains("900.0 MiB before, 100.0 MiB after"), "{}", check.evidence);
}
