//! Whether stopping as soon as the promises are decided makes verdicts false: synthetic runs whose
//! truth is known, each looked at as `assay run` looks at it, and ended when it is decided.
//!
//! `ASSAY_SIMULATE=1000` simulates so many runs of each kind instead of a few; docs/judging.md has
//! the figures of that.

use std::time::Duration;

use assay_judge::{Looks, Verdict, decides};
use assay_record::{LooksRecord, StopRecord};

use crate::synthetic::{RELEASED_NS, Run, Scenario, Server};

const WEIGHTS: [u32; 4] = [100, 200, 400, 800];

/// Runs of each kind.
fn runs(few: u64) -> u64 {
    std::env::var("ASSAY_SIMULATE").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// How runs of one kind ended.
#[derive(Default)]
struct Ends {
    runs: usize,
    kept: usize,
    broken: usize,
    void: usize,
    /// Seconds until the end.
    seconds: Vec<f64>,
    covered: usize,
    intervals: usize,
}

impl std::fmt::Debug for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { runs, kept, broken, void, .. } = self;
        write!(f, "{runs} runs, kept {kept}, broken {broken}, void {void}")
    }
}

impl Ends {
    fn median_s(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// At most a hundredth of the runs, and a few of few are nothing yet.
    fn is_rare(&self, wrong: usize) -> bool {
        wrong <= self.runs / 100 + usize::from(self.runs < 100)
    }
}

/// Runs a scenario to its end as `assay run` would: looks, stops, judges.
fn end(scenario: &Scenario) -> (Run, f64) {
    let mut run = scenario.run();
    run.trial().stop = StopRecord::Decided;
    let mut looks = Looks::of(Duration::from_secs_f64(scenario.seconds));
    let mut part = None;
    let mut elapsed = Duration::ZERO;
    while elapsed.as_secs_f64() < scenario.seconds && part.is_none() {
        elapsed += Duration::from_millis(100);
        if looks.is_due(elapsed) {
            let spend = looks.take(elapsed);
            let mut repeat = run.manifest.trials[0].repeats[0].clone();
            repeat.stopped_ns = RELEASED_NS + elapsed.as_nanos() as u64;
            repeat.workloads.clear();
            let tables = &run.samples[0][0];
            part = decides(&run.manifest, 0, &repeat, tables, spend).then_some(spend);
        }
    }
    let left = looks.left();
    let repeat = run.repeat();
    repeat.stopped_ns = RELEASED_NS + elapsed.as_nanos() as u64;
    repeat.looks = Some(LooksRecord {
        taken: looks.taken(),
        part: part.unwrap_or(left),
        decided: part.is_some(),
        cpu_s: 0.0,
    });
    (run, elapsed.as_secs_f64())
}

fn simulate(name: &str, scenario: &Scenario, runs: u64) -> Ends {
    let mut ends = Ends::default();
    for seed in 0..runs {
        let (run, seconds) = end(&Scenario { seed: 50_000 + seed, ..scenario.clone() });
        let promise = run.promise();
        ends.runs += 1;
        ends.kept += usize::from(promise.verdict == Verdict::Kept);
        ends.broken += usize::from(promise.verdict == Verdict::Broken);
        ends.void += usize::from(promise.verdict == Verdict::Void);
        ends.seconds.push(seconds);
        for (group, truth) in promise.groups.iter().zip(&scenario.shares) {
            ends.intervals += 1;
            ends.covered += usize::from((group.low..=group.high).contains(truth));
        }
    }
    // Shown by `--nocapture`: the figures of docs/judging.md.
    println!(
        "{name}: {} runs, kept {}, broken {}, void {}, median {:.1} s, covered {:.1} %",
        ends.runs,
        ends.kept,
        ends.broken,
        ends.void,
        ends.median_s(),
        100.0 * ends.covered as f64 / ends.intervals.max(1) as f64
    );
    ends
}

/// Shares with the first group this many times its promise and the others in proportion.
fn shifted(times: f64) -> Vec<f64> {
    let sum: u32 = WEIGHTS.iter().sum();
    let promised: Vec<f64> = WEIGHTS.iter().map(|one| f64::from(*one) / f64::from(sum)).collect();
    let rest = (1.0 - promised[0] * times) / (1.0 - promised[0]);
    let other =
        |(index, share): (usize, &f64)| if index == 0 { share * times } else { share * rest };
    promised.iter().enumerate().map(other).collect()
}

fn servers() -> [(&'static str, Server); 5] {
    [
        ("noise", Server::Noise { deviation: 0.3, correlation: 0.6 }),
        ("slow noise", Server::Noise { deviation: 0.2, correlation: 0.9 }),
        ("turns", Server::Turns { round_s: 0.7, jitter: 0.5 }),
        ("heavy tails", Server::Heavy { tail: 3.0 }),
        ("bursts", Server::Bursts { mean_s: 1.0 }),
    ]
}

fn scenario(server: Server) -> Scenario {
    let warm_up = assay_record::WarmUpRecord::Auto;
    Scenario { server, seconds: 60.0, warm_up, ..Scenario::new(&WEIGHTS) }
}

#[test]
fn a_promise_that_holds_is_hardly_ever_called_broken_however_often_it_is_looked_at() {
    for (name, server) in servers() {
        let ends = simulate(&format!("exact, {name}"), &scenario(server), runs(8));
        assert!(ends.is_rare(ends.broken), "{name}: {ends:?}");
        let near = scenario(server).shares(&shifted(1.06));
        let ends = simulate(&format!("6 % off, {name}"), &near, runs(6));
        assert!(ends.is_rare(ends.broken), "{name}: {ends:?}");
    }
}

#[test]
fn a_weight_that_is_halved_or_doubled_in_secret_is_hardly_ever_called_kept() {
    for (name, server) in servers() {
        for times in [0.5, 1.15, 2.0] {
            let biased = scenario(server).shares(&shifted(times));
            let ends = simulate(&format!("{times} times, {name}"), &biased, runs(5));
            assert!(ends.is_rare(ends.kept), "{name} {times}: {ends:?}");
            if times >= 2.0 {
                let missed = ends.runs - ends.broken;
                assert!(missed <= ends.runs / 10 + 2, "{name} {times}: {ends:?}");
            }
        }
    }
}

#[test]
fn a_share_that_drifts_through_its_promise_is_never_called_kept() {
    let drift = scenario(Server::Drift { from: 1.6 });
    let ends = simulate("drift from +60 % to -60 %", &drift, runs(10));
    assert!(ends.is_rare(ends.kept), "{ends:?}");
    let mild = scenario(Server::Drift { from: 1.05 });
    let ends = simulate("drift from +5 % to -5 %", &mild, runs(10));
    assert!(ends.is_rare(ends.broken), "{ends:?}");
}

#[test]
fn clear_cases_end_long_before_their_time() {
    let quiet = Server::Noise { deviation: 0.1, correlation: 0.3 };
    let ends = simulate("exact, quiet", &scenario(quiet), runs(8));
    assert!(ends.median_s() <= 20.0 && ends.kept == ends.runs, "{ends:?}");
    let collapsed = scenario(quiet).shares(&[0.25; 4]);
    let ends = simulate("collapsed, quiet", &collapsed, runs(8));
    assert!(ends.median_s() <= 10.0 && ends.broken == ends.runs, "{ends:?}");
}

/// Intervals of repeats that last as long as planned, at 95 %.
#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    let mut wrong = Vec::new();
    for (name, server) in servers() {
        let mut covered = (0, 0);
        let all = runs(25);
        for seed in 0..all {
            let run = Scenario { seed: 90_000 + seed, ..scenario(server) }.run();
            for (group, truth) in run.promise().groups.iter().zip(&scenario(server).shares) {
                covered.0 += usize::from((group.low..=group.high).contains(truth));
                covered.1 += 1;
            }
        }
        let part = covered.0 as f64 / covered.1 as f64;
        println!("coverage, {name}: {:.2} % of {} intervals", 100.0 * part, covered.1);
        // Groups of one run are not independent, so that few runs say little.
        let (least, most) = if all >= 500 { (0.93, 0.97) } else { (0.87, 1.0) };
        if !(least..=most).contains(&part) {
            wrong.push(format!("{name}: {part}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
