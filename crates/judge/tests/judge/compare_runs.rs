//! Comparison of two runs.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_judge::compare::{Side, Terms, compare_levels, compare_runs};
use assay_judge::verdict::{Equivalence, MeasureComparison, RunComparison};
use assay_record::run_folder::{Recording, RelationRecord};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::synthetic::{Run, Scenario, Server, normal};

fn run(weights: &[u32], seed: u64, repeats: usize) -> Run {
    Scenario { seed, repeats, ..Scenario::new(weights) }.run()
}

pub(crate) fn compare(a: &Run, b: &Run, terms: &Terms) -> RunComparison {
    let a = Side { name: "a", manifest: &a.manifest, samples: &a.samples };
    let b = Side { name: "b", manifest: &b.manifest, samples: &b.samples };
    compare_runs(&a, &b, terms)
}

fn measure<'c>(found: &'c RunComparison, of: &str, group: Option<&str>) -> &'c MeasureComparison {
    let all = found.trials.iter().flat_map(|trial| &trial.measures);
    let mut all = all.filter(|one| one.measure == "io.bytes" && one.of == of);
    all.find(|one| one.group.as_deref() == group).unwrap()
}

const WEIGHTS: [u32; 4] = [100, 200, 400, 800];

#[test]
fn two_runs_of_the_same_are_equal_within_the_margin() {
    for repeats in [1, 8] {
        let (a, b) = (run(&WEIGHTS, 1, repeats), run(&WEIGHTS, 2, repeats));
        let found = compare(&a, &b, &Terms::default());
        if repeats == 1 {
            // However long it was: the scatter between runs is unknown.
            assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
            assert!(found.notes.iter().any(|note| note.contains("Fewer than 8 repeats")));
            continue;
        }
        assert_eq!(found.verdict, Equivalence::Equal, "{repeats}: {}", found.reason);
        let total = measure(&found, "rate", None);
        assert!((total.ratio.unwrap() - 1.0).abs() < 0.02, "{total:?}");
        assert_eq!((total.equivalent, total.verdict), (Some(true), Equivalence::Equal));
        let share = measure(&found, "share", Some("task4"));
        assert!(share.decides && share.low.unwrap() < 1.0 && share.high.unwrap() > 0.98);
        assert!(found.reason.contains("equal within 5 %"), "{}", found.reason);
        assert!(!found.notes.iter().any(|note| note.contains("Fewer than 8 repeats")));
    }
}

#[test]
fn other_weights_are_different_and_named() {
    let (a, b) = (run(&WEIGHTS, 1, 8), run(&[100, 100, 100, 100], 2, 8));
    let found = compare(&a, &b, &Terms::default());
    assert_eq!(found.verdict, Equivalence::Different, "{}", found.reason);
    let share = measure(&found, "share", Some("task1"));
    assert!((share.ratio.unwrap() - 3.75).abs() < 0.1, "{share:?}");
    assert_eq!((share.equivalent, share.differs), (Some(false), Some(true)));
    let weights = found.differences.iter().find(|one| one.what == "knob io.weight").unwrap();
    assert_eq!(
        (weights.a.as_str(), weights.b.as_str()),
        ("100, 200, 400, 800", "100, 100, 100, 100")
    );
    assert!(found.reason.contains("the margin is 5 %"), "{}", found.reason);
}

#[test]
fn a_group_that_got_nothing_is_different() {
    let starved = |shares: &[f64]| {
        let shares = Scenario::new(&WEIGHTS).shares(shares);
        Scenario { repeats: 8, seed: 2, ..shares }.run()
    };
    let one = [0.0, 2.0 / 15.0, 4.0 / 15.0, 9.0 / 15.0];
    for (shares, of, group, verdict) in [
        (one, "share", Some("task1"), Equivalence::Different),
        ([0.0; 4], "rate", None, Equivalence::Worse),
    ] {
        let found = compare(&run(&WEIGHTS, 1, 8), &starved(&shares), &Terms::default());
        assert_eq!(found.verdict, Equivalence::Different, "{}", found.reason);
        let of_it = measure(&found, of, group);
        assert_eq!((of_it.decides, of_it.verdict), (true, verdict), "{of_it:?}");
        assert!(of_it.ratio.is_some_and(|ratio| ratio < 0.05 && ratio > 0.0), "{of_it:?}");
        // What decides nothing is not compared with nothing.
        let beside = measure(&found, "rate", Some("task1"));
        assert_eq!(beside.verdict, Equivalence::NotComparable, "{beside:?}");
    }
}

#[test]
fn neither_equal_nor_different_is_undecided() {
    let noisy = |seed| {
        let server = Server::Noise { deviation: 0.6, correlation: 0.5 };
        Scenario { seed, server, repeats: 8, ..Scenario::new(&WEIGHTS) }.run()
    };
    let found = compare(&noisy(1), &noisy(2), &Terms { within: 0.02, ..Terms::default() });
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert!(found.reason.contains("is open"), "{}", found.reason);
    let open = found.trials[0].measures.iter().find(|one| one.verdict == Equivalence::Undecided);
    assert_eq!(open.unwrap().equivalent, None);
}

/// Multiplies the I/O of each repeat.
fn scale(run: &mut Run, mut factor: impl FnMut() -> f64) {
    let repeats = run.samples[0].iter_mut().zip(&mut run.manifest.trials[0].repeats);
    for (tables, repeat) in repeats {
        let factor = factor();
        let counted =
            tables.iter_mut().filter(|table| ["io", "disk"].contains(&table.source.as_str()));
        let columns = counted.flat_map(|table| &mut table.columns);
        for value in columns.flat_map(|column| column.values.iter_mut().flatten()) {
            *value = (*value as f64 * factor) as u64;
        }
        for workload in &mut repeat.workloads {
            for metric in ["read_bytes", "read_iops"] {
                *workload.metrics.get_mut(metric).unwrap() *= factor;
            }
        }
    }
}

/// Eight starts a side, of which each is off by 2 % at random. At the edge of the margin as often as not would be wrong.
#[test]
fn a_tenth_less_is_found_and_what_is_within_the_margin_is_not() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut called_worse = |truth: f64| {
        let mut side = |truth: f64, seed| {
            let server = Server::Noise { deviation: 0.005, correlation: 0.3 };
            let base = Scenario::new(&WEIGHTS[..2]);
            let quick = Scenario { seconds: 3.0, seed, server, repeats: 8, ..base };
            let mut run = quick.run();
            scale(&mut run, || truth * (0.02 * normal(&mut random)).exp());
            run
        };
        let terms = Terms { baseline: true, ..Terms::default() };
        let verdicts = (0..100)
            .map(|seed| compare(&side(1.0, seed), &side(truth, 1000 + seed), &terms).verdict);
        verdicts.filter(|verdict| *verdict == Equivalence::Worse).count()
    };
    let (slower, same, edge) = (called_worse(0.9), called_worse(1.0), called_worse(1.0 / 1.05));
    println!("of 100, called worse: {slower} a tenth slower, {same} the same, {edge} at the edge");
    assert!(slower >= 90 && same == 0 && edge <= 4, "{slower}, {same}, {edge}");
}

#[test]
fn against_a_baseline_only_worse_counts() {
    let scaled = |factor: f64, seed| {
        let mut run = run(&WEIGHTS, seed, 8);
        scale(&mut run, || factor);
        run
    };
    let baseline = Terms { baseline: true, ..Terms::default() };
    let verdict = |factor: f64, terms: &Terms| {
        compare(&run(&WEIGHTS, 1, 8), &scaled(factor, 2), terms).verdict
    };
    assert_eq!(verdict(1.3, &baseline), Equivalence::Better);
    assert_eq!(verdict(0.8, &baseline), Equivalence::Worse);
    assert_eq!(verdict(1.0, &baseline), Equivalence::Equal);
    let equal = compare(&run(&WEIGHTS, 1, 8), &scaled(1.0, 2), &baseline).reason;
    assert!(equal.contains("no deciding measure became worse"), "{equal}");
    assert_eq!(verdict(1.3, &Terms::default()), Equivalence::Different);
}

/// Of a share neither more nor less is better: that it surely changed does not pass.
#[test]
fn against_a_baseline_what_differs_without_a_better_direction_does_not_pass() {
    let moved = Scenario::new(&WEIGHTS).shares(&[1.0 / 15.0, 2.0 / 15.0, 4.6 / 15.0, 7.4 / 15.0]);
    let (mut a, mut b) = (run(&WEIGHTS, 1, 8), Scenario { repeats: 8, ..moved }.run());
    // Kept by both, so that only the numbers tell.
    for run in [&mut a, &mut b] {
        run.trial().promises[0].within = 0.3;
    }
    let found = compare(&a, &b, &Terms { baseline: true, ..Terms::default() });
    let share = measure(&found, "share", Some("task3"));
    assert_eq!((share.verdict, share.not_worse), (Equivalence::Different, false), "{share:?}");
    assert_eq!(found.verdict, Equivalence::Different, "{}", found.reason);
    assert!(found.reason.contains("the share of `io.bytes` of `task3`"), "{}", found.reason);
}

#[test]
fn a_kept_promise_that_breaks_is_worse() {
    let a = run(&WEIGHTS, 1, 8);
    let collapsed = Scenario::new(&WEIGHTS).shares(&[0.25, 0.25, 0.25, 0.25]);
    let b = Scenario { repeats: 8, ..collapsed }.run();
    let found = compare(&a, &b, &Terms { baseline: true, ..Terms::default() });
    assert_eq!(found.verdict, Equivalence::Worse, "{}", found.reason);
    assert!(found.reason.contains("kept in A and broken in B"), "{}", found.reason);
    assert_eq!(found.trials[0].promises[0].change, Equivalence::Worse);
}

#[test]
fn different_clock_settings_are_listed() {
    let with = |governor: &str, seed| {
        let mut run = run(&WEIGHTS, seed, 8);
        let settings = &mut run.manifest.host.settings;
        for (name, value) in [("cpu0/cpufreq/scaling_governor", governor), ("cpufreq/boost", "1")] {
            settings.insert(name.to_owned(), Available::Value(value.to_owned()));
        }
        run
    };
    let found = compare(&with("powersave", 1), &with("performance", 2), &Terms::default());
    let named: Vec<_> = found.differences.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(named, ["host's cpu0/cpufreq/scaling_governor"]);
    // An older record does not have the setting.
    let before = compare(&run(&WEIGHTS, 1, 8), &with("performance", 2), &Terms::default());
    assert!(before.differences.is_empty(), "{:?}", before.differences);
}

#[test]
fn a_refused_comparison_lists_the_differences() {
    let a = run(&WEIGHTS, 1, 1);
    let refused = |b: &Run, why: &str| {
        let found = compare(&a, b, &Terms::default());
        assert_eq!(found.verdict, Equivalence::NotComparable);
        assert!(found.reason.contains(why), "{}", found.reason);
        found
    };
    let mut other = run(&WEIGHTS, 2, 1);
    other.manifest.study = "cpu-weight".to_owned();
    other.manifest.study_text = "another".to_owned();
    other.manifest.host.kernel = "9.9".to_owned();
    let found = refused(&other, "different studies");
    assert!(found.reason.contains("kernel (") && found.reason.contains("9.9"), "{}", found.reason);
    assert_ne!(
        compare(&a, &other, &Terms { anyway: true, ..Terms::default() }).verdict,
        Equivalence::NotComparable
    );

    let mut recording = run(&WEIGHTS, 2, 1);
    recording.manifest.recording = Some(Recording {
        kind: "command".to_owned(),
        of: "true".to_owned(),
        pid: None,
        ended: None,
        log: None,
    });
    refused(&recording, "recording without a study");

    let mut crashed = run(&WEIGHTS, 2, 1);
    crashed.manifest.trials[0].repeats.clear();
    refused(&crashed, "b has no repeats");

    let mut longer = run(&WEIGHTS, 2, 1);
    longer.manifest.trials[0].at_most_s *= 10.0;
    refused(&longer, "a repeat runs 20 s in A and 200 s in B");

    let mut lost = run(&WEIGHTS, 2, 1);
    lost.samples = vec![vec![vec![]]];
    lost.manifest.trials[0].repeats[0].workloads.clear();
    refused(&lost, "in B: ");
}

#[test]
fn unmatched_levels_are_listed() {
    let with = |levels: &[u32], seed| {
        let mut run = run(&WEIGHTS, seed, 8);
        let trial = run.manifest.trials.remove(0);
        for level in levels {
            let mut trial = trial.clone();
            trial.factors = BTreeMap::from([("iodepth".to_owned(), json!(level))]);
            run.manifest.trials.push(trial);
        }
        run.samples = vec![run.samples[0].clone(); levels.len()];
        run
    };
    let found = compare(&with(&[1, 8], 1), &with(&[8, 64], 2), &Terms::default());
    assert_eq!(found.trials.len(), 1);
    assert_eq!(found.only_in_a[0]["iodepth"], 1);
    assert_eq!(found.only_in_b[0]["iodepth"], 64);
    let found = compare(&with(&[1, 8], 1), &with(&[16, 64], 2), &Terms::default());
    assert_eq!(found.verdict, Equivalence::NotComparable);
    assert!(found.reason.contains("no trials with the same levels"), "{}", found.reason);
    // A factor with one level each is what the runs differ by.
    let found = compare(&with(&[8], 1), &with(&[64], 2), &Terms::default());
    assert_eq!(found.verdict, Equivalence::Equal, "{}", found.reason);
    assert_eq!(
        (&found.trials[0].a_factors["iodepth"], &found.trials[0].b_factors["iodepth"]),
        (&json!(8), &json!(64))
    );
}

/// Two levels in one run whose host becomes slower from repeat to repeat, by much more than the
/// levels differ.
fn drifting() -> Run {
    let mut run = Scenario { repeats: 8, seed: 5, ..Scenario::new(&[1]) }
        .promise("reader.read_iops", RelationRecord::AtLeast(1.0))
        .run();
    let mut second = run.manifest.trials[0].clone();
    for (trial, level, faster) in [(&mut run.manifest.trials[0], 1, 1.0), (&mut second, 2, 1.2)] {
        trial.factors = BTreeMap::from([("x".to_owned(), json!(level))]);
        for (number, repeat) in trial.repeats.iter_mut().enumerate() {
            let noise = 1.0 + 0.004 * ((number * 7 + level) % 3) as f64;
            let value = 1000.0 * faster * noise * 0.5_f64.powi(number as i32);
            repeat.workloads[0].metrics.insert("read_iops".to_owned(), value);
        }
    }
    run.manifest.trials.push(second);
    run.samples = vec![run.samples[0].clone(); 2];
    run
}

#[test]
fn interleaved_levels_are_compared_in_pairs() {
    let run = drifting();
    let side = Side { name: "run", manifest: &run.manifest, samples: &run.samples };
    let found = compare_levels(&side, "x", &[], &Terms::default()).unwrap();
    assert!(found.paired);
    let all = found.trials.iter().flat_map(|trial| &trial.measures);
    let iops = all.clone().find(|one| one.measure == "reader.read_iops").unwrap();
    assert!((iops.ratio.unwrap() - 1.2).abs() < 0.01, "{iops:?}");
    assert_eq!((iops.verdict, found.verdict), (Equivalence::Better, Equivalence::Different));
    // Separately, neither side is known to a factor of two.
    assert!(iops.a.high.unwrap() / iops.a.low.unwrap() > 4.0, "{iops:?}");

    let error = |factor: &str, levels: &[&str]| {
        let levels: Vec<String> = levels.iter().map(|one| (*one).to_owned()).collect();
        compare_levels(&side, factor, &levels, &Terms::default()).unwrap_err()
    };
    assert!(error("y", &[]).contains("it has x"));
    assert!(error("x", &["1", "3"]).contains("no trial has x = 3; its levels are 1, 2"));
    assert!(error("x", &["1", "1"]).contains("with itself"));
    assert!(error("x", &["1"]).contains("name the two"));
}

#[test]
fn a_selected_measure_decides_and_a_missing_one_is_reported() {
    let (a, b) = (run(&WEIGHTS, 1, 8), run(&WEIGHTS, 2, 8));
    let terms = |name: &str| Terms { measures: vec![name.to_owned()], ..Terms::default() };
    let found = compare(&a, &b, &terms("reader.read_mean_ns"));
    let all = found.trials.iter().flat_map(|trial| &trial.measures);
    assert!(all.clone().any(|one| one.measure == "reader.read_mean_ns" && one.decides));
    let found = compare(&a, &b, &terms("reader.teps"));
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert!(found.reason.contains("`reader.teps` is not available"), "{}", found.reason);
}

#[test]
fn a_promise_with_another_margin_is_not_compared() {
    let (a, mut b) = (run(&WEIGHTS, 1, 8), run(&WEIGHTS, 2, 8));
    assert_eq!(compare(&a, &b, &Terms::default()).trials[0].promises.len(), 1);
    b.trial().promises[0].within /= 2.0;
    assert!(compare(&a, &b, &Terms::default()).trials[0].promises.is_empty());
}

/// A run whose only group reports these numbers over and over.
fn reporting(values: &[f64]) -> Run {
    let bound = RelationRecord::AtMost(1e6);
    let scenario = Scenario { repeats: 20, seconds: 5.0, ..Scenario::new(&[1]) };
    let mut run = scenario.promise("reader.read_iops", bound).run();
    for (repeat, value) in run.trial().repeats.iter_mut().zip(values.iter().cycle()) {
        repeat.workloads[0].metrics.insert("read_iops".to_owned(), *value);
    }
    run
}

fn iops(a: &Run, b: &Run) -> MeasureComparison {
    let found = compare(a, b, &Terms::default()).trials.remove(0).measures;
    found.into_iter().find(|one| one.measure == "reader.read_iops").unwrap()
}

#[test]
fn zeros_decide_only_in_the_direction_in_which_they_point() {
    let steady = reporting(&[100.0, 101.0, 100.0, 101.0]);
    let zeros = reporting(&[0.0, 202.0, 201.0, 202.0]);
    let found = iops(&steady, &zeros);
    assert_eq!((found.verdict, found.differs), (Equivalence::Undecided, None), "{found:?}");
    let fewer = reporting(&[0.0, 52.0, 51.0, 52.0]);
    assert_eq!(iops(&steady, &fewer).verdict, Equivalence::Worse);
    assert_eq!(iops(&fewer, &steady).verdict, Equivalence::Better);
}

#[test]
fn zero_on_both_sides_leaves_the_decision_to_its_promise() {
    let (a, b) = (reporting(&[0.0; 4]), reporting(&[0.0; 4]));
    let found = compare(&a, &b, &Terms::default());
    let iops = found.trials[0].measures.iter().find(|one| one.measure == "reader.read_iops");
    let iops = iops.unwrap();
    assert_eq!(
        iops.not_available.as_deref(),
        Some("0 in every repeat of both; its promise is kept")
    );
    assert_eq!(found.trials[0].promises[0].change, Equivalence::Equal);
    assert!(!iops.decides && iops.ratio.is_none(), "{iops:?}");
    let others = found.trials[0].measures.iter().all(|one| !one.decides);
    assert_eq!((others, found.verdict), (true, Equivalence::Equal), "{}", found.reason);
    let terms = Terms { baseline: true, ..Terms::default() };
    assert_eq!(compare(&a, &b, &terms).verdict, Equivalence::Equal);
}

#[test]
fn a_zero_in_a_repeat_that_is_left_out_is_not_equal() {
    let steady = reporting(&[100.0, 101.0, 100.0, 101.0]);
    let mut other = reporting(&[100.0, 101.0, 100.0, 0.0]);
    other.trial().repeats[3].fault = crate::left_out::fault("interrupted");
    let found = iops(&steady, &other);
    assert_eq!(found.verdict, Equivalence::Undecided, "{found:?}");
    let why = found.objection.unwrap();
    assert!(why.contains("repeat 4 of B, which is left out, has 0 times"), "{why}");
}

#[test]
fn shares_that_are_as_promised_at_last_are_better() {
    let run = |shares: &[f64], seed| {
        let scenario = Scenario::new(&[100; 4]).shares(shares);
        let scenario = Scenario { repeats: 8, seed, ..scenario };
        scenario.promise("io.bytes", RelationRecord::Equal).run()
    };
    let (uneven, even) = (run(&[0.1, 0.2, 0.3, 0.4], 1), run(&[0.25; 4], 2));
    let terms = Terms { baseline: true, ..Terms::default() };
    let found = compare(&uneven, &even, &terms);
    assert_eq!(found.trials[0].promises[0].change, Equivalence::Better);
    assert_eq!(found.verdict, Equivalence::Better, "{}", found.reason);
    assert!(found.reason.contains("broken in A and kept in B"), "{}", found.reason);
    assert_eq!(compare(&even, &uneven, &terms).verdict, Equivalence::Worse);
    assert_eq!(compare(&uneven, &even, &Terms::default()).verdict, Equivalence::Different);
}
