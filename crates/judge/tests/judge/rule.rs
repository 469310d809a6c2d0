//! The rule of verdicts on made-up runs, and the sentences that it makes.

use assay_judge::verdict::{PromiseJudgement, Verdict};
use assay_record::run_folder::RelationRecord;

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];

fn short(repeats: usize, between: f64, seed: u64) -> Scenario {
    Scenario { repeats, between, seed, seconds: 2.5, ..Scenario::new(&LADDER) }
}

/// A share of the first group that is so many times what it was promised.
fn times(scenario: &Scenario, times: f64) -> Scenario {
    let mut shares = scenario.shares.clone();
    let rest = (1.0 - shares[0] * times) / (1.0 - shares[0]);
    shares[1..].iter_mut().for_each(|share| *share *= rest);
    shares[0] *= times;
    scenario.clone().shares(&shares)
}

#[test]
fn exact_shares_of_short_starts_are_kept_and_others_broken() {
    let mut decided = [0, 0];
    for seed in 0..20 {
        let scenario = short(10, 0.02, seed);
        let exact = scenario.run().promise().verdict;
        let off = times(&scenario, 1.25).run().promise().verdict;
        assert_ne!((exact, off), (Verdict::Broken, Verdict::Kept));
        decided[0] += usize::from(exact == Verdict::Kept);
        decided[1] += usize::from(off == Verdict::Broken);
    }
    assert!(decided[0] >= 19 && decided[1] >= 19, "{decided:?}");
}

#[test]
fn every_verdict_names_the_starts_that_were_inside() {
    let kept = short(8, 0.0, 1).run().promise();
    let said = "8 of 8 starts were inside, chance of another: at least 68 %";
    assert!(kept.verdict == Verdict::Kept && kept.reason.ends_with(said), "{}", kept.reason);
    let was = kept.was.unwrap();
    assert!((was.another_at_least.unwrap() - 0.05_f64.powf(1.0 / 8.0)).abs() < 1e-9);
    let broken = times(&short(8, 0.0, 1), 1.5).run().promise();
    assert_eq!(broken.verdict, Verdict::Broken, "{}", broken.reason);
    assert!(broken.reason.contains("0 of 8 starts were inside"), "{}", broken.reason);
}

/// Real starts are exact, or far off: no bound on a mean is the answer to that.
#[test]
fn starts_that_are_all_or_nothing_are_undecided_with_their_fraction() {
    let mut run = short(24, 0.005, 3).run();
    let bad = times(&short(24, 0.005, 4), 1.5).run();
    for repeat in [2, 9, 15, 20, 23] {
        run.samples[0][repeat] = bad.samples[0][repeat].clone();
        run.trial().repeats[repeat] = bad.manifest.trials[0].repeats[repeat].clone();
    }
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    let said = "19 of 24 starts were inside, chance of another: at least 61 %";
    assert!(promise.reason.contains(said), "{}", promise.reason);
}

/// Starts of one group with these numbers, at most 1000 promised.
fn metric(numbers: &[f64]) -> PromiseJudgement {
    let scenario =
        short(numbers.len(), 0.0, 5).promise("reader.read_iops", RelationRecord::AtMost(1000.0));
    let mut run: Run = Scenario { alone: true, ..scenario }.run();
    for (repeat, number) in run.trial().repeats.iter_mut().zip(numbers) {
        for workload in &mut repeat.workloads {
            workload.metrics.insert("read_iops".to_owned(), *number);
        }
    }
    run.promise()
}

/// The mean of percentiles is that of nothing: what counts is how many starts were inside.
#[test]
fn a_metric_is_judged_by_the_fraction_of_starts_inside() {
    let kept = metric(&[900.0; 18]);
    assert_eq!(kept.verdict, Verdict::Kept, "{}", kept.reason);
    assert!(kept.reason.starts_with("18 of 18 starts were inside"), "{}", kept.reason);
    // Far below the bound in four of five starts, and five times it in the fifth.
    let mut some = [500.0; 24];
    some.iter_mut().step_by(5).for_each(|number| *number = 5000.0);
    assert_eq!(metric(&some).verdict, Verdict::Undecided);
    assert_eq!(metric(&[2000.0; 8]).verdict, Verdict::Broken);
    assert_eq!(metric(&[2000.0; 7]).verdict, Verdict::Undecided);
    assert_eq!(metric(&[0.0; 18]).verdict, Verdict::Kept, "zero is a number");
}

#[test]
fn groups_are_equal_in_a_start_by_the_mean_of_all() {
    let scenario = short(18, 0.0, 5).promise("reader.read_mean_ns", RelationRecord::Equal);
    let run = scenario.shares(&[0.25; 4]).run();
    let mut one = run.clone();
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    for repeat in &mut one.trial().repeats {
        for latency in repeat.workloads[0].latency.values_mut() {
            latency.mean_ns *= 2.0;
        }
    }
    assert_eq!(one.promise().verdict, Verdict::Broken, "{}", one.promise().reason);
}
