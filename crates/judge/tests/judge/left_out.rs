//! Repeats that are left out or missing, and runs that ended early: none of it supports a promise.

use assay_compare::Terms;
use assay_judge::{is_enough, look};
use assay_run_folder::{
    AcrossRecord, ComparisonRecord, EveryRecord, Fault, Levels, PairsRecord, RelationRecord,
    StopRecord,
};
use assay_verdict::{Equivalence, PromiseJudgement, Verdict};
use serde_json::json;

use crate::compare_runs::compare;
use crate::synthetic::{RELEASED_NS, Run, Scenario, Server, table};

pub(crate) const LADDER: [u32; 4] = [100, 200, 400, 800];

fn repeats(repeats: usize) -> Run {
    Scenario { repeats, ..Scenario::new(&LADDER) }.run()
}

/// Replaces one repeat by a collapse to equal shares.
fn collapse(run: &mut Run, repeat: usize) {
    let collapsed = Scenario::new(&LADDER).shares(&[0.25; 4]).run();
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
    let mut run = repeats(5);
    with_neighbours(&mut run, 1);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    collapse(&mut run, 1);
    with_neighbours(&mut run, 1);
    let promise = run.promise();
    assert_undecided(&promise, "repeat 2, which is left out, was broken: `task1` was off by 27");
    assert_eq!(promise.will_be, Some(Verdict::Kept), "of what counts");
    let rows = promise.groups.iter().map(|group| group.verdict);
    assert!(rows.clone().all(|row| row == Verdict::Undecided), "{:?}", rows.collect::<Vec<_>>());
}

#[test]
fn a_breach_in_an_interrupted_repeat_counts() {
    let mut run = repeats(3);
    collapse(&mut run, 2);
    run.trial().repeats[2].fault = fault("interrupted");
    assert_undecided(&run.promise(), "repeat 3, which is left out, was broken");
}

#[test]
fn a_breach_of_a_metric_in_a_left_out_repeat_counts() {
    let bound = RelationRecord::AtLeast(1000.0);
    let scenario = Scenario { repeats: 5, ..Scenario::new(&[100, 100]) };
    let mut run = scenario.promise("reader.read_iops", bound).run();
    // Nothing is promised of the disk; the hypervisor stops the machine for a while.
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    run.trial().repeats[4].fault = fault("interrupted");
    run.trial().repeats[4].workloads[0].metrics.insert("read_iops".to_owned(), 10.0);
    assert_undecided(&run.promise(), "repeat 5, which is left out, was broken");
}

#[test]
fn swapping_excuses_no_repeat() {
    let mut run = repeats(5);
    let columns = ["pswpin", "pswpout"];
    for (repeat, tables) in run.samples[0].iter_mut().enumerate() {
        let pages = if repeat == 0 { 1_000_000 } else { 1_000_000_000 };
        tables.push(table("vmstat", &["host"], &columns, 200, |_, ns| vec![ns / pages, 0]));
    }
    let trial = run.judge().trials.remove(0);
    assert_eq!((trial.verdict, trial.repeats), (Verdict::Void, 5));
    assert_eq!(trial.promises[0].causes[0].code, "C-SWAP");
}

#[test]
fn a_run_that_ended_early_keeps_nothing() {
    let mut run = repeats(3);
    run.trial().planned_repeats = Some(5);
    assert_eq!(run.promise().verdict, Verdict::Kept, "it ended by itself");
    run.manifest.ended_early = Some("interrupted by SIGINT".to_owned());
    assert_undecided(&run.promise(), "3 of 5 planned repeats took place (interrupted by SIGINT)");
    // Killed: nothing was recorded afterwards.
    (run.manifest.ended_early, run.manifest.restored) = (None, None);
    assert_undecided(&run.promise(), "(the run did not record its end)");
    let so_far = assay_judge::judge_so_far(&run.manifest, &run.samples);
    assert_eq!(so_far.verdict, Verdict::Kept, "repeats to come are not missing");
    run.trial().planned_repeats = Some(3);
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
    let mut run = repeats(3);
    let mut silent = run.manifest.trials[0].clone();
    silent.promises.clear();
    run.manifest.trials.push(silent);
    run.samples.push(run.samples[0].clone());
    let judgement = run.judge();
    assert_eq!((judgement.verdict, judgement.trials[1].verdict), (Verdict::Kept, Verdict::Void));
}

/// Two trials of four repeats with the same totals, and a promise of that.
fn across() -> Run {
    let mut run = repeats(4);
    let mut second = run.manifest.trials[0].clone();
    for (trial, level) in [(&mut run.manifest.trials[0], 1), (&mut second, 2)] {
        trial.factors = Levels::from([("x".to_owned(), json!(level))]);
    }
    run.manifest.trials.push(second);
    run.samples.push(run.samples[0].clone());
    let is = AcrossRecord::Equal { over: "x".to_owned(), pairs: PairsRecord::All, within: 0.05 };
    let measure = "io.bytes".to_owned();
    run.manifest.comparisons =
        vec![ComparisonRecord { measure, group: None, is, confidence: 0.95 }];
    run
}

#[test]
fn a_promise_across_incomplete_trials_is_not_kept() {
    let found = |run: &Run| run.judge().comparisons.remove(0);
    assert_eq!(found(&across()).verdict, Verdict::Kept, "{}", found(&across()).reason);
    let mut failed = across();
    failed.manifest.trials[1].repeats[3].fault = fault("workload");
    let mut early = across();
    early.manifest.ended_early = Some("interrupted by SIGTERM".to_owned());
    early.manifest.trials[0].planned_repeats = Some(5);
    for (run, said) in [
        (&failed, "the missing part under x = 2 may have differed: repeat 4: it was ended"),
        (&early, "under x = 1 may have differed: 4 of 5 planned repeats took place"),
    ] {
        let found = found(run);
        assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
        assert!(found.reason.contains(said), "{}", found.reason);
    }
    let mut slow = across();
    slow.manifest.trials[1].repeats[3].fault = fault("interrupted");
    for table in &mut slow.samples[1][3] {
        for column in table.columns.iter_mut().filter(|column| column.name == "read_bytes") {
            column.values.iter_mut().flatten().for_each(|bytes| *bytes /= 2);
        }
    }
    let found = found(&slow);
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    assert!(found.reason.contains("repeat 4, which is left out, has 0.5"), "{}", found.reason);
}

#[test]
fn one_repeat_per_side_decides_nothing_of_two_runs() {
    let one = |shares: &[f64], seed| {
        Scenario { alone: true, seed, ..Scenario::new(&LADDER).shares(shares) }.run()
    };
    let exact = Scenario::new(&LADDER).shares;
    let several = Scenario { repeats: 3, ..Scenario::new(&LADDER) }.run();
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

/// Ten repeats are planned for a trial that stops once precise.
fn looked_at(repeats: usize) -> Run {
    let mut run = self::repeats(repeats);
    run.trial().stop = StopRecord::Precise;
    run.trial().planned_repeats = Some(10);
    run
}

#[test]
fn a_trial_ends_by_repeats_that_count() {
    let enough = |run: &Run| is_enough(&run.manifest, 0, &run.samples[0]);
    assert!(enough(&looked_at(3)) && !enough(&looked_at(2)));
    let mut failed = looked_at(3);
    failed.trial().repeats[0].fault = fault("workload");
    assert!(!enough(&failed), "two count");
    let mut spoilt = looked_at(3);
    with_neighbours(&mut spoilt, 1);
    assert!(!enough(&spoilt), "two count");
}

#[test]
fn the_fact_of_looks_gives_the_remaining_error() {
    let trial = looked_at(5).judge().trials.remove(0);
    let fact = trial.facts.iter().find(|fact| fact.fact == "looks").unwrap();
    // With ten repeats there are eight looks.
    assert!(fact.evidence.contains("intervals may spend 12.5 % of the error"), "{}", fact.evidence);
}

#[test]
fn a_trial_without_looks_keeps_the_whole_error() {
    let mut run = looked_at(3);
    run.trial().planned_repeats = Some(3);
    let trial = run.judge().trials.remove(0);
    let fact = trial.facts.iter().find(|fact| fact.fact == "looks").unwrap();
    assert!(!fact.evidence.contains("may spend"), "{}", fact.evidence);
}

#[test]
fn a_promise_of_spans_needs_the_whole_window() {
    let mut run = looked_at(3);
    run.trial().promises[0].every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    assert!(!is_enough(&run.manifest, 0, &run.samples[0]));
}

#[test]
fn data_after_a_look_does_not_change_its_resolution() {
    // Read every 100 ms for ten seconds, then once a second, which are most of the readings.
    let mut run = Scenario { seconds: 160.0, alone: true, ..Scenario::new(&LADDER) }.run();
    for second in 10..160 {
        run.silence(0, f64::from(second) + 0.05, f64::from(second) + 0.95);
    }
    let until_s = 9.0;
    let mut early = run.clone();
    early.repeat().stopped_ns = RELEASED_NS + (until_s * 1e9) as u64;
    early.silence(0, until_s + 0.05, 200.0);
    let seen = look(&early.manifest, 0, &early.manifest.trials[0].repeats[0], &early.samples[0][0]);
    let later = look(&run.manifest, 0, &run.manifest.trials[0].repeats[0], &run.samples[0][0]);
    assert!(later.until_ns > seen.until_ns, "the run went on");
    run.repeat().looks.get_or_insert_default().judged_until_ns = Some(seen.until_ns);
    let (a, b) = (seen.promises[0].worst_error.unwrap(), run.promise().worst_error.unwrap());
    assert!((a.high - b.high).abs() < 1e-12 && (a.value - b.value).abs() < 1e-12, "{a:?} {b:?}");
}

#[test]
fn gaps_at_either_end_of_the_window_count() {
    for (from_s, to_s) in [(-1.0, 3.0), (15.0, 30.0)] {
        let mut run = repeats(1);
        run.silence(0, from_s, to_s);
        let promise = run.promise();
        assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
        assert!(promise.reason.contains("the sampler was silent for up to"), "{}", promise.reason);
    }
}

/// The third group has 1.5 times its share for 3 of 40 s.
fn bad_for_a_while(time: f64, group: usize) -> f64 {
    if (20.0..23.0).contains(&time) && group == 2 { 1.5 } else { 1.0 }
}

#[test]
fn a_breaking_state_is_kept_only_where_every_repeat_had_both() {
    let server = Server::Scripted { rate: bad_for_a_while, deviation: 0.02 };
    let scenario = |repeats, alone| {
        Scenario { server, repeats, alone, seconds: 40.0, ..Scenario::new(&LADDER) }.run()
    };
    let two = scenario(2, true).promise();
    assert_undecided(&two, "2 of 2 repeats were in both");
    assert_eq!(two.will_be, Some(Verdict::Undecided));
    let three = scenario(3, true).promise();
    assert_eq!(three.was.unwrap().states.unwrap().repeats, 3);
    assert_eq!(three.verdict, Verdict::Kept, "{}", three.reason);
    // One of four never had it.
    let mut some = scenario(4, true);
    let steady = Server::Noise { deviation: 0.02, correlation: 0.0 };
    let other = Scenario { server: steady, seconds: 40.0, ..Scenario::new(&LADDER) }.run();
    some.samples[0][3] = other.samples[0][0].clone();
    some.trial().repeats[3].workloads = other.manifest.trials[0].repeats[0].workloads.clone();
    assert_undecided(&some.promise(), "3 of 4 repeats were in both");
}
