//! One test for each verdict and each relation.

use assay_judge::verdict::Verdict;
use assay_record::run_folder::{EveryRecord, RelationRecord};

use crate::synthetic::{RELEASED_NS, Scenario, Server};

const LADDER: [u32; 4] = [100, 200, 400, 800];

#[test]
fn shares_that_follow_the_weights_keep_the_promise() {
    let promise = Scenario::new(&LADDER).run().promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    let worst = promise.worst_error.unwrap();
    assert!(worst.low <= worst.value && worst.value <= worst.high && worst.high <= 0.1);
    assert!(promise.causes.is_empty() && promise.needs_s.is_none());
    assert!(promise.jain.unwrap() > 0.999);
    assert!((promise.total_rate.unwrap() / 400e6 - 1.0).abs() < 0.02);
    assert_eq!(promise.groups[3].knob, Some(800.0));
    assert!(promise.groups.iter().all(|group| group.verdict == Verdict::Kept));
}

#[test]
fn a_collapse_to_equal_shares_breaks_the_promise() {
    let promise = Scenario::new(&LADDER).shares(&[0.25; 4]).run().promise();
    assert_eq!(promise.verdict, Verdict::Broken);
    let worst = promise.worst_error.unwrap();
    assert!((worst.value - 2.75).abs() < 0.1 && worst.low > 0.1, "{worst:?}");
    assert!((promise.jain.unwrap() - 0.662).abs() < 0.01);
    assert!(promise.reason.starts_with("`task1` got 24.9"), "{}", promise.reason);
    // The third group happens to be promised about an equal share.
    let verdicts: Vec<_> = promise.groups.iter().map(|group| group.verdict).collect();
    assert_eq!(verdicts, [Verdict::Broken, Verdict::Broken, Verdict::Kept, Verdict::Broken]);
}

#[test]
fn scatter_as_wide_as_the_margin_is_undecided() {
    let scenario = Scenario { between: 0.08, repeats: 8, ..Scenario::new(&LADDER) };
    let promise = scenario.run().promise();
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    assert!(promise.needs_repeats.unwrap() > 8, "{:?}", promise.needs_repeats);
    assert!(promise.reason.contains("which leaves open whether"), "{}", promise.reason);
}

#[test]
fn fewer_than_eight_starts_are_facts_and_no_verdict() {
    let some = |repeats, shares: &[f64]| {
        let scenario = Scenario { repeats, alone: true, ..Scenario::new(&LADDER) }.shares(shares);
        let promise = scenario.run().promise();
        assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
        assert_eq!(promise.needs_repeats, Some(8));
        assert!(promise.reason.contains("a verdict takes 8 or more"), "{}", promise.reason);
        promise.was.unwrap()
    };
    for repeats in [1, 7] {
        let kept = some(repeats, &Scenario::new(&LADDER).shares);
        assert_eq!((kept.verdict, kept.repeats_kept), (Verdict::Kept, repeats));
        let broken = some(repeats, &[0.25; 4]);
        assert_eq!((broken.verdict, broken.repeats_kept), (Verdict::Broken, 0));
    }
}

#[test]
fn the_observation_covers_all_seconds() {
    let rate = |time: f64, group: usize| if time < 12.0 && group == 2 { 2.0 } else { 1.0 };
    let server = Server::Scripted { rate, deviation: 0.05 };
    let promise = Scenario { server, repeats: 8, ..Scenario::new(&LADDER) }.run().promise();
    let was = promise.was.unwrap();
    assert_eq!((was.verdict, was.group.as_str(), was.repeats_kept), (Verdict::Broken, "task3", 0));
    assert!(promise.reason.contains("0 of 8 starts were inside"), "{}", promise.reason);
    let worst = promise.groups[2].worst_span.unwrap();
    assert!(worst.from_s < 12.0 && (worst.share / 0.421 - 1.0).abs() < 0.1, "{worst:?}");
}

#[test]
fn a_starved_and_compensated_group_breaks_its_spans() {
    let rate = |time: f64, group: usize| match (group, time as u64 % 10) {
        (0, 0..3) => 0.05,
        (0, 3..6) => 1.95,
        _ => 1.0,
    };
    let server = Server::Scripted { rate, deviation: 0.02 };
    let scenario = Scenario { server, repeats: 8, seconds: 10.0, ..Scenario::new(&LADDER) };
    let on_average = scenario.run().promise();
    assert_ne!(on_average.verdict, Verdict::Broken, "{}", on_average.reason);
    let mut every = scenario;
    every.promise.every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    let promise = every.run().promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    assert_eq!(promise.groups[0].verdict, Verdict::Broken, "by its spans");
    assert_ne!(promise.groups[3].verdict, Verdict::Broken);
    let spans = promise.spans.unwrap();
    assert!(spans.group == "task1" && (spans.held.value - 0.4).abs() < 0.1, "{spans:?}");
    assert!(promise.reason.contains("of its spans of 1.0 s"), "{}", promise.reason);
}

#[test]
fn spans_that_hold_keep_their_promise() {
    let server = Server::Noise { deviation: 0.02, correlation: 0.0 };
    let mut scenario = Scenario { server, repeats: 18, seconds: 5.0, ..Scenario::new(&LADDER) };
    scenario.promise.every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    let promise = scenario.run().promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    assert_eq!(promise.spans.unwrap().held.value, 1.0);
}

#[test]
fn spans_shorter_than_the_samples_are_undecided() {
    let promise = |span_s: f64| {
        let server = Server::Noise { deviation: 0.02, correlation: 0.0 };
        let mut scenario = Scenario { server, repeats: 18, seconds: 5.0, ..Scenario::new(&LADDER) };
        scenario.promise.every = Some(EveryRecord { span_s, part: 0.95 });
        let mut run = scenario.run();
        for repeat in 0..18 {
            // Once a second: the grid has steps of 0.95 s.
            let round = |time: u64| (time + 200_000_000 - RELEASED_NS) / 100_000_000;
            run.retain(repeat, |time| round(time).is_multiple_of(10));
        }
        run.promise()
    };
    let promised = promise(1.0);
    assert_eq!(promised.verdict, Verdict::Kept, "{}", promised.reason);
    let shorter = promise(0.2);
    assert_eq!(shorter.verdict, Verdict::Undecided, "{}", shorter.reason);
    let said = "the samples are too far apart for spans of 0.2 s";
    assert!(shorter.reason.contains(said), "{}", shorter.reason);
}

#[test]
fn a_group_that_is_never_served_breaks_the_promise() {
    let promise = Scenario::new(&LADDER).shares(&[0.0, 0.2, 0.3, 0.5]).run().promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    let starved = &promise.groups[0];
    assert_eq!((starved.share, starved.low, starved.verdict), (0.0, 0.0, Verdict::Broken));
    assert!(starved.high > 0.0);
}

#[test]
fn a_pending_slice_is_not_starvation() {
    // 64 groups with slices of 100 ms each: 20 s hold three rounds, 4 s not even one.
    let server = Server::Turns { round_s: 6.4, jitter: 0.0 };
    let scenario = Scenario { server, seconds: 4.0, repeats: 8, ..Scenario::new(&[100; 64]) };
    let promise = scenario.run().promise();
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
}

#[test]
fn equal_ignores_the_weights() {
    let equal = |shares: &[f64; 4]| {
        let scenario = Scenario::new(&LADDER).shares(shares);
        scenario.promise("io.ios", RelationRecord::Equal).run().promise()
    };
    let promise = equal(&[0.25; 4]);
    assert_eq!((promise.verdict, promise.is.as_str()), (Verdict::Kept, "equal"));
    assert_eq!(promise.groups[0].expected_share, 0.25);
    assert_eq!(equal(&[0.1, 0.3, 0.3, 0.3]).verdict, Verdict::Broken);
}

#[test]
fn a_limit_is_kept_below_broken_above_and_void_if_never_reached() {
    let limit = |bytes: f64| {
        let relation = RelationRecord::AtMost(bytes);
        Scenario::new(&[100, 100]).promise("io.bytes", relation).run().promise()
    };
    // Each of two groups gets 200 MB/s.
    let kept = limit(202e6);
    assert_eq!(kept.verdict, Verdict::Kept, "{}", kept.reason);
    assert_eq!(kept.to.as_deref(), Some("202000000"));
    assert!((kept.groups[0].share / 200e6 - 1.0).abs() < 0.05 && kept.jain.is_none());
    assert_eq!(limit(150e6).verdict, Verdict::Broken);
    let void = limit(400e6);
    assert_eq!(void.verdict, Verdict::Void);
    assert!(void.reason.contains("never bound"), "{}", void.reason);
}

#[test]
fn a_limit_may_be_broken_in_its_spans_only() {
    let rate = |time: f64, _: usize| if (time as u64).is_multiple_of(2) { 0.1 } else { 1.6 };
    let server = Server::Scripted { rate, deviation: 0.02 };
    let scenario = Scenario { server, repeats: 8, ..Scenario::new(&[100, 100]) };
    // Each of two groups has 200 MB/s times that: 170 on average, and 320 in every other second.
    let mut limit = scenario.promise("io.bytes", RelationRecord::AtMost(240e6));
    let on_average = limit.run().promise();
    assert_eq!(on_average.verdict, Verdict::Void, "{}", on_average.reason);
    assert!(on_average.reason.contains("never bound"), "{}", on_average.reason);
    limit.promise.every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    let every = limit.run().promise();
    assert_eq!(every.verdict, Verdict::Broken, "{}", every.reason);
    assert!(every.reason.contains("of its spans of 1.0 s"), "{}", every.reason);
}

#[test]
fn a_protection_is_kept_above_and_broken_below() {
    let floor = |bytes: f64| {
        let relation = RelationRecord::AtLeast(bytes);
        Scenario::new(&[100, 100]).promise("io.bytes", relation).run().promise().verdict
    };
    assert_eq!(floor(150e6), Verdict::Kept);
    assert_eq!(floor(300e6), Verdict::Broken);
}

#[test]
fn cpu_time_is_judged_in_cpus() {
    let relation = RelationRecord::Proportional("io.weight".to_owned());
    let scenario = Scenario { idle: 0.01, ..Scenario::new(&LADDER) };
    let promise = scenario.promise("cpu.time", relation).run().promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    assert!((promise.total_rate.unwrap() - 2.0).abs() < 0.05);
}

#[test]
fn the_share_follows_the_value_read_back() {
    let mut run = Scenario::new(&LADDER).run();
    run.trial().groups[3].knobs[0].asked = "8000".to_owned();
    let promise = run.promise();
    assert_eq!((promise.verdict, promise.groups[3].knob), (Verdict::Kept, Some(800.0)));
}

#[test]
fn a_measure_without_a_source_is_void() {
    let promise =
        Scenario::new(&LADDER).promise("net.bytes", RelationRecord::Equal).run().promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("`net.bytes`"));
}

#[test]
fn the_judgement_is_deterministic() {
    let mut run = Scenario::new(&LADDER).run();
    let first = run.judge();
    run.manifest.seed = 43;
    assert_eq!(first, run.judge());
}

#[test]
fn the_worst_verdict_is_that_of_the_study() {
    use Verdict::{Broken, Kept, Undecided, Void};
    assert_eq!(Verdict::worst([Kept, Undecided, Void, Broken]), Broken);
    assert_eq!(Verdict::worst([Kept, Undecided, Void]), Void);
    assert_eq!(Verdict::worst([Kept, Undecided]), Undecided);
    assert_eq!(Verdict::worst([]), Void, "no promise shows nothing");
}
