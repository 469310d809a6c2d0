//! Coverage of the intervals: many synthetic runs with known shares.

use assay_run_folder::WarmUpRecord;
use assay_verdict::Verdict;

use crate::synthetic::{Scenario, Server};

const WEIGHTS: [u32; 4] = [100, 200, 400, 800];

struct Tally {
    runs: usize,
    covered: usize,
    intervals: usize,
    kept: usize,
    broken: usize,
}

/// Judges `runs` runs of one scenario; `truth` are the true shares.
fn tally(scenario: &Scenario, runs: u64) -> Tally {
    let mut tally = Tally { runs: 0, covered: 0, intervals: 0, kept: 0, broken: 0 };
    for seed in 0..runs {
        let promise = Scenario { seed: 1000 + seed, ..scenario.clone() }.run().promise();
        tally.runs += 1;
        tally.kept += usize::from(promise.verdict == Verdict::Kept);
        tally.broken += usize::from(promise.verdict == Verdict::Broken);
        for (group, truth) in promise.groups.iter().zip(&scenario.shares) {
            tally.intervals += 1;
            tally.covered += usize::from((group.low..=group.high).contains(truth));
        }
    }
    tally
}

fn part(some: usize, all: usize) -> f64 {
    some as f64 / all as f64
}

#[test]
fn slices_of_a_second_are_decided_within_a_minute() {
    let server = Server::Turns { round_s: 1.0, jitter: 0.05 };
    let scenario = Scenario { server, seconds: 60.0, repeats: 3, ..Scenario::new(&WEIGHTS) };
    let exact = tally(&scenario, 20);
    assert!(part(exact.kept, exact.runs) >= 0.9, "kept {} of {}", exact.kept, exact.runs);
    let collapsed = tally(&scenario.shares(&[0.25; 4]), 20);
    assert!(part(collapsed.broken, collapsed.runs) >= 0.9, "broken {}", collapsed.broken);
}

#[test]
fn clear_cases_are_decided_within_twenty_seconds() {
    let server = Server::Noise { deviation: 0.1, correlation: 0.3 };
    let exact = tally(&Scenario { server, repeats: 3, ..Scenario::new(&WEIGHTS) }, 40);
    assert!(part(exact.kept, exact.runs) >= 0.95, "kept {} of {}", exact.kept, exact.runs);
    let collapsed = Scenario { server, repeats: 3, ..Scenario::new(&WEIGHTS) }.shares(&[0.25; 4]);
    let found = tally(&collapsed, 40);
    assert!(part(found.broken, found.runs) >= 0.95, "broken {}", found.broken);
    assert_eq!(found.kept, 0);
}

#[test]
fn many_groups_are_judged_as_reliably_as_few() {
    let weights: Vec<u32> = WEIGHTS.repeat(8);
    let server = Server::Noise { deviation: 0.1, correlation: 0.3 };
    let scenario = Scenario { server, repeats: 3, ..Scenario::new(&weights) };
    let found = tally(&scenario, 30);
    let coverage = part(found.covered, found.intervals);
    assert!(coverage >= 0.90, "{coverage}");
    assert_eq!(found.broken, 0);
}

#[test]
fn few_uneven_slices_break_no_promise_that_holds() {
    // Three slices of 100 ms per group in 20 s: the window's edges alone are worth a third.
    let server = Server::Turns { round_s: 6.4, jitter: 0.3 };
    let found = tally(&Scenario { server, ..Scenario::new(&[100; 64]) }, 20);
    assert_eq!((found.kept, found.broken), (0, 0));
    assert!(part(found.covered, found.intervals) >= 0.95);
}

/// All groups scatter alike from one repeat to the next, and light ones are noisier within each:
/// pooling by the noise within makes heavy ones look more certain than they are.
#[test]
fn intervals_of_every_class_cover_where_light_groups_are_noisier() {
    let mut wrong = Vec::new();
    for (groups, repeats, between) in
        [(4, 3, 0.03), (8, 3, 0.03), (16, 3, 0.03), (8, 5, 0.03), (16, 5, 0.05), (8, 3, 0.1)]
    {
        let scenario = Scenario {
            server: Server::LightNoise { deviation: 0.03 },
            seconds: 10.0,
            repeats,
            between,
            ..Scenario::new(&WEIGHTS.repeat(groups / 4))
        };
        let found = by_class(&scenario, 2000 / groups as u64);
        println!("{groups} groups, {repeats} repeats, sd {between}: {found:.3?}");
        if found.iter().any(|part| *part < 0.92) {
            wrong.push((groups, repeats, between, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The coverage of the intervals, by weight class.
fn by_class(scenario: &Scenario, runs: u64) -> [f64; 4] {
    let mut covered = [0; 4];
    for seed in 0..runs {
        let promise = Scenario { seed: 3000 + seed, ..scenario.clone() }.run().promise();
        for (index, (group, truth)) in promise.groups.iter().zip(&scenario.shares).enumerate() {
            covered[index % 4] += usize::from((group.low..=group.high).contains(truth));
        }
    }
    covered.map(|some| part(some, runs as usize * scenario.shares.len() / 4))
}

/// 128 groups for 10 minutes at 10 Hz, the largest run that studies are planned for. Checks only
/// that it is judged: time is measured elsewhere.
#[test]
fn the_largest_run_is_judged() {
    let weights: Vec<u32> = WEIGHTS.repeat(32);
    let scenario = Scenario {
        seconds: 600.0,
        mean_queue: 256.0,
        warm_up: WarmUpRecord::Auto,
        ..Scenario::new(&weights)
    };
    let promise = scenario.run().promise();
    assert_eq!((promise.verdict, promise.groups.len()), (Verdict::Kept, 128));
}
