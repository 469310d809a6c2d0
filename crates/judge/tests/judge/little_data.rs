//! Little data, and none: a rate of zero, two repeats, one window, a state of a second.

use assay_run_folder::{EveryRecord, RelationRecord, WarmUpRecord};
use assay_verdict::Verdict;

use crate::synthetic::{Scenario, Server};

const LADDER: [u32; 4] = [100, 200, 400, 800];

#[test]
fn two_repeats_may_break_spans_and_never_keep_them() {
    let judged = |repeats: usize, rate: fn(f64, usize) -> f64| {
        let server = Server::Scripted { rate, deviation: 0.02 };
        let mut scenario = Scenario { server, repeats, seconds: 60.0, ..Scenario::new(&LADDER) };
        // 120 spans each: two that agree have an interval of 7 %.
        scenario.promise.every = Some(EveryRecord { span_s: 0.5, part: 0.9 });
        scenario.run().promise()
    };
    let two = judged(2, |_, _| 1.0);
    assert_eq!(two.verdict, Verdict::Undecided, "{}", two.reason);
    assert_eq!((two.spans.unwrap().held.low, two.needs_repeats), (0.0, Some(3)));
    assert!(two.reason.contains("two repeats may agree by chance"), "{}", two.reason);
    assert_eq!(judged(3, |_, _| 1.0).verdict, Verdict::Kept);
    let off = |time: f64, group: usize| match (group, time as u64 % 2) {
        (0, 0) => 0.5,
        (0, _) => 1.5,
        _ => 1.0,
    };
    assert_eq!(judged(2, off).verdict, Verdict::Broken);
}

#[test]
fn a_rate_of_zero_breaks_a_protection() {
    let floor = RelationRecord::AtLeast(100e6);
    for repeats in [1, 3] {
        let scenario = Scenario { repeats, alone: true, ..Scenario::new(&[100, 100]) };
        let scenario = scenario.shares(&[0.0, 0.0]).promise("io.bytes", floor.clone());
        let mut run = scenario.run();
        // No bytes on the disk and none in the workloads' reports.
        for result in run.trial().repeats.iter_mut().flat_map(|repeat| &mut repeat.workloads) {
            result.latency.clear();
        }
        let promise = run.promise();
        assert_eq!(promise.verdict, Verdict::Broken, "{repeats}: {}", promise.reason);
        for group in &promise.groups {
            assert_eq!((group.share, group.low, group.verdict), (0.0, 0.0, Verdict::Broken));
            assert!(group.high > 0.0 && group.high < 60e6, "{group:?}");
        }
        let worst = promise.worst_error.unwrap();
        assert!(worst.value == 1.0 && worst.low > 0.1 && worst.high == 1.0, "{worst:?}");
        assert!(promise.reason.contains("got 0.0 kB/s, promised 100.0 MB/s"), "{}", promise.reason);
    }
}

#[test]
fn no_request_in_a_short_window_is_not_fewer_than_one_a_second() {
    let promise = |repeats: usize| {
        let mut scenario = Scenario { repeats, alone: true, ..Scenario::new(&[100, 100]) };
        scenario.seconds = 3.0;
        let floor = RelationRecord::AtLeast(1.0);
        let mut run = scenario.shares(&[0.0, 0.0]).promise("io.ios", floor).run();
        for result in run.trial().repeats.iter_mut().flat_map(|repeat| &mut repeat.workloads) {
            result.latency.clear();
        }
        run.promise()
    };
    // At 0.9 a second there is none in three seconds with a probability of 6.7 %.
    let one = promise(1);
    assert_eq!(one.verdict, Verdict::Undecided, "{}", one.reason);
    let several = promise(5);
    assert_eq!(several.verdict, Verdict::Broken, "{}", several.reason);
}

#[test]
fn a_repeat_without_any_service_counts() {
    let relation = RelationRecord::AtLeast(150e6);
    let scenario = Scenario { repeats: 3, ..Scenario::new(&[100, 100]) };
    let mut run = scenario.promise("io.bytes", relation).run();
    let idle = Scenario::new(&[100, 100]).shares(&[0.0, 0.0]).run();
    run.samples[0][1] = idle.samples[0][0].clone();
    run.trial().repeats[1].workloads = idle.manifest.trials[0].repeats[0].workloads.clone();
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    assert_eq!(promise.was.unwrap().verdict, Verdict::Broken);
    let group = &promise.groups[0];
    assert!((group.share / 133e6 - 1.0).abs() < 0.02 && group.low < 1e6, "{group:?}");
}

#[test]
fn printed_shares_are_those_measured() {
    let mut scenario = Scenario { repeats: 3, between: 0.4, ..Scenario::new(&LADDER) };
    scenario.promise.within = 0.1;
    let promise = scenario.run().promise();
    let sum: f64 = promise.groups.iter().map(|group| group.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    for group in &promise.groups {
        let was = group.was.unwrap().value;
        assert!((group.share / was - 1.0).abs() < 1e-3, "{group:?}");
        assert!(group.low <= group.share && group.share <= group.high);
    }
}

/// In one repeat a group is broken by its own window, and by nobody else's.
#[test]
fn one_repeat_is_not_broken_by_the_facts_of_two_groups() {
    let rate = |time: f64, group: usize| match (group, time < 3.0) {
        // Outside in all seconds, and not after the warm-up.
        (0, true) => 3.0,
        // Outside after the warm-up, and not in all seconds.
        (1, true) => 0.3,
        (1, false) => 1.2,
        _ => 1.0,
    };
    let server = Server::Scripted { rate, deviation: 0.01 };
    let scenario = Scenario {
        server,
        alone: true,
        seconds: 16.0,
        warm_up: WarmUpRecord::Auto,
        ..Scenario::new(&LADDER)
    };
    let promise = scenario.run().promise();
    let was = |group: usize| promise.groups[group].was.unwrap();
    let times = |group: usize| promise.groups[group].share / promise.groups[group].expected_share;
    // What the window shows of each group.
    assert!(was(0).low / promise.groups[0].expected_share > 1.1 && times(0) < 1.05);
    assert!(was(1).high / promise.groups[1].expected_share < 1.1 && times(1) > 1.12);
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    assert!(promise.groups.iter().all(|group| group.verdict == Verdict::Undecided));
}

/// A state that lasts one second of 20 is not told from an accident, and the sentence says so.
#[test]
fn a_state_of_a_second_is_named_as_too_short() {
    let rate = |time: f64, group: usize| match (group, (8.0..9.0).contains(&time)) {
        (2, true) => 2.2,
        _ => 1.0,
    };
    let server = Server::Scripted { rate, deviation: 0.02 };
    let scenario = Scenario { server, alone: true, ..Scenario::new(&LADDER) };
    let promise = scenario.run().promise();
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    let said = "`task3` had 1.67 times its promise for 1.0 s, at most 1.0 s at a stretch, and 1.00 \
                times for 18.0 s: too short to tell a state from an accident";
    assert!(promise.reason.contains(said), "{}", promise.reason);
    assert_eq!(promise.was.unwrap().states, None);
}
