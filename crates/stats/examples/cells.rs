//! The rule on runs of known truth: docs/results/rule-cells.csv. `cargo run --release -p assay-stats --example cells`.
//!
//! A start has 2.5 s and costs 0.7 s more. What a group gets in it is its true share times a factor that is normal on
//! logarithms: the scatter between starts, and 10 % a tenth of a second within one. "Truth" is the mean over many starts.

#![allow(clippy::print_stdout, reason = "it prints the table")]

use assay_stats::rule::{Estimate, LOOKS, MOST, Starts, mean};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const MARGIN: f64 = 0.1;
const START_S: f64 = 2.5 + 0.7;
const WITHIN: f64 = 0.02;
const RUNS: usize = 1000;

/// Of a run: kept, broken, its starts, and whether the bounds contain the truth.
type Decided = (bool, bool, usize, bool);

/// How the starts of a run differ.
#[derive(Clone, Copy)]
enum Scatter {
    /// Independently, by this deviation.
    Groups(f64),
    /// The first group so many times as much as the others.
    One(f64, f64),
    /// Half of the groups up and half of them down, by one number.
    Halves(f64),
    /// The first group has this multiple in this part of the starts.
    States(f64, f64),
    /// Each start resembles the one before it, with this correlation.
    Remember(f64, f64),
}

struct Cell {
    name: &'static str,
    groups: usize,
    truth: f64,
    scatter: Scatter,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// The shares of one run, `[start][group]`, of these on average.
fn run(cell: &Cell, base: &[f64], random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut last: Vec<f64> = base.iter().map(|_| normal(random)).collect();
    let mut start = || {
        let together = normal(random);
        let mut shares: Vec<f64> = base.to_vec();
        for (group, share) in shares.iter_mut().enumerate() {
            let moved = match cell.scatter {
                Scatter::Groups(sd) => sd * normal(random),
                Scatter::One(sd, times) => {
                    sd * normal(random) * if group == 0 { times } else { 1.0 }
                }
                Scatter::Halves(sd) => sd * together * if group % 8 < 4 { 1.0 } else { -1.0 },
                Scatter::States(times, part) => {
                    let is_bad = group == 0 && random.random::<f64>() < part;
                    0.01 * normal(random) + if is_bad { times.ln() } else { 0.0 }
                }
                Scatter::Remember(sd, phi) => {
                    last[group] = phi * last[group] + (1.0 - phi * phi).sqrt() * normal(random);
                    sd * last[group]
                }
            };
            *share *= (moved + WITHIN * normal(random)).exp();
        }
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        shares
    };
    (0..MOST).map(|_| start()).collect()
}

/// Shares before the scatter that have the true means after it.
fn calibrated(cell: &Cell, truth: &[f64]) -> Vec<f64> {
    let mut base = truth.to_vec();
    for _ in 0..4 {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut sums = vec![0.0; base.len()];
        let runs = 20_000 / base.len();
        for starts in (0..runs).map(|_| run(cell, &base, &mut random)) {
            starts
                .iter()
                .flatten()
                .enumerate()
                .for_each(|(at, share)| sums[at % truth.len()] += share);
        }
        let count = (runs * MOST) as f64;
        for ((base, truth), sum) in base.iter_mut().zip(truth).zip(sums) {
            *base *= truth * count / sum;
        }
    }
    base
}

/// Kept, broken, the starts until then, and whether the bounds of the first group contain the truth.
fn decide(starts: &[Vec<f64>], promised: &[f64], truth: f64) -> Decided {
    for look in LOOKS {
        let of_group = |group: usize| -> Estimate {
            let numbers: Vec<f64> =
                starts[..look].iter().map(|start| start[group] / promised[group]).collect();
            mean(&numbers, promised.len(), 1.0)
        };
        let all: Vec<Estimate> = (0..promised.len()).map(of_group).collect();
        let (low, high) = (1.0 - MARGIN, 1.0 + MARGIN);
        let kept = all.iter().all(|one| one.low >= low && one.high <= high);
        let broken = all.iter().any(|one| one.broken.low > high || one.broken.high < low);
        if kept || broken || look == MOST {
            return (kept && !broken, broken, look, all[0].low <= truth && truth <= all[0].high);
        }
    }
    (false, false, MOST, false)
}

fn main() {
    let exact =
        |groups, sd| Cell { name: "exact", groups, truth: 1.0, scatter: Scatter::Groups(sd) };
    let off = |groups, truth, sd| Cell { truth, name: "one off", ..exact(groups, sd) };
    let mut cells = Vec::new();
    for groups in [4, 16, 64] {
        cells.extend([0.01, 0.02, 0.03, 0.05].map(|sd| exact(groups, sd)));
        cells.extend([1.05, 1.2].map(|truth| off(groups, truth, 0.03)));
        cells.extend([1.101, 0.899].map(|truth| off(groups, truth, 0.03)));
        for times in [4.0, 6.0] {
            let scatter = Scatter::One(0.03, times);
            cells.push(Cell {
                name: "one off that scatters more",
                scatter,
                ..off(groups, 1.101, 0.0)
            });
        }
        cells.push(Cell {
            name: "halves move together",
            scatter: Scatter::Halves(0.4),
            ..exact(groups, 0.0)
        });
        for (times, part) in [(1.6, 1.0 / 3.0), (2.0, 0.15)] {
            let truth = 1.0 + part * (times - 1.0);
            let scatter = Scatter::States(times, part);
            cells.push(Cell { name: "a state in some starts", scatter, truth, groups });
        }
        cells.push(Cell {
            name: "starts that remember",
            scatter: Scatter::Remember(0.15, 0.9),
            ..exact(groups, 0.0)
        });
    }
    println!(
        "cell,groups,scatter,truth,runs,kept,broken,mean_s,decided_in_32_s,decided_in_45_s,bounds_contain_truth"
    );
    for cell in &cells {
        let weights: Vec<f64> =
            (0..cell.groups).map(|group| [1.0, 2.0, 4.0, 8.0][group % 4]).collect();
        let sum: f64 = weights.iter().sum();
        let promised: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let first = promised[0] * cell.truth;
        let rest = (1.0 - first) / (1.0 - promised[0]);
        let mut truth: Vec<f64> = promised.iter().map(|share| share * rest).collect();
        truth[0] = first;
        let base = calibrated(cell, &truth);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let found: Vec<_> = (0..RUNS)
            .map(|_| decide(&run(cell, &base, &mut random), &promised, cell.truth))
            .collect();
        let part = |of: &dyn Fn(&Decided) -> bool| {
            found.iter().filter(|one| of(one)).count() as f64 / RUNS as f64
        };
        let within = |seconds: f64| {
            part(&|one| (one.0 || one.1) && one.2 as f64 * START_S <= seconds + 1e-9)
        };
        let scatter = match cell.scatter {
            Scatter::Groups(sd) => format!("{sd}"),
            Scatter::One(sd, times) => format!("{sd} and {times} times that"),
            Scatter::Halves(sd) => format!("{sd} together"),
            Scatter::States(times, part) => format!("{times} times in {part:.2}"),
            Scatter::Remember(sd, phi) => format!("{sd} with {phi}"),
        };
        let starts = found.iter().map(|one| one.2).sum::<usize>() as f64 / RUNS as f64;
        println!(
            "{},{},{scatter},{:.3},{RUNS},{:.3},{:.3},{:.1},{:.3},{:.3},{:.3}",
            cell.name,
            cell.groups,
            cell.truth,
            part(&|one| one.0),
            part(&|one| one.1),
            starts * START_S,
            within(32.0),
            within(45.0),
            part(&|one| one.3),
        );
    }
    // The sentence beside every verdict: how often another start is inside at least as often as it says.
    for (inside, of) in [(0.7, 8), (0.9, 8), (0.9, 24)] {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let holds = |_: &usize| {
            let starts = Starts::count((0..of).map(|_| random.random::<f64>() < inside));
            starts.another_at_least() <= inside
        };
        let runs = 20_000;
        let held = (0..runs).filter(holds).count() as f64 / f64::from(runs as u32);
        println!("another start,{of},{inside} inside,,{runs},,,,,,{held:.3}");
    }
}
