//! Repeats that are left out or missing, and runs that ended early: none of it supports a promise.

use assay_judge::compare::Terms;
use assay_judge::is_enough;
use assay_judge::verdict::{Equivalence, PromiseJudgement, Verdict};
use assay_record::run_folder::{
    AcrossRecord, ComparisonRecord, Fault, Levels, PairsRecord, RelationRecord, StopRecord,
};
use serde_json::json;

use crate::compare_runs::compare;
use crate::synthetic::{Run, Scenario, table};

pub(crate) const LADDER: [u32; 4] = [100, 200, 400, 800];

fn repeats(repeats: usize) -> Run {
    Scenario { repeats, seconds: 5.0, ..Scenario::new(&LADDER) }.run()
}

/// Replaces one repeat by a collapse to equal shares.
fn collapse(run: &mut Run, repeat: usize) {
    let collapsed = Scenario { seconds: 5.0, ..Scenario::new(&LADDER) }.shares(&[0.25; 4]).run();
    run.samples[0][repeat] = collapsed.samples[0][0].clone();
    run.trial().repeats[repeat].workloads =
        collapsed.manifest.trials[0].repeats[0].workloads.clone();
}

/// In one repeat others use the disk as much as the groups.
fn with_neighbours(run: &mut Run, repeat: usize) {
    let mut tables = run.samples[0][repeat].iter_mut();
    let disk = tables.find(|table| table.source == "disk").unwrap();
    let sectors = disk.columns.iter_mut().find(|column| column.name == "read_sectors").unwrap();
    sectors.values.iter_mut().flatten().for_each(|sectors| *sectors *= 2);
}

pub(crate) fn fault(kind: &str) -> Option<Fault> {
    Some(Fault { kind: kind.to_owned(), message: "it was ended".to_owned() })
}

pub(crate) fn assert_undecided(promise: &PromiseJudgement, said: &str) {
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    assert!(promise.reason.contains(said), "no {said} in {}", promise.reason);
}

#[test]
fn a_disturbed_repeat_supports_nothing_but_its_breach_counts() {
    let mut run = repeats(9);
    with_neighbours(&mut run, 1);
    let trial = run.judge().trials.remove(0);
    assert_eq!(trial.verdict, Verdict::Kept, "{}", trial.promises[0].reason);
    assert_eq!((trial.repeats, trial.rounds[..2].to_vec()), (8, vec![1, 3]));
    let repeats = &trial.validity[0].evidence;
    assert!(repeats.contains("repeat 2 left out (`neighbours`: "), "{repeats}");
    collapse(&mut run, 1);
    with_neighbours(&mut run, 1);
    let promise = run.promise();
    assert_undecided(&promise, "with repeat 2, left out, it would be undecided");
    let rows = promise.groups.iter().map(|group| group.verdict);
    assert!(rows.clone().all(|row| row == Verdict::Undecided), "{:?}", rows.collect::<Vec<_>>());
}

#[test]
fn a_breach_in_an_interrupted_repeat_counts() {
    let mut run = repeats(9);
    collapse(&mut run, 2);
    run.trial().repeats[2].fault = fault("interrupted");
    assert_undecided(&run.promise(), "repeat 3, which is left out, was broken");
}

#[test]
fn a_breach_of_a_metric_in_a_left_out_repeat_counts() {
    let bound = RelationRecord::AtLeast(1000.0);
    let scenario = Scenario { repeats: 19, seconds: 5.0, ..Scenario::new(&[100, 100]) };
    let mut run = scenario.promise("reader.read_iops", bound).run();
    // Nothing is promised of the disk; the hypervisor stops the machine for a while.
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    run.trial().repeats[18].fault = fault("interrupted");
    run.trial().repeats[18].workloads[0].metrics.insert("read_iops".to_owned(), 10.0);
    assert_undecided(&run.promise(), "repeat 19, which is left out, was broken");
}

#[test]
fn a_repeat_in_which_a_check_failed_is_left_out_and_still_counts() {
    let columns = ["pswpin", "pswpout"];
    let swapped = |many: usize, mut run: Run| {
        for (repeat, tables) in run.samples[0].iter_mut().enumerate() {
            let pages = if repeat < many { 1_000_000 } else { 1_000_000_000 };
            tables.push(table("vmstat", &["host"], &columns, 200, |_, ns| vec![ns / pages, 0]));
        }
        run
    };
    let trial = swapped(1, repeats(9)).judge().trials.remove(0);
    assert_eq!((trial.verdict, trial.repeats), (Verdict::Kept, 8));
    let mut run = repeats(9);
    collapse(&mut run, 0);
    assert_undecided(&swapped(1, run).promise(), "with repeat 1, left out, it would be undecided");
    let trial = swapped(5, repeats(9)).judge().trials.remove(0);
    assert_eq!((trial.verdict, trial.repeats), (Verdict::Void, 9));
    assert_eq!(trial.promises[0].causes[0].code, "C-SWAP");
}

/// What makes a check fail may be what makes a group fail.
#[test]
fn repeats_without_a_number_support_nothing() {
    let mut run = repeats(13);
    run.samples[0][8..].iter_mut().for_each(Vec::clear);
    let said = "repeat 9, which is left out, has no number";
    let promise = run.promise();
    assert_undecided(&promise, said);
    assert_eq!(promise.was.unwrap().repeats, 13, "of another start nothing better is known");
    let mut run = repeats(13);
    let records = &mut run.trial().repeats[8..];
    records.iter_mut().for_each(|one| one.stopped_ns = one.all_released_ns + 700_000_000);
    assert_undecided(&run.promise(), said);
}

#[test]
fn another_start_is_no_better_than_those_that_were_left_out_and_outside() {
    let mut run = repeats(12);
    for repeat in 9..12 {
        collapse(&mut run, repeat);
        with_neighbours(&mut run, repeat);
    }
    let promise = run.promise();
    assert_undecided(&promise, "with repeats 10, 11, 12, left out, it would be undecided");
    let was = promise.was.unwrap();
    assert_eq!((was.repeats_kept, was.repeats), (9, 12));
}

#[test]
fn a_promise_is_broken_only_if_it_is_with_what_was_left_out() {
    let unfair = || {
        let scenario = Scenario { repeats: 17, seconds: 5.0, ..Scenario::new(&LADDER) };
        scenario.shares(&[0.4, 0.3, 0.2, 0.1]).run()
    };
    let mut run = unfair();
    with_neighbours(&mut run, 1);
    assert_eq!(run.promise().verdict, Verdict::Broken, "{}", run.promise().reason);
    let (mut run, fair) = (unfair(), repeats(1));
    for repeat in 9..17 {
        run.samples[0][repeat] = fair.samples[0][0].clone();
        run.trial().repeats[repeat].workloads =
            fair.manifest.trials[0].repeats[0].workloads.clone();
        with_neighbours(&mut run, repeat);
    }
    assert_undecided(&run.promise(), "left out, it would be undecided");
}

/// A check of the disk removes nothing from what is promised of a metric.
#[test]
fn a_check_that_does_not_concern_all_promises_leaves_nothing_out() {
    let bound = RelationRecord::AtLeast(1000.0);
    let scenario = Scenario { repeats: 9, seconds: 5.0, ..Scenario::new(&LADDER) };
    let mut run = scenario.run();
    let metric = Scenario::new(&LADDER).promise("reader.read_iops", bound).run();
    run.trial().promises.extend(metric.manifest.trials[0].promises.clone());
    with_neighbours(&mut run, 1);
    let trial = run.judge().trials.remove(0);
    assert_eq!((trial.repeats, trial.promises[0].verdict), (9, Verdict::Void));
    assert_eq!(trial.promises[1].was.as_ref().unwrap().repeats, 9);
}

#[test]
fn a_run_that_ended_early_keeps_nothing() {
    let mut run = repeats(8);
    run.trial().planned_repeats = Some(10);
    assert_eq!(run.promise().verdict, Verdict::Kept, "it ended by itself");
    run.manifest.ended_early = Some("interrupted by SIGINT".to_owned());
    assert_undecided(&run.promise(), "8 of 10 planned repeats took place (interrupted by SIGINT)");
    // Killed: nothing was recorded afterwards.
    (run.manifest.ended_early, run.manifest.restored) = (None, None);
    assert_undecided(&run.promise(), "(the run did not record its end)");
    let so_far = assay_judge::judge_so_far(&run.manifest, &run.samples, &assay_judge::NoCauses);
    assert_eq!(so_far.verdict, Verdict::Kept, "repeats to come are not missing");
    run.trial().planned_repeats = Some(8);
    assert_eq!(run.promise().verdict, Verdict::Kept, "nothing of it is missing");
}

#[test]
fn a_run_without_a_promise_shows_nothing() {
    let mut run = repeats(3);
    run.trial().promises.clear();
    let judgement = run.judge();
    assert_eq!((judgement.verdict, judgement.trials[0].verdict), (Verdict::Void, Verdict::Void));
    assert!(judgement.promises_nothing());
    // Such a trial does not affect the others either.
    let mut run = repeats(8);
    let mut silent = run.manifest.trials[0].clone();
    silent.promises.clear();
    run.manifest.trials.push(silent);
    run.samples.push(run.samples[0].clone());
    let judgement = run.judge();
    assert_eq!((judgement.verdict, judgement.trials[1].verdict), (Verdict::Kept, Verdict::Void));
}

/// Two trials of nine repeats with the same totals, and a promise of that.
fn across() -> Run {
    let mut run = repeats(9);
    let mut second = run.manifest.trials[0].clone();
    for (trial, level) in [(&mut run.manifest.trials[0], 1), (&mut second, 2)] {
        trial.factors = Levels::from([("x".to_owned(), json!(level))]);
    }
    run.manifest.trials.push(second);
    run.samples.push(run.samples[0].clone());
    let is = AcrossRecord::Equal { over: "x".to_owned(), pairs: PairsRecord::All, within: 0.05 };
    let measure = "io.bytes".to_owned();
    run.manifest.comparisons = vec![ComparisonRecord { measure, group: None, is }];
    run
}

#[test]
fn a_promise_across_incomplete_trials_is_not_kept() {
    let found = |run: &Run| run.judge().comparisons.remove(0);
    assert_eq!(found(&across()).verdict, Verdict::Kept, "{}", found(&across()).reason);
    let mut failed = across();
    failed.manifest.trials[1].repeats[8].fault = fault("workload");
    let mut early = across();
    early.manifest.ended_early = Some("interrupted by SIGTERM".to_owned());
    early.manifest.trials[0].planned_repeats = Some(10);
    for (run, said) in [
        (&failed, "the missing part under x = 2 may have differed: repeat 9: it was ended"),
        (&early, "under x = 1 may have differed: 9 of 10 planned repeats took place"),
    ] {
        let found = found(run);
        assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
        assert!(found.reason.contains(said), "{}", found.reason);
    }
    let mut slow = across();
    slow.manifest.trials[1].repeats[8].fault = fault("interrupted");
    for table in &mut slow.samples[1][8] {
        for column in table.columns.iter_mut().filter(|column| column.name == "read_bytes") {
            column.values.iter_mut().flatten().for_each(|bytes| *bytes /= 2);
        }
    }
    let found = found(&slow);
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    assert!(found.reason.contains("repeat 9, which is left out, has 0.5"), "{}", found.reason);
}

#[test]
fn one_repeat_per_side_decides_nothing_of_two_runs() {
    let one = |shares: &[f64], seed| {
        Scenario { alone: true, seed, ..Scenario::new(&LADDER).shares(shares) }.run()
    };
    let exact = Scenario::new(&LADDER).shares;
    let several = Scenario { repeats: 8, ..Scenario::new(&LADDER) }.run();
    for (a, b) in [
        (one(&[0.25; 4], 1), one(&[0.25; 4], 2)),
        (one(&exact, 1), one(&exact, 2)),
        (several.clone(), one(&[0.25; 4], 2)),
        (one(&[0.25; 4], 1), several),
    ] {
        let found = compare(&a, &b, &Terms { baseline: true, ..Terms::default() });
        assert_eq!(found.trials[0].promises[0].change, Equivalence::Undecided, "{}", found.reason);
        assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    }
}

/// 24 repeats are planned for a trial that ends once it is decided.
fn looked_at(repeats: usize) -> Run {
    let mut run = self::repeats(repeats);
    run.trial().stop = StopRecord::Decided;
    run.trial().planned_repeats = Some(24);
    run
}

#[test]
fn a_trial_ends_by_repeats_that_count() {
    let enough = |run: &Run| is_enough(&run.manifest, 0, &run.samples);
    assert!(enough(&looked_at(8)) && !enough(&looked_at(7)) && !enough(&looked_at(9)));
    assert!(!enough(&repeats(8)), "it is to take all its repeats");
    let mut failed = looked_at(8);
    failed.trial().repeats[0].fault = fault("workload");
    assert!(!enough(&failed), "seven count");
    let mut spoilt = looked_at(8);
    with_neighbours(&mut spoilt, 1);
    assert!(!enough(&spoilt), "seven count");
    let mut open = Scenario { between: 0.1, repeats: 8, ..Scenario::new(&LADDER) }.run();
    open.trial().stop = StopRecord::Decided;
    assert!(!enough(&open), "{}", open.promise().reason);
}

#[test]
fn gaps_at_either_end_of_the_window_count() {
    for (from_s, to_s) in [(-1.0, 3.0), (3.0, 30.0)] {
        let mut run = repeats(1);
        run.silence(0, from_s, to_s);
        let promise = run.promise();
        assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
        assert!(promise.reason.contains("the sampler was silent for up to"), "{}", promise.reason);
    }
}

#[test]
fn a_reading_or_two_may_be_lost_of_a_short_start() {
    let start = || Scenario { seconds: 3.0, repeats: 8, ..Scenario::new(&LADDER) }.run();
    let silent = |seconds| {
        let mut run = start();
        run.silence(3, 1.0, 1.0 + seconds);
        run.promise().verdict
    };
    assert_eq!((silent(0.35), silent(0.75)), (Verdict::Kept, Verdict::Undecided), "seven are left");
}
