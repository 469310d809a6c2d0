//! Comparison of runs that are not alike: of other lengths, with other promises, without some numbers,
//! or with trials that were skipped in some rounds.

use std::collections::BTreeMap;

use assay_judge::compare::{Side, Terms, compare_levels};
use assay_judge::verdict::{Equivalence, MeasureComparison, RunComparison};
use assay_record::run_folder::{EveryRecord, RelationRecord};
use serde_json::json;

use crate::compare_runs::compare;
use crate::synthetic::{Run, Scenario, Server};

const WEIGHTS: [u32; 4] = [100, 200, 400, 800];

fn run(seconds: f64, seed: u64) -> Run {
    Scenario { seconds, seed, repeats: 8, ..Scenario::new(&WEIGHTS) }.run()
}

fn baseline() -> Terms {
    Terms { baseline: true, ..Terms::default() }
}

fn number(found: &RunComparison, name: &str) -> MeasureComparison {
    let all = found.trials[0].measures.iter();
    all.clone().find(|one| one.measure == name).unwrap_or_else(|| panic!("{found:#?}")).clone()
}

/// A run of less time reads less.
#[test]
fn totals_of_repeats_of_other_lengths_are_not_compared() {
    let (long, short) = (run(30.0, 1), run(20.0, 2));
    for (a, b) in [(&long, &short), (&short, &long)] {
        let found = compare(a, b, &baseline());
        let bytes = number(&found, "reader.read_bytes");
        assert_eq!(bytes.verdict, Equivalence::NotComparable, "{bytes:?}");
        let why = bytes.not_available.unwrap();
        assert!(why.contains("total") && why.contains("30.0 s") && why.contains("20.0 s"), "{why}");
        assert_eq!(found.verdict, Equivalence::Equal, "{}", found.reason);
        assert!(number(&found, "reader.read_iops").ratio.is_some());
    }
    let found = compare(&run(20.0, 1), &short, &baseline());
    assert!(number(&found, "reader.read_bytes").ratio.is_some());
}

/// Runs whose only promise is about a metric with these values.
fn reporting(name: &str, values: &[f64]) -> Run {
    let scenario = Scenario { repeats: 9, seconds: 5.0, ..Scenario::new(&[1]) };
    let bound = RelationRecord::AtLeast(1.0);
    let mut run = scenario.promise(&format!("reader.{name}"), bound).run();
    for (repeat, value) in run.trial().repeats.iter_mut().zip(values.iter().cycle()) {
        repeat.workloads[0].metrics.insert(name.to_owned(), *value);
    }
    run
}

#[test]
fn work_that_fell_to_nothing_is_worse() {
    let verdict = |name: &str, a: &[f64], b: &[f64]| {
        let found = compare(&reporting(name, a), &reporting(name, b), &baseline());
        (number(&found, &format!("reader.{name}")).verdict, found.verdict)
    };
    let (busy, none) = ([1000.0, 1010.0, 990.0], [0.0; 3]);
    assert_eq!(verdict("ops_per_s", &busy, &none).1, Equivalence::Worse);
    assert_eq!(verdict("ops_per_s", &busy, &none).0, Equivalence::Worse);
    assert_eq!(verdict("ops_per_s", &none, &busy).0, Equivalence::Better);
    // Less than one a second is not much more than none.
    assert_eq!(verdict("ops_per_s", &[0.1; 3], &none).0, Equivalence::Undecided);
    assert_eq!(verdict("ops_per_s", &[0.1, 0.11, 0.12], &none).0, Equivalence::Undecided);
    assert_eq!(verdict("ops_per_s", &none, &none).0, Equivalence::NotComparable);
    // No time at all is no measurement.
    assert_ne!(verdict("read_p99_ns", &busy, &none).1, Equivalence::Better);
}

#[test]
fn a_promised_metric_that_neither_run_has_is_not_equal() {
    let lost = |seed| {
        let mut run = Scenario { seed, ..Scenario::new(&[1]) };
        run.repeats = 3;
        run.promise("reader.lost_per_s", RelationRecord::AtLeast(1.0)).run()
    };
    let found = compare(&lost(1), &lost(2), &Terms::default());
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert!(found.reason.contains("`reader.lost_per_s`"), "{}", found.reason);
}

/// The third group has half of its share for two seconds of ten, and more in the others.
fn in_turns(seed: u64) -> Run {
    let rate = |time: f64, group: usize| match (group, time % 10.0 < 2.0) {
        (2, true) => 0.5,
        (2, false) => 1.125,
        _ => 1.0,
    };
    let server = Server::Scripted { rate, deviation: 0.01 };
    let mut run = Scenario { server, seed, repeats: 8, ..Scenario::new(&WEIGHTS) }.run();
    run.trial().promises[0].within = 0.2;
    run
}

fn with_spans(mut run: Run) -> Run {
    run.trial().promises[0].every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    run
}

/// Kept on average, and broken in spans: not what the run before has promised.
#[test]
fn a_promise_about_spans_is_another_promise() {
    let found = compare(&in_turns(1), &with_spans(in_turns(2)), &baseline());
    assert!(found.trials[0].promises.is_empty(), "{:?}", found.trials[0].promises);
    assert_ne!(found.verdict, Equivalence::Worse, "{}", found.reason);
    let found = compare(&with_spans(in_turns(1)), &with_spans(in_turns(2)), &baseline());
    assert_eq!(found.trials[0].promises.len(), 1);
}

/// Means are equal, and nothing compares in how many spans the promise held.
#[test]
fn spans_that_are_broken_on_both_sides_are_not_equal() {
    let found = compare(&with_spans(in_turns(1)), &with_spans(in_turns(2)), &Terms::default());
    assert!(found.trials[0].measures.iter().all(|one| one.verdict != Equivalence::Different));
    assert_eq!(found.trials[0].promises[0].change, Equivalence::Undecided);
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert!(found.reason.contains("broken in A and broken in B"), "{}", found.reason);
    let found = compare(&in_turns(1), &in_turns(2), &Terms::default());
    assert_eq!(found.verdict, Equivalence::Equal, "{}", found.reason);
}

/// Two levels in one run whose host becomes slower from round to round; the first was skipped in the
/// second round.
#[test]
fn pairs_are_of_one_round_and_not_of_one_index() {
    let mut run = Scenario { repeats: 8, seed: 5, ..Scenario::new(&[1]) }
        .promise("reader.read_iops", RelationRecord::AtLeast(1.0))
        .run();
    let mut second = run.manifest.trials[0].clone();
    for (trial, level) in [(&mut run.manifest.trials[0], 1), (&mut second, 2)] {
        trial.factors = BTreeMap::from([("x".to_owned(), json!(level))]);
        for (round, repeat) in trial.repeats.iter_mut().enumerate() {
            repeat.samples = format!("samples/trial-{:02}-repeat-{round:02}", level - 1);
            let noise = 1.0 + 0.004 * ((round * 7 + level) % 3) as f64;
            let value = 1000.0 * noise * 0.5_f64.powi(round as i32);
            repeat.workloads[0].metrics.insert("read_iops".to_owned(), value);
        }
    }
    run.manifest.trials.push(second);
    run.samples = vec![run.samples[0].clone(); 2];
    run.manifest.trials[0].repeats.remove(1);
    run.samples[0].remove(1);
    let side = Side { name: "run", manifest: &run.manifest, samples: &run.samples };
    let found = compare_levels(&side, "x", &[], &Terms::default()).unwrap();
    let iops = number(&found, "reader.read_iops");
    assert!((iops.ratio.unwrap() - 1.0).abs() < 0.01, "{iops:?}");
    assert!(iops.high.unwrap() < 1.03, "{iops:?}");
}
