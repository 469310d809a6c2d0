//! Promises on the longest time without progress.

use assay_judge::verdict::{PromiseJudgement, Verdict};
use assay_record::run_folder::{Column, RelationRecord, Table};

use crate::synthetic::{RELEASED_NS, Run, Scenario, Server};

/// Two groups of one thread on two CPUs, of which the first has nothing from second 5 to second 8.
fn stalled() -> Run {
    fn rate(seconds: f64, group: usize) -> f64 {
        if group == 0 && (5.0..8.0).contains(&seconds) { 0.0 } else { 1.0 }
    }
    run(rate)
}

fn steady() -> Run {
    run(|_, _| 1.0)
}

fn run(rate: fn(f64, usize) -> f64) -> Run {
    let mut scenario =
        Scenario::new(&[100, 100]).promise("progress", RelationRecord::Within(Some(0.5)));
    scenario.promise.within = 0.0;
    scenario.server = Server::Scripted { rate, deviation: 0.0 };
    let mut run = scenario.run();
    run.manifest.host.cpus.allowed = "0-1".parse().unwrap();
    for group in &mut run.trial().groups {
        group.workloads[0].tool = "spin".to_owned();
    }
    run
}

fn promising(mut run: Run, time: Option<f64>) -> PromiseJudgement {
    run.trial().promises[0].is = RelationRecord::Within(time);
    run.promise()
}

/// Tasks of both groups waited for a CPU for this part of the time.
fn pressure(part: [f64; 2]) -> Table {
    let rows = (0..230_u64).flat_map(|round| [(round, 0_u32), (round, 1)]);
    let mut table = Table {
        source: "pressure".to_owned(),
        time_ns: Vec::new(),
        subject: Vec::new(),
        subjects: vec!["task1".to_owned(), "task2".to_owned()],
        columns: vec![Column { name: "cpu_some_us".to_owned(), values: Vec::new() }],
    };
    for (round, subject) in rows {
        table.time_ns.push(RELEASED_NS - 200_000_000 + round * 100_000_000);
        table.subject.push(subject);
        let waited = round as f64 * 1e5 * part[subject as usize];
        table.columns[0].values.push(Some(waited as u64));
    }
    table
}

#[test]
fn a_group_without_cpu_time_for_longer_breaks_the_promise() {
    let promise = promising(stalled(), Some(0.5));
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    assert!(promise.reason.contains("`task1` wanted to run"), "{}", promise.reason);
    let [first, second] = promise.groups.as_slice() else { panic!("{:?}", promise.groups) };
    assert!((first.low - 3.0).abs() < 0.25 && first.high < 3.4, "{first:?}");
    assert_eq!((first.verdict, second.verdict), (Verdict::Broken, Verdict::Kept));
    assert!(promise.errors.iter().all(|error| *error > 3.0), "{:?}", promise.errors);
    assert_eq!(promise.was.unwrap().verdict, Verdict::Broken);
}

/// Its counter advances at ticks, so that it may have run for 10 ms before the second of two equal readings.
#[test]
fn a_wait_that_is_one_tick_too_long_breaks_nothing() {
    let pause = || {
        run(|seconds, group| if group == 0 && (5.0..5.2).contains(&seconds) { 0.0 } else { 1.0 })
    };
    let promise = promising(pause(), Some(0.195));
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    let promise = promising(pause(), Some(0.18));
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
}

#[test]
fn steady_progress_keeps_it_in_many_repeats_and_not_in_one() {
    let promise = promising(steady(), Some(0.5));
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    assert_eq!(promise.was.as_ref().unwrap().repeats_kept, 18);
    assert!(promise.reason.contains("rarer than one in"), "{}", promise.reason);
    let mut alone = steady();
    alone.eightfold = false;
    let promise = promising(alone, Some(0.5));
    assert_eq!((promise.verdict, promise.needs_repeats), (Verdict::Undecided, Some(8)));
    assert_eq!(promise.was.unwrap().verdict, Verdict::Kept);
}

#[test]
fn samples_too_far_apart_decide_nothing() {
    // Of each tenth of a second 70 ms were not used, and may be beside those of the next one.
    let promise = promising(run(|_, _| 0.3), Some(0.05));
    assert_eq!(promise.verdict, Verdict::Undecided, "{}", promise.reason);
    assert!(promise.reason.contains("too far apart"), "{}", promise.reason);
}

#[test]
fn whether_a_group_wanted_to_run_must_be_known() {
    let with = |table: Option<Table>| {
        let mut run = stalled();
        for group in &mut run.trial().groups {
            group.workloads[0].tool = "fio".to_owned();
        }
        run.samples[0][0].extend(table);
        promising(run, Some(0.5))
    };
    let unknown = with(None);
    assert_eq!(unknown.verdict, Verdict::Void);
    assert!(unknown.reason.contains("wanted to run is not known"), "{}", unknown.reason);
    // Asleep for these three seconds, and waiting.
    assert_eq!(with(Some(pressure([0.0, 0.0]))).verdict, Verdict::Kept);
    let waiting = with(Some(pressure([1.0, 0.0])));
    assert_eq!(waiting.verdict, Verdict::Broken, "{}", waiting.reason);
}

#[test]
fn without_a_time_it_follows_from_the_weights() {
    let promise = promising(stalled(), None);
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    // A lag of 34 ms for all groups, and twice that for one of two.
    assert!((promise.groups[0].expected_share - 0.102).abs() < 1e-9, "{:?}", promise.groups);
    assert!(promise.reason.contains("share of 50.0 % by weight"), "{}", promise.reason);
    assert_eq!(promising(steady(), None).verdict, Verdict::Kept);
}

#[test]
fn the_pressure_of_several_cpus_does_not_tell_how_long_nobody_ran() {
    let mut run = stalled();
    for group in &mut run.trial().groups {
        (group.workloads[0].tool, group.workloads[0].threads) = ("fio".to_owned(), Some(2));
    }
    run.samples[0][0].push(pressure([1.0, 0.0]));
    let promise = promising(run, Some(0.5));
    assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
    assert!(promise.reason.contains("can use 2 CPUs"), "{}", promise.reason);
}

#[test]
fn what_a_hypervisor_may_have_taken_at_once_does_not_break_a_derived_time() {
    let stolen = || {
        let mut run = stalled();
        let user = run.column("host_cpu", "user_ns").clone();
        for (steal, user) in run.column("host_cpu", "steal_ns").iter_mut().zip(&user) {
            *steal = *user;
        }
        run
    };
    // It took 28.6 % of the window, which is longer than the three seconds without progress.
    let derived = promising(stolen(), None);
    assert_eq!(derived.verdict, Verdict::Undecided, "{}", derived.reason);
    assert!(derived.reason.contains("took it at once"), "{}", derived.reason);
    let given = promising(stolen(), Some(0.5));
    assert_eq!(given.verdict, Verdict::Broken, "a promise whatever others do: {}", given.reason);
}
