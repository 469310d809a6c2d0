//! Promises about workload metrics in one trial.

use assay_run_folder::{EveryRecord, RelationRecord};
use assay_verdict::{PromiseJudgement, Verdict};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::synthetic::{Run, Scenario};

/// Groups whose readers report these numbers, `values[group][repeat]`.
pub(crate) fn run(relation: RelationRecord, values: &[Vec<f64>]) -> Run {
    let weights = vec![100; values.len()];
    let mut scenario = Scenario::new(&weights).promise("reader.read_iops", relation);
    scenario.repeats = values[0].len();
    scenario.alone = true;
    let mut run = scenario.run();
    set(&mut run, values);
    run
}

fn set(run: &mut Run, values: &[Vec<f64>]) {
    for (index, repeat) in run.trial().repeats.iter_mut().enumerate() {
        for (result, values) in repeat.workloads.iter_mut().zip(values) {
            result.metrics.insert("read_iops".to_owned(), values[index]);
        }
    }
}

fn promise(relation: RelationRecord, values: &[Vec<f64>]) -> PromiseJudgement {
    run(relation, values).promise()
}

#[test]
fn a_lower_bound_is_compared_with_the_interval_over_repeats() {
    let values = [vec![1000.0, 1010.0, 990.0], vec![1200.0, 1190.0, 1210.0]];
    let found = promise(RelationRecord::AtLeast(1000.0), &values);
    assert_eq!(found.verdict, Verdict::Kept, "{}", found.reason);
    let group = &found.groups[0];
    assert!((group.share / 999.97 - 1.0).abs() < 1e-4, "{group:?}");
    // t(2) = 4.303, s = 1 %, three repeats: 2.5 %.
    assert!((group.high / group.share - 1.0252).abs() < 2e-4, "{group:?}");
    // Broken needs t(2) at 99.5 % = 14.1, for both groups at once and with a fifth of the error: 8.5 %.
    assert_eq!(promise(RelationRecord::AtLeast(1200.0), &values).verdict, Verdict::Undecided);
    let broken = promise(RelationRecord::AtLeast(1250.0), &values);
    assert_eq!(broken.verdict, Verdict::Broken, "{}", broken.reason);
    assert!(broken.reason.contains("`task1`"), "{}", broken.reason);
    assert_eq!(promise(RelationRecord::AtMost(1250.0), &values).verdict, Verdict::Kept);
    assert_eq!(promise(RelationRecord::AtMost(1000.0), &values).verdict, Verdict::Broken);
}

#[test]
fn an_undecided_metric_says_how_many_repeats_would_decide() {
    let found = promise(RelationRecord::AtLeast(1000.0), &[vec![950.0, 1050.0, 890.0]]);
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    assert!(found.needs_repeats.is_some_and(|needs| (4..100).contains(&needs)), "{found:?}");
    assert_eq!(found.needs_s, None);
}

#[test]
fn one_repeat_decides_nothing_and_has_no_upper_bound() {
    let found = promise(RelationRecord::AtLeast(1000.0), &[vec![5000.0]]);
    assert_eq!(found.verdict, Verdict::Undecided);
    assert!(found.reason.contains("`repeats` to 3 or more"), "{}", found.reason);
    let text = serde_json::to_string(&found).unwrap();
    assert!(text.contains("\"high\":null"), "{text}");
    assert_eq!(serde_json::from_str::<PromiseJudgement>(&text).unwrap(), found);
}

#[test]
fn two_identical_repeats_decide_nothing() {
    let found = promise(RelationRecord::AtLeast(1000.0), &[vec![5000.0; 2]]);
    assert_eq!(found.verdict, Verdict::Undecided);
    assert!(found.reason.contains("two identical repeats"), "{}", found.reason);
    assert_eq!(promise(RelationRecord::AtLeast(1000.0), &[vec![5000.0; 3]]).verdict, Verdict::Kept);
}

#[test]
fn three_equal_latencies_have_the_width_of_a_bucket() {
    let of = |measure: &str, within: f64| {
        let mut run = run(RelationRecord::AtMost(15.2e6), &[vec![15.2e6; 3]]);
        run.trial().promises[0].measure = format!("reader.{measure}");
        run.trial().promises[0].within = within;
        for repeat in &mut run.trial().repeats {
            repeat.workloads[0].metrics.insert(measure.to_owned(), 15.2e6);
        }
        run.promise().verdict
    };
    assert_eq!(of("read_p99_ns", 0.01), Verdict::Undecided);
    assert_eq!(of("read_p99_ns", 0.02), Verdict::Kept);
    assert_eq!(of("bytes_read", 0.01), Verdict::Kept, "a count is exact");
}

#[test]
fn three_equal_counts_are_known_to_one_unit() {
    let of = |measure: &str, value: f64| {
        let mut run = run(RelationRecord::AtLeast(value), &[vec![value; 3]]);
        run.trial().promises[0].measure = format!("reader.{measure}");
        for repeat in &mut run.trial().repeats {
            repeat.workloads[0].metrics.insert(measure.to_owned(), value);
        }
        run.promise()
    };
    let few = of("requests", 3.0);
    assert_eq!(few.verdict, Verdict::Undecided, "{}", few.reason);
    let group = &few.groups[0];
    assert!((group.low - 3.0 / (4.0 / 3.0)).abs() < 1e-9 && (group.high - 4.0).abs() < 1e-9);
    assert_eq!(of("requests", 300.0).verdict, Verdict::Kept);
    // What a program saw of the machine is no count of events.
    assert_eq!(of("nodes_seen", 2.0).verdict, Verdict::Kept);
    assert_eq!(of("seconds", 2.5).verdict, Verdict::Kept);
}

#[test]
fn spans_of_a_metric_void() {
    let mut run = run(RelationRecord::AtLeast(900.0), &[vec![1000.0, 1010.0, 990.0]]);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    run.trial().promises[0].every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    let found = run.promise();
    assert_eq!((found.verdict, found.will_be), (Verdict::Void, None), "{}", found.reason);
    assert!(found.reason.contains("one number a repeat"), "{}", found.reason);
}

#[test]
fn equal_is_about_groups_in_the_same_repeat() {
    // Each repeat is twice as fast as the one before; the groups stay together.
    let together = [vec![100.0, 200.0, 400.0], vec![101.0, 202.0, 401.0]];
    let found = promise(RelationRecord::Equal, &together);
    assert_eq!(found.verdict, Verdict::Kept, "{}", found.reason);
    let apart = [vec![100.0, 200.0, 400.0], vec![150.0, 301.0, 602.0]];
    let found = promise(RelationRecord::Equal, &apart);
    assert_eq!(found.verdict, Verdict::Broken, "{}", found.reason);
    let alone = promise(RelationRecord::Equal, &[vec![100.0, 101.0]]);
    assert_eq!(alone.verdict, Verdict::Void, "{}", alone.reason);
}

#[test]
fn an_unknown_metric_is_void_and_lists_the_known_ones() {
    let mut run = run(RelationRecord::AtLeast(1.0), &[vec![1.0, 1.0]]);
    run.trial().promises[0].measure = "reader.teps".to_owned();
    let found = run.promise();
    assert_eq!(found.verdict, Verdict::Void);
    assert!(found.reason.contains("no metric `teps`; it gave `read_bytes`"), "{}", found.reason);
    run.trial().promises[0].measure = "bfs.teps".to_owned();
    let found = run.promise();
    assert!(found.reason.contains("no group of this trial runs `bfs`"), "{}", found.reason);
}

#[test]
fn a_repeat_without_the_number_is_left_out_and_forbids_kept() {
    let mut run = run(RelationRecord::AtLeast(900.0), &[vec![1000.0, 1.0, 1001.0, 999.0]]);
    run.trial().repeats[1].workloads[0].metrics.remove("read_iops");
    let found = run.promise();
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    assert!(found.reason.contains("left out: repeat 2"), "{}", found.reason);
    assert!(found.reason.contains("over 3 repeats"), "{}", found.reason);
}

#[test]
fn zeros_within_an_upper_bound_are_not_ignored() {
    let late = vec![0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 6.0, 7.0];
    let found = promise(RelationRecord::AtMost(3.0), std::slice::from_ref(&late));
    assert_eq!(found.verdict, Verdict::Undecided, "{}", found.reason);
    assert_eq!(found.groups[0].verdict, Verdict::Undecided);
    assert!(found.reason.contains("is 2.375 (0 to 5.127 with"), "{}", found.reason);
    // Below a lower bound they are one more breach.
    let found = promise(RelationRecord::AtLeast(100.0), &[late]);
    assert_eq!(found.verdict, Verdict::Broken, "{}", found.reason);
}

#[test]
fn zeros_in_every_repeat_are_an_observation() {
    let of = |relation, repeats: usize| {
        promise(relation, &[vec![0.0; repeats], vec![2000.0, 2010.0, 1990.0][..repeats].to_vec()])
    };
    let found = of(RelationRecord::AtLeast(1000.0), 3);
    assert_eq!(found.verdict, Verdict::Broken, "{}", found.reason);
    let words: Vec<Verdict> = found.groups.iter().map(|group| group.verdict).collect();
    assert_eq!(words, [Verdict::Broken, Verdict::Kept]);
    // None in three repeats: the rule of three.
    assert_eq!((found.groups[0].share, found.groups[0].low), (0.0, 0.0));
    assert!((found.groups[0].high - 3.689 / 3.0).abs() < 0.01, "{:?}", found.groups[0]);
    assert!(found.reason.contains("`task1` is 0 (0 to 1.2"), "{}", found.reason);
    // Two may be equal by chance, and where one was promised three show nothing.
    assert_eq!(of(RelationRecord::AtLeast(1000.0), 2).verdict, Verdict::Undecided);
    let none = |relation| promise(relation, &[vec![0.0; 3]]).verdict;
    assert_eq!(none(RelationRecord::AtLeast(1.0)), Verdict::Undecided);
    // Within an upper bound they are no breach.
    assert_eq!(none(RelationRecord::AtMost(5.0)), Verdict::Kept);
    assert_eq!(none(RelationRecord::AtMost(0.5)), Verdict::Undecided);
    let equal = promise(RelationRecord::Equal, &[vec![0.0; 3], vec![2000.0; 3]]);
    assert_eq!(equal.verdict, Verdict::Void, "{}", equal.reason);
}

#[test]
fn some_zeros_break_a_lower_bound_and_never_keep_it() {
    let of = |values: &[f64]| promise(RelationRecord::AtLeast(1000.0), &[values.to_vec()]);
    let mut mostly = vec![0.0; 9];
    mostly.push(2000.0);
    assert_eq!(of(&mostly).verdict, Verdict::Broken, "{}", of(&mostly).reason);
    // The others are below by themselves.
    assert_eq!(of(&[500.0, 0.0, 501.0, 499.0]).verdict, Verdict::Broken);
    let mut rarely = vec![9000.0; 40];
    rarely.push(0.0);
    assert_eq!(of(&rarely).verdict, Verdict::Undecided, "{}", of(&rarely).reason);
}

#[test]
fn a_zero_in_a_repeat_that_is_left_out_is_a_breach() {
    let left_out = |relation: RelationRecord, last: f64| {
        let mut run = run(relation, &[vec![110.0, 111.0, 110.0, last]]);
        run.trial().repeats[3].fault = crate::left_out::fault("interrupted");
        run.promise()
    };
    let found = left_out(RelationRecord::AtLeast(100.0), 0.0);
    crate::left_out::assert_undecided(&found, "repeat 4, which is left out, was broken");
    assert_eq!(found.groups[0].verdict, Verdict::Undecided, "the repeat concerns its groups");
    let within = left_out(RelationRecord::AtMost(120.0), 0.0);
    assert_eq!(within.verdict, Verdict::Kept, "{}", within.reason);
}

#[test]
fn latencies_are_metrics_too() {
    let mut run = run(RelationRecord::AtMost(9e6), &[vec![1.0; 3]]);
    run.trial().promises[0].measure = "reader.read_p99_ns".to_owned();
    for (index, repeat) in run.trial().repeats.iter_mut().enumerate() {
        let latency = repeat.workloads[0].latency.get_mut("read").unwrap();
        latency.percentiles_ns.insert("99".to_owned(), 5e6 + index as f64 * 1e4);
    }
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
}

#[test]
fn a_short_window_voids_samples_and_not_workload_metrics() {
    let mut run = run(RelationRecord::AtLeast(900.0), &[vec![1000.0; 3]]);
    for repeat in &mut run.trial().repeats {
        repeat.stopped_ns = repeat.all_released_ns + 1_000_000_000;
    }
    let judged = run.judge();
    let window = judged.trials[0].validity.iter().find(|check| check.check == "window").unwrap();
    assert!(!window.ok);
    assert_eq!(judged.trials[0].promises[0].verdict, Verdict::Kept);
}

#[test]
fn intervals_over_repeats_have_their_nominal_coverage() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let (runs, mut covered, mut wrong) = (1500, 0, 0);
    // The truth lies on the edge of the margin: neither verdict may be frequent.
    let mut world = run(RelationRecord::AtLeast(1000.0 / 0.9), &[vec![1.0; 4]]);
    for _ in 0..runs {
        let mut value = || {
            let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            1000.0 * (0.08 * normal).exp()
        };
        set(&mut world, &[vec![value(), value(), value(), value()]]);
        let found = world.promise();
        let group = &found.groups[0];
        covered += usize::from(group.low <= 1000.0 && 1000.0 <= group.high);
        wrong += usize::from(found.verdict != Verdict::Undecided);
    }
    let part = covered as f64 / runs as f64;
    assert!((0.93..=0.97).contains(&part), "{part}");
    assert!((wrong as f64 / runs as f64) < 0.07, "{wrong} of {runs}");
}
