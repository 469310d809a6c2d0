//! Synthetic runs with known truth: how often verdicts on them are false.
//!
//! `cargo test -p assay-judge` judges some runs of each cell. `cargo test --release -p assay-judge
//! -- --ignored full_tables --nocapture` judges 1000 of each and prints the tables of
//! docs/judging.md.

use assay_run_folder::{Fault, WarmUpRecord};
use assay_verdict::{PromiseJudgement, Verdict};

use crate::estimator;
use crate::synthetic::{Run, Scenario, Server};

const LADDER: [u32; 4] = [100, 200, 400, 800];

/// A ladder of this many groups.
pub(crate) fn ladder(groups: usize) -> Vec<u32> {
    LADDER.into_iter().cycle().take(groups).collect()
}

fn white(deviation: f64) -> Server {
    Server::Noise { deviation, correlation: 0.0 }
}

/// Which verdict would be false.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Truth {
    /// The promise holds: broken is false.
    Holds,
    /// It does not: kept is false.
    Fails,
}

/// A random change of a run, by seed.
type Draw = Box<dyn Fn(&mut Run, u64)>;

/// One cell of a table.
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) scenario: Scenario,
    pub(crate) truth: Truth,
    /// A change applied before the run is judged.
    pub(crate) change: fn(&mut Run),
    /// A random change, different in every run.
    pub(crate) draw: Draw,
    /// The largest allowed part of false verdicts.
    pub(crate) most: f64,
    /// The smallest allowed part of right ones.
    pub(crate) least: f64,
    /// Whether intervals must cover the true shares.
    pub(crate) covers: bool,
}

impl Cell {
    pub(crate) fn new(name: impl Into<String>, truth: Truth, scenario: Scenario) -> Self {
        let (name, change, covers) = (name.into(), (|_| ()) as fn(&mut Run), false);
        let draw = Box::new(|_: &mut Run, _| ());
        Self { name, scenario, truth, change, draw, most: 0.01, least: 0.0, covers }
    }
}

/// Verdicts on the runs of a cell.
#[derive(Default)]
struct Count {
    runs: usize,
    kept: usize,
    broken: usize,
    undecided: usize,
    void: usize,
    covered: usize,
    intervals: usize,
    half: Vec<f64>,
}

impl Count {
    fn add(&mut self, promise: &PromiseJudgement, shares: &[f64]) {
        self.runs += 1;
        match promise.verdict {
            Verdict::Kept => self.kept += 1,
            Verdict::Broken => self.broken += 1,
            Verdict::Undecided => self.undecided += 1,
            Verdict::Void => self.void += 1,
        }
        let bounded = promise.groups.iter().zip(shares).filter(|(group, _)| group.high.is_finite());
        for (group, share) in bounded {
            self.intervals += 1;
            self.covered += usize::from((group.low..=group.high).contains(share));
        }
        let halves = promise.groups.iter().map(|group| (group.high / group.low).sqrt() - 1.0);
        self.half.push(halves.fold(0.0, f64::max));
    }

    fn coverage(&self) -> f64 {
        self.covered as f64 / self.intervals.max(1) as f64
    }

    /// Whether false verdicts are at most this part, with one more allowed in a few runs, and in many
    /// runs what chance explains of a rate of exactly this part (95 %, normal).
    fn is_rare(&self, wrong: usize, most: f64) -> bool {
        let runs = self.runs as f64;
        let chance =
            if self.runs < 500 { 1.0 } else { 1.645 * (most * (1.0 - most) * runs).sqrt() };
        wrong as f64 <= (most * runs).floor() + chance
    }
}

fn count(cell: &Cell, runs: u64) -> Count {
    let mut count = Count::default();
    for seed in 0..runs {
        let mut run = Scenario { seed: 70_000 + seed, alone: true, ..cell.scenario.clone() }.run();
        (cell.change)(&mut run);
        (cell.draw)(&mut run, seed);
        count.add(&run.promise(), &cell.scenario.shares);
    }
    count
}

/// Judges `runs` runs of each cell, prints the table, and fails with the cells out of bounds.
pub(crate) fn table(cells: Vec<Cell>, runs: u64) {
    let mut wrong = Vec::new();
    for cell in cells {
        let mut found = count(&cell, runs);
        found.half.sort_by(f64::total_cmp);
        println!(
            "| {} | {} | {} | {} | {} | {} | {:.1} % | {:.1} % |",
            cell.name,
            found.runs,
            found.kept,
            found.broken,
            found.undecided,
            found.void,
            100.0 * found.coverage(),
            100.0 * found.half[found.half.len() / 2]
        );
        let (right, falsely) = match cell.truth {
            Truth::Holds => (found.kept, found.broken),
            Truth::Fails => (found.broken, found.kept),
        };
        if !found.is_rare(falsely, cell.most) {
            wrong.push(format!("{}: {falsely} of {} false", cell.name, found.runs));
        }
        if (right as f64) < cell.least * found.runs as f64 {
            wrong.push(format!("{}: only {right} of {} right", cell.name, found.runs));
        }
        let low = if found.intervals >= 4000 { 0.93 } else { 0.88 };
        if cell.covers && found.intervals > 0 && found.coverage() < low {
            wrong.push(format!("{}: {:.3} covered", cell.name, found.coverage()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The shares of a ladder with the first group at this multiple of its own.
pub(crate) fn shifted(groups: usize, times: f64) -> Vec<f64> {
    let exact = Scenario::new(&ladder(groups)).shares;
    let rest = (1.0 - exact[0] * times) / (1.0 - exact[0]);
    let other =
        |(index, share): (usize, &f64)| if index == 0 { share * times } else { share * rest };
    exact.iter().enumerate().map(other).collect()
}

pub(crate) fn exact(groups: usize, repeats: usize, between: f64) -> Scenario {
    let server = white(0.1);
    Scenario { repeats, between, server, seconds: 10.0, ..Scenario::new(&ladder(groups)) }
}

/// Finding 1: shares that are exact on average and scatter from one repeat to the next.
fn scatter(most_groups: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (groups, between) in
        [(2, 0.3), (4, 0.3), (8, 0.3), (16, 0.3), (64, 0.2), (128, 0.2), (256, 0.2)]
    {
        for repeats in [2, 3, 5] {
            if groups > most_groups {
                continue;
            }
            let name = format!("{groups} groups, {repeats} repeats, sd {between} between them");
            let scenario = exact(groups, repeats, between);
            cells.push(Cell { covers: true, ..Cell::new(name, Truth::Holds, scenario) });
        }
    }
    cells
}

/// Finding 4: what one repeat cannot show, near the margin.
fn near() -> Vec<Cell> {
    let mut cells = Vec::new();
    for repeats in [1, 2, 3, 4, 5] {
        for (times, truth) in [
            (0.85, Truth::Fails),
            (0.88, Truth::Fails),
            (1.0, Truth::Holds),
            (1.05, Truth::Holds),
            (1.12, Truth::Fails),
            (1.15, Truth::Fails),
        ] {
            let name = format!("16 groups, {repeats} repeats, sd 0.03 between them, {times} x");
            let scenario = exact(16, repeats, 0.03).shares(&shifted(16, times));
            // If three repeats kept more, a group that scatters four times as much would be kept at
            // 1.12 x in 4 to 8 % of the runs.
            let least = if times == 1.0 { [0.0, 0.0, 0.0, 0.1, 0.8, 0.95][repeats] } else { 0.0 };
            cells.push(Cell { least, covers: repeats > 1, ..Cell::new(name, truth, scenario) });
        }
    }
    cells
}

/// How many repeats keep what is exact, by the number of groups.
fn enough() -> Vec<Cell> {
    let mut cells = Vec::new();
    for groups in [2, 4, 8, 16, 64] {
        for repeats in [3, 4, 5] {
            let name = format!("{groups} groups, {repeats} repeats, sd 0.02 between them");
            let scenario = exact(groups, repeats, 0.02);
            cells.push(Cell { covers: true, ..Cell::new(name, Truth::Holds, scenario) });
        }
    }
    cells
}

/// No scatter between repeats: what a decision needs.
fn quiet() -> Vec<Cell> {
    let mut cells = Vec::new();
    for groups in [2, 4, 16] {
        for repeats in [2, 3, 5] {
            let name = format!("{groups} groups, {repeats} repeats, nothing scatters between them");
            // Two repeats of a group have one degree of freedom.
            let least = match (groups, repeats) {
                (2, 2) => 0.2,
                (4, 2) => 0.7,
                (16, 2) => 0.3,
                _ => 0.95,
            };
            let scenario = exact(groups, repeats, 0.0);
            cells.push(Cell { least, covers: true, ..Cell::new(name, Truth::Holds, scenario) });
        }
        let name = format!("{groups} groups, 3 repeats, the lightest at 2 x");
        let scenario = exact(groups, 3, 0.0).shares(&shifted(groups, 2.0));
        cells.push(Cell { least: 0.99, covers: true, ..Cell::new(name, Truth::Fails, scenario) });
    }
    cells
}

fn twice_before(time: f64, group: usize, end: f64) -> f64 {
    if time < end && group % 8 == 2 { 2.0 } else { 1.0 }
}

/// Relative rate of a group at a time.
type Rate = fn(f64, usize) -> f64;

/// Finding 3: two of 16 groups have twice their share at first.
fn bad_first() -> Vec<Cell> {
    let rates: [(u32, Rate); 5] = [
        (5, |time, group| twice_before(time, group, 5.0)),
        (10, |time, group| twice_before(time, group, 10.0)),
        (15, |time, group| twice_before(time, group, 15.0)),
        (20, |time, group| twice_before(time, group, 20.0)),
        (22, |time, group| twice_before(time, group, 22.0)),
    ];
    let mut cells = Vec::new();
    for (end, rate) in rates {
        for repeats in [1, 3] {
            let scenario = Scenario {
                server: Server::Scripted { rate, deviation: 0.05 },
                seconds: 45.0,
                warm_up: WarmUpRecord::Auto,
                repeats,
                ..Scenario::new(&ladder(16))
            };
            let name = format!("two of 16 groups at 2 x for {end} of 45 s, {repeats} repeats");
            cells.push(Cell::new(name, Truth::Fails, scenario));
        }
    }
    cells
}

/// Finding 3: the shares are exact while the total doubles.
fn ramps() -> Vec<Cell> {
    let ramp = |seconds: f64, rate: fn(f64, usize) -> f64| Scenario {
        server: Server::Scripted { rate, deviation: 0.05 },
        warm_up: WarmUpRecord::Auto,
        seconds,
        repeats: 3,
        ..Scenario::new(&LADDER)
    };
    let short = ramp(9.0, |time, _| 1.0 + (time / 5.0).clamp(0.0, 1.0));
    let long = ramp(30.0, |time, _| 1.0 + (time / 30.0).clamp(0.0, 1.0));
    let cell = |name: &str, scenario| Cell {
        least: 0.95,
        covers: true,
        ..Cell::new(name, Truth::Holds, scenario)
    };
    vec![
        cell("exact, the total doubles over 5 of 9 s, 3 repeats", short),
        cell("exact, the total doubles over all of 30 s, 3 repeats", long),
    ]
}

/// Finding 2: a server that changes to another state and starts in the good one.
fn states() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (good_s, bad_s, seconds) in [(2.0, 4.0, 10.0), (5.0, 10.0, 10.0), (5.0, 5.0, 10.0)] {
        for repeats in [1, 3, 5] {
            let server = Server::States { good_s, bad_s, deviation: 0.05 };
            let scenario = Scenario {
                server,
                seconds,
                repeats,
                warm_up: WarmUpRecord::Auto,
                ..Scenario::new(&ladder(16))
            };
            let name =
                format!("states of {good_s} and {bad_s} s, {repeats} repeats of {seconds} s");
            let most = if good_s < 3.0 { 0.01 } else { 0.05 };
            cells.push(Cell { most, ..Cell::new(name, Truth::Fails, scenario) });
        }
    }
    cells
}

/// Finding 6: noise with an autocorrelation time of up to half of the window.
fn memory() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (correlation, seconds) in [(0.6, 20.0), (0.9, 20.0), (0.95, 20.0), (0.98, 60.0)] {
        for (repeats, times) in [(1, 1.0), (3, 1.0), (3, 1.12), (5, 1.0)] {
            let scenario = Scenario {
                server: Server::Noise { deviation: 0.2, correlation },
                warm_up: WarmUpRecord::Auto,
                seconds,
                repeats,
                ..Scenario::new(&LADDER)
            }
            .shares(&shifted(4, times));
            let truth = if times > 1.0 { Truth::Fails } else { Truth::Holds };
            let name = format!("AR({correlation}), {repeats} x {seconds} s, {times} x");
            // A single window cannot estimate correlated noise, and is never kept.
            let covers = repeats > 1 || correlation < 0.9;
            cells.push(Cell { covers, ..Cell::new(name, truth, scenario) });
        }
    }
    for repeats in [1, 3, 5] {
        for (name, server) in [
            ("turns of 0.7 s", Server::Turns { round_s: 0.7, jitter: 0.5 }),
            ("heavy tails", Server::Heavy { tail: 3.0 }),
            ("bursts of 1 s", Server::Bursts { mean_s: 1.0 }),
        ] {
            let warm_up = WarmUpRecord::Auto;
            let scenario = Scenario { server, repeats, warm_up, ..Scenario::new(&LADDER) };
            let name = format!("{name}, {repeats} x 20 s");
            cells.push(Cell { covers: true, ..Cell::new(name, Truth::Holds, scenario) });
        }
    }
    cells
}

/// The sampler is silent for 9 of 20 s in every repeat: nothing may be decided.
fn gaps() -> Vec<Cell> {
    let silent = |run: &mut Run| {
        for repeat in 0..run.samples[0].len() {
            run.silence(repeat, 6.0, 15.0);
        }
    };
    let mut cells = Vec::new();
    for (name, server) in [
        ("AR(0.6)", Server::Noise { deviation: 0.3, correlation: 0.6 }),
        ("bursts", Server::Bursts { mean_s: 1.0 }),
    ] {
        for truth in [Truth::Holds, Truth::Fails] {
            for repeats in [1, 3] {
                let scenario = Scenario { server, repeats, ..Scenario::new(&LADDER) };
                let name = format!("{name}, the sampler silent for 9 of 20 s, {repeats} repeats");
                cells.push(Cell { change: silent, ..Cell::new(name, truth, scenario) });
            }
        }
    }
    cells
}

/// One repeat of three failed after its group had starved: kept would ignore the evidence.
fn failed() -> Vec<Cell> {
    let starved = |run: &mut Run| {
        run.trial().repeats[1].fault =
            Some(Fault { kind: "workload".to_owned(), message: "reader failed".to_owned() });
    };
    let scenario = Scenario { repeats: 3, ..Scenario::new(&LADDER) };
    vec![Cell {
        change: starved,
        ..Cell::new("a workload of one of 3 repeats failed", Truth::Fails, scenario)
    }]
}

#[test]
fn exact_shares_with_scatter_are_not_broken() {
    table(scatter(64), 30);
}

#[test]
fn shares_near_the_margin_are_decided_by_repeats() {
    table(near(), 25);
}

#[test]
fn quiet_shares_are_decided_by_two_or_three_repeats() {
    table(quiet(), 20);
}

#[test]
fn the_cut_warm_up_is_judged() {
    table(bad_first(), 6);
}

#[test]
fn shares_need_no_steady_total() {
    table(ramps(), 10);
}

#[test]
fn states_as_long_as_a_window_are_not_kept() {
    table(states(), 25);
}

#[test]
fn correlated_noise_does_not_make_intervals_too_narrow() {
    table(memory(), 12);
}

#[test]
fn gaps_are_not_judged() {
    table(gaps(), 10);
}

#[test]
fn a_failed_repeat_forbids_kept() {
    table(failed(), 10);
}

/// All cells with 1000 runs each, or those with `ASSAY_CELLS` in their names with `ASSAY_SIMULATE`.
#[test]
#[ignore = "minutes of one core; docs/judging.md has its tables"]
fn full_tables() {
    let runs = std::env::var("ASSAY_SIMULATE").ok().and_then(|text| text.parse().ok());
    let runs = runs.unwrap_or(1000);
    let cells = [
        scatter(256),
        near(),
        enough(),
        quiet(),
        bad_first(),
        ramps(),
        states(),
        memory(),
        gaps(),
        failed(),
    ];
    let only = std::env::var("ASSAY_CELLS").unwrap_or_default();
    let cells = cells.into_iter().flatten().chain(estimator::all());
    table(cells.filter(|cell| cell.name.contains(&only)).collect(), runs);
}
