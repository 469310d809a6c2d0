//! Synthetic runs that violate the assumptions of the estimator: groups that scatter alike and
//! independently, independent looks, no optional stopping.

use assay_judge::is_enough;
use assay_run_folder::{EveryRecord, RelationRecord, StopRecord, WarmUpRecord};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::placement;
use crate::synthetic::{Run, Scenario, Server, normal};
use crate::tables::{Cell, Truth, exact, ladder, shifted, table};

/// Cells that `full_tables` judges too.
pub(crate) fn all() -> impl Iterator<Item = Cell> {
    let cells = [
        together(64),
        jumping(64),
        lopsided(),
        stopped(),
        placed_threads(),
        every(),
        metrics(),
        edges(),
    ];
    cells.into_iter().flatten()
}

/// Weights are obeyed as `w^0.9` one time and as `w^1.1` the next: one number moves all groups.
fn together(most_groups: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (groups, repeats, together) in [
        (4, 2, 0.2),
        (4, 3, 0.2),
        (16, 2, 0.1),
        (16, 2, 0.2),
        (16, 3, 0.2),
        (16, 5, 0.1),
        (64, 2, 0.1),
        (64, 3, 0.1),
    ] {
        if groups > most_groups {
            continue;
        }
        let name = format!("{groups} groups, {repeats} repeats, w^(1 + d), sd of d {together}");
        let scenario = Scenario { together, ..exact(groups, repeats, 0.0) };
        cells.push(Cell { covers: true, ..Cell::new(name, Truth::Holds, scenario) });
    }
    cells
}

/// One group scatters more than all others of its weight.
fn jumping(most_groups: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (groups, repeats, between, jump, times, truth, most) in [
        (16, 2, 0.01, 4.0, 1.12, Truth::Fails, 0.02),
        (16, 2, 0.03, 4.0, 1.12, Truth::Fails, 0.02),
        (16, 3, 0.03, 4.0, 1.12, Truth::Fails, 0.02),
        (16, 5, 0.03, 4.0, 1.12, Truth::Fails, 0.02),
        (64, 3, 0.02, 4.0, 1.12, Truth::Fails, 0.025),
        (16, 2, 0.05, 10.0, 1.0, Truth::Holds, 0.01),
        (16, 3, 0.05, 10.0, 1.0, Truth::Holds, 0.01),
    ] {
        if groups > most_groups {
            continue;
        }
        let name = format!(
            "{groups} groups, {repeats} repeats, sd {between}, of one {jump} times that, {times} x"
        );
        let scenario = Scenario { jump, ..exact(groups, repeats, between) };
        let scenario = scenario.shares(&shifted(groups, times));
        cells.push(Cell { most, ..Cell::new(name, truth, scenario) });
    }
    cells
}

/// Many repeats in which the share of the lightest group is log-normal, so that its mean is more than what
/// it mostly got. Windows are short, since only the repeats matter here.
fn lopsided() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (sigma, repeats, times, truth) in [
        (0.3, 60, 1.12, Truth::Fails),
        (0.4, 100, 1.12, Truth::Fails),
        (0.4, 200, 1.12, Truth::Fails),
        (0.5, 100, 0.91, Truth::Holds),
        (1.0, 60, 1.0, Truth::Holds),
        (1.0, 60, 0.91, Truth::Holds),
    ] {
        let name =
            format!("a share of 16 is log-normal, sigma {sigma}, {repeats} repeats, {times} x");
        let scenario = Scenario { lopsided: sigma, seconds: 3.0, ..exact(16, repeats, 0.02) };
        let scenario = scenario.shares(&shifted(16, times));
        let most = if truth == Truth::Fails { 0.02 } else { 0.01 };
        cells.push(Cell { most, covers: true, ..Cell::new(name, truth, scenario) });
    }
    cells
}

/// A trial of at most ten repeats that ends once it is precise.
fn stopped() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (groups, between, times, truth) in [
        (2, 0.03, 1.12, Truth::Fails),
        (2, 0.1, 1.0, Truth::Holds),
        (4, 0.05, 1.12, Truth::Fails),
        (16, 0.05, 1.0, Truth::Holds),
        (16, 0.05, 1.09, Truth::Holds),
        (16, 0.05, 1.12, Truth::Fails),
    ] {
        let name = format!("{groups} groups, sd {between}, {times} x, at most 10, stop = precise");
        let scenario = exact(groups, 10, between).shares(&shifted(groups, times));
        let draw = Box::new(|run: &mut Run, _| stop_once_precise(run));
        let most = if truth == Truth::Fails { 0.02 } else { 0.01 };
        cells.push(Cell { draw, most, covers: true, ..Cell::new(name, truth, scenario) });
    }
    cells
}

fn stop_once_precise(run: &mut Run) {
    run.trial().stop = StopRecord::Precise;
    run.trial().planned_repeats = Some(run.trial().repeats.len());
    for repeats in 3..run.trial().repeats.len() {
        let mut manifest = run.manifest.clone();
        manifest.trials[0].repeats.truncate(repeats);
        if is_enough(&manifest, 0, &run.samples[0][..repeats]) {
            run.manifest = manifest;
            run.samples[0].truncate(repeats);
            return;
        }
    }
}

/// Threads out of place for spells of some seconds; 20 s of looks at 10 Hz.
fn placed_threads() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (out, spell_s, truth, most) in [
        (0.15, 1.0, Truth::Fails, 0.01),
        // Threads stay in place for 17 s here, nearly as long as a window.
        (0.15, 3.0, Truth::Fails, 0.05),
        (0.08, 1.0, Truth::Holds, 0.01),
        (0.08, 3.0, Truth::Holds, 0.01),
    ] {
        for repeats in [1, 2, 3, 5] {
            let name = format!(
                "threads out of place for {out} of the time, {spell_s} s each, {repeats} repeats"
            );
            let scenario = Scenario { repeats, ..Scenario::new(&[100, 200]) };
            let model = placement::run("threads");
            let draw = Box::new(move |run: &mut Run, seed| {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                place(run, &model, || looks_in_place(&mut random, out, spell_s));
            });
            cells.push(Cell { draw, most, ..Cell::new(name, truth, scenario) });
        }
    }
    cells
}

/// Number of 200 looks in which a thread is in place, in equilibrium.
fn looks_in_place(random: &mut ChaCha8Rng, out: f64, spell_s: f64) -> u64 {
    let leaves = 0.1 / spell_s;
    let comes = leaves * out / (1.0 - out);
    let mut is_out = random.random::<f64>() < out;
    let mut held = 0;
    for _ in 0..200 {
        is_out ^= random.random::<f64>() < if is_out { leaves } else { comes };
        held += u64::from(!is_out);
    }
    held
}

/// Gives a run one placed workload with these looks in each repeat.
fn place(run: &mut Run, model: &Run, mut held: impl FnMut() -> u64) {
    let trial = &model.manifest.trials[0];
    run.manifest.host = model.manifest.host.clone();
    run.trial().placements.clone_from(&trial.placements);
    run.trial().promises.clone_from(&trial.promises);
    run.trial().promises[0].within = 0.1;
    for repeat in &mut run.trial().repeats {
        repeat.placements.clone_from(&trial.repeats[0].placements);
        let reading = &mut repeat.placements[0];
        (reading.looks, reading.samples, reading.on_cpus) = (200, 200, held());
    }
}

/// Seconds in spells of two states, one of which is outside the margin.
fn every() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (good_s, bad_s, part, truth, most) in [
        // Of these states 77, 87 and 88 % of all seconds are good.
        (5.0, 1.0, 0.9, Truth::Fails, 0.01),
        (18.0, 2.0, 0.95, Truth::Fails, 0.05),
        (9.0, 1.0, 0.8, Truth::Holds, 0.01),
        (18.0, 2.0, 0.8, Truth::Holds, 0.01),
    ] {
        for repeats in [1, 2, 3, 5] {
            let name = format!(
                "{part} of all seconds, states of {good_s} and {bad_s} s, {repeats} repeats of 30 s"
            );
            let server = Server::States { good_s, bad_s, deviation: 0.02 };
            let mut scenario =
                Scenario { server, repeats, seconds: 30.0, ..Scenario::new(&ladder(4)) };
            scenario.promise.every = Some(EveryRecord { span_s: 1.0, part });
            // The mean over the window is not tested here.
            scenario.promise.within = 0.15;
            cells.push(Cell { most, ..Cell::new(name, truth, scenario) });
        }
    }
    cells
}

/// Workload metrics on the edge of the margin, where either verdict is false.
fn metrics() -> Vec<Cell> {
    let mut cells = Vec::new();
    for repeats in [2, 3, 5] {
        for (times, truth) in [(0.9, Truth::Holds), (0.88, Truth::Fails)] {
            let name = format!("a metric of 4 groups, {times} x, sd 0.05, {repeats} repeats");
            let scenario = Scenario { repeats, ..Scenario::new(&[100; 4]) };
            let scenario = scenario.promise("reader.read_iops", RelationRecord::AtLeast(1000.0));
            let draw = Box::new(move |run: &mut Run, seed| {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                for repeat in &mut run.trial().repeats {
                    for result in &mut repeat.workloads {
                        let value = 1000.0 * times * (0.05 * normal(&mut random)).exp();
                        result.metrics.insert("read_iops".to_owned(), value);
                    }
                }
            });
            let most = if truth == Truth::Fails { 0.02 } else { 0.01 };
            cells.push(Cell { draw, most, ..Cell::new(name, truth, scenario) });
        }
    }
    cells
}

/// Just inside the margin and just outside, with noise that is hard to estimate.
fn edges() -> Vec<Cell> {
    let mut cells = Vec::new();
    let noise = |correlation| Server::Noise { deviation: 0.2, correlation };
    for (name, server, seconds) in [
        ("AR(0.9)", noise(0.9), 30.0),
        ("AR(0.98)", noise(0.98), 60.0),
        ("bursts of 3 s", Server::Bursts { mean_s: 3.0 }, 60.0),
        ("turns of 3 s", Server::Turns { round_s: 3.0, jitter: 0.5 }, 20.0),
        ("heavy tails", Server::Heavy { tail: 2.2 }, 30.0),
    ] {
        for (groups, repeats) in [(2, 1), (16, 1), (2, 2), (3, 3), (16, 2), (16, 3), (16, 5)] {
            for (times, truth) in [(1.09, Truth::Holds), (1.12, Truth::Fails)] {
                let name = format!("{name}, {groups} groups, {repeats} x {seconds} s, {times} x");
                let warm_up = WarmUpRecord::Auto;
                let scenario = Scenario {
                    server,
                    repeats,
                    seconds,
                    warm_up,
                    ..Scenario::new(&ladder(groups))
                };
                let scenario = scenario.shares(&shifted(groups, times));
                let most = if truth == Truth::Fails { 0.02 } else { 0.01 };
                cells.push(Cell { most, ..Cell::new(name, truth, scenario) });
            }
        }
    }
    for repeats in [2, 3, 5] {
        for (times, truth) in [(0.9, Truth::Holds), (0.88, Truth::Fails)] {
            let name = format!("a floor of 4 groups, {repeats} repeats, sd 0.05, {times} x");
            let mut scenario = exact(4, repeats, 0.05);
            scenario.shares = vec![0.25; 4];
            let floor = RelationRecord::AtLeast(100e6 / times);
            let scenario = scenario.promise("io.bytes", floor);
            let most = if truth == Truth::Fails { 0.02 } else { 0.01 };
            cells.push(Cell { most, ..Cell::new(name, truth, scenario) });
        }
    }
    cells
}

#[test]
fn verdicts_near_the_margin_are_rarely_false() {
    table(edges(), 6);
}

#[test]
fn groups_that_move_together_break_no_promise_that_holds() {
    table(together(16), 60);
}

#[test]
fn a_group_that_scatters_more_is_judged_separately() {
    table(jumping(16), 60);
}

#[test]
fn a_lopsided_share_is_judged_by_its_mean() {
    table(lopsided().drain(1..2).collect(), 25);
}

#[test]
fn stopping_once_precise_biases_no_verdict() {
    table(stopped(), 15);
}

#[test]
fn correlated_looks_give_no_false_verdicts() {
    table(placed_threads(), 60);
}

#[test]
fn correlated_spans_give_no_false_verdicts() {
    table(every(), 20);
}

#[test]
fn metrics_on_the_edge_are_rarely_called_broken() {
    table(metrics(), 100);
}
