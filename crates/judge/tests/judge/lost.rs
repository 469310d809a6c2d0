//! Comparisons of runs that lost repeats, and breaches in repeats that were left out.

use assay_judge::compare::Terms;
use assay_judge::verdict::{Equivalence, RunComparison, Verdict};
use assay_record::run_folder::EveryRecord;

use crate::compare_runs::compare;
use crate::left_out::{LADDER, assert_undecided, fault};
use crate::synthetic::{Run, Scenario, Server};

/// Nine repeats without a promise, so that the totals decide.
fn nine(seed: u64) -> Run {
    let mut run = Scenario { repeats: 9, seconds: 5.0, seed, ..Scenario::new(&LADDER) }.run();
    run.trial().promises.clear();
    run
}

/// Multiplies the bytes of some repeats.
fn scale(run: &mut Run, repeats: impl Iterator<Item = usize>, times: f64) {
    for repeat in repeats {
        for table in run.samples[0][repeat].iter_mut().filter(|table| table.source == "io") {
            for column in &mut table.columns {
                let values = column.values.iter_mut().flatten();
                values.for_each(|value| *value = (*value as f64 * times) as u64);
            }
        }
        for workload in &mut run.trial().repeats[repeat].workloads {
            for metric in ["read_bytes", "read_iops"] {
                *workload.metrics.get_mut(metric).unwrap() *= times;
            }
        }
    }
}

fn baseline() -> Terms {
    Terms { baseline: true, ..Terms::default() }
}

fn assert_open(found: &RunComparison, said: &str) {
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert!(found.reason.contains(said), "no {said} in {}", found.reason);
}

#[test]
fn a_side_that_lost_repeats_is_never_equal() {
    let whole = nine(1);
    let found = compare(&whole, &nine(2), &Terms::default());
    assert_eq!(found.verdict, Equivalence::Equal, "{}", found.reason);
    let mut failed = nine(2);
    failed.trial().repeats[8].fault = fault("workload");
    let mut early = nine(2);
    early.trial().planned_repeats = Some(10);
    early.manifest.ended_early = Some("interrupted by SIGTERM".to_owned());
    for (lost, said) in [(&failed, "repeat 9: it was ended"), (&early, "9 of 10 planned repeats")] {
        for terms in [Terms::default(), baseline()] {
            let missing = |side| format!("the missing part of {side} may have differed: {said}");
            assert_open(&compare(&whole, lost, &terms), &missing("B"));
            assert_open(&compare(lost, &whole, &terms), &missing("A"));
        }
    }
}

#[test]
fn an_incomplete_side_may_be_worse_and_is_never_better() {
    for (times, of_all, of_some) in [
        (1.3, Equivalence::Better, Equivalence::Undecided),
        (0.7, Equivalence::Worse, Equivalence::Worse),
    ] {
        let mut run = nine(2);
        scale(&mut run, 0..9, times);
        assert_eq!(compare(&nine(1), &run, &baseline()).verdict, of_all);
        run.trial().repeats[8].fault = fault("workload");
        let found = compare(&nine(1), &run, &baseline());
        assert_eq!(found.verdict, of_some, "{}", found.reason);
        let found = compare(&nine(1), &run, &Terms::default());
        assert_eq!(found.verdict, Equivalence::Different, "{}", found.reason);
    }
}

#[test]
fn a_different_left_out_repeat_forbids_equality() {
    let mut run = nine(2);
    run.trial().repeats[2].fault = fault("interrupted");
    let found = compare(&nine(1), &run, &Terms::default());
    assert_eq!(found.verdict, Equivalence::Equal, "{}", found.reason);
    let said = "8 of 9 started repeats count; repeat 3 left out (interrupted: it was ended)";
    assert!(found.notes.iter().any(|note| note.contains(said)), "{:?}", found.notes);
    scale(&mut run, 2..3, 0.5);
    for terms in [Terms::default(), baseline()] {
        let found = compare(&nine(1), &run, &terms);
        assert_open(&found, "repeat 3 of B, which is left out, has 0.");
        assert_open(&compare(&run, &nine(1), &terms), "repeat 3 of A, which is left out, has 0.");
    }
}

#[test]
fn a_repeat_without_the_number_forbids_equality() {
    let mut run = nine(2);
    run.trial().repeats[1].workloads[0].metrics.remove("read_iops");
    let terms = Terms { measures: vec!["reader.read_iops".to_owned()], ..Terms::default() };
    let found = compare(&nine(1), &nine(2), &terms);
    assert_eq!(found.verdict, Equivalence::Equal, "{}", found.reason);
    assert_open(&compare(&nine(1), &run, &terms), "may have differed: repeat 2: ");
}

/// 19 repeats that keep the promise, except that in the last, which the user ended, the third
/// group had 1.5 times its share for a second.
fn last_is_bad(scenario: &Scenario, rate: fn(f64, usize) -> f64) -> Run {
    let of = |server| Scenario { server, repeats: 19, seconds: 10.0, ..scenario.clone() }.run();
    let mut run = of(Server::Noise { deviation: 0.02, correlation: 0.0 });
    run.trial().repeats[18].fault = fault("interrupted");
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    run.samples[0][18] = of(Server::Scripted { rate, deviation: 0.02 }).samples[0][4].clone();
    run
}

#[test]
fn spans_of_a_left_out_repeat_count() {
    let mut scenario = Scenario::new(&LADDER);
    scenario.promise.every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    let later = |time: f64, group: usize| {
        if (5.0..6.0).contains(&time) && group == 2 { 1.5 } else { 1.0 }
    };
    let said = "repeat 19, which is left out, was broken: `task";
    assert_undecided(&last_is_bad(&scenario, later).promise(), said);
}

/// Found by fuzzing: a folder of samples named by the largest number there is.
#[test]
fn samples_of_the_largest_round_are_judged_without_overflow() {
    let mut run = nine(7);
    let samples = format!("samples/trial-00-repeat-{}", u64::MAX);
    run.trial().repeats[0].samples = samples;
    assert_eq!(run.judge().trials.len(), 1);
}
