//! The circular block bootstrap, drawn jointly over all groups.
//!
//! One draw picks blocks of time at random and takes *the same blocks of every group*: shares of
//! one resource depend on each other, and resampling the groups apart would lose that. Blocks
//! wrap around the end (Politis and Romano 1992), so that every step is picked equally often.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::block_length::{self, Memory};
use crate::grid::Grid;

/// Draws of each repeat.
pub(crate) const DRAWS: usize = 2000;

/// More blocks than this cost time and hardly narrow an interval: the quantile of t with 200
/// degrees of freedom is within 1 % of that of the normal distribution. Longer blocks than
/// necessary lose nothing else.
const MOST_BLOCKS: usize = 200;

/// Half a second: shorter blocks would cut through the turns of most schedulers.
const SHORTEST_BLOCK: usize = 5;

/// With this many blocks a mean over them can be trusted.
pub(crate) const ENOUGH_BLOCKS: usize = 10;

/// Neighbouring blocks count as alike above this correlation. That of ten independent blocks is
/// -0.1 on average, because the mean is taken from the blocks themselves.
const NOT_ALIKE: f64 = 0.05;

/// Bounds of the correction of a variance for the length of its blocks.
const LEAST_CORRECTION: f64 = 0.8;
const MOST_CORRECTION: f64 = 2.0;

/// What is estimated for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Its part of what all groups got.
    Share,
    /// Its amount per second.
    Rate,
}

impl Quantity {
    /// What the amount of a group in one repeat is divided by.
    pub(crate) fn whole(self, grid: &Grid) -> f64 {
        match self {
            Self::Share => grid.totals().iter().sum(),
            Self::Rate => grid.seconds(),
        }
    }
}

/// One repeat: an estimate for each group and how it scatters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resampled {
    /// The natural logarithm of the share or rate of each group.
    pub(crate) logs: Vec<f64>,
    /// `draws * groups` deviations of the logarithm from its mean over the draws.
    pub(crate) deviations: Vec<f64>,
    /// How many blocks the repeat holds: the number of nearly independent observations.
    pub(crate) blocks: f64,
    /// The largest amount that any group got in one step, as a share or rate of the whole.
    pub(crate) quantum: f64,
    /// In how many turns each group was served, 0 for a group that got nothing at all.
    pub(crate) turns: Vec<f64>,
}

/// Names one stream of random numbers of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    /// The run's seed.
    pub(crate) seed: u64,
    /// Which trial and which repeat of it.
    pub(crate) number: u64,
}

/// Steps of a block for these groups: the longest that any group needs, so that no group's
/// interval is too narrow.
///
/// With it the factor by which each group's scatter is corrected for what blocks of this length
/// miss: to first order, and within bounds, since it is estimated from the same data.
fn blocks(grid: &Grid, quantity: Quantity) -> (usize, Vec<f64>) {
    let influences = influences(grid, quantity);
    let memories: Vec<Memory> =
        influences.iter().map(|influence| block_length::memory(influence)).collect();
    let longest = memories.iter().map(|memory| memory.block).fold(1.0, f64::max).ceil() as usize;
    let at_least = SHORTEST_BLOCK.max(grid.steps.div_ceil(MOST_BLOCKS));
    let block = longest.max(at_least).clamp(1, grid.steps.max(1));
    let block = shortened(&influences, grid.steps, block, at_least);
    let mut corrected = memories.iter().map(|memory| {
        (1.0 + memory.missed / block as f64).clamp(LEAST_CORRECTION, MOST_CORRECTION).sqrt()
    });
    let of_group = |amount: &f64| if *amount > 0.0 { corrected.next().unwrap_or(1.0) } else { 1.0 };
    (block, grid.totals().iter().map(of_group).collect())
}

/// Where fewer than ten blocks would be left, shorter ones are tried that give ten. A length is
/// asked for by any lasting correlation, but only one that makes neighbouring blocks *alike*
/// makes intervals of short blocks too narrow; taking turns makes them unlike, or neither. So
/// the shorter blocks are used unless neighbours are alike, on average over all groups.
fn shortened(influences: &[Vec<f64>], steps: usize, block: usize, at_least: usize) -> usize {
    let shorter = steps / ENOUGH_BLOCKS;
    if shorter < at_least || shorter >= block {
        return block;
    }
    // Several lengths, since one may happen to be a multiple of a round.
    let lengths: Vec<usize> = (shorter.div_ceil(2)..=shorter).collect();
    let pairs = influences.iter().flat_map(|series| lengths.iter().map(move |one| (series, *one)));
    let alike: f64 = pairs.map(|(series, length)| neighbours(series, length)).sum();
    let count = influences.len() * lengths.len();
    if alike <= NOT_ALIKE * count as f64 { shorter } else { block }
}

/// For each group that got anything, the influence of each step on the logarithm of its share
/// or rate: the sum is the estimate's error.
fn influences(grid: &Grid, quantity: Quantity) -> Vec<Vec<f64>> {
    let total = grid.total_increments();
    let overall: f64 = total.iter().sum();
    let served = grid.totals().iter().enumerate().filter(|(_, amount)| **amount > 0.0);
    served
        .map(|(group, amount)| {
            let mut influence = grid.increments(group);
            for (value, all) in influence.iter_mut().zip(&total) {
                let common = if quantity == Quantity::Share { all / overall } else { 0.0 };
                *value = *value / amount - common;
            }
            influence
        })
        .collect()
}

/// The correlation of the sums over neighbouring blocks. Blocks start at every step, so that all
/// of the series is used.
fn neighbours(series: &[f64], block: usize) -> f64 {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let mut sum: f64 = series[..block].iter().map(|value| value - mean).sum();
    let mut sums = vec![sum];
    for (leaves, enters) in series.iter().zip(&series[block..]) {
        sum += enters - leaves;
        sums.push(sum);
    }
    let variance = sums.iter().map(|sum| sum * sum).sum::<f64>() / sums.len() as f64;
    let pairs = sums.iter().zip(&sums[block..]);
    let covariance = pairs.map(|(one, next)| one * next).sum::<f64>() / (sums.len() - block) as f64;
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// Resamples one repeat; `None` when all groups together got nothing.
pub(crate) fn resample(
    grid: &Grid,
    quantity: Quantity,
    draws: usize,
    stream: Stream,
) -> Option<Resampled> {
    let overall: f64 = grid.totals().iter().sum();
    if overall <= 0.0 || grid.steps == 0 {
        return None;
    }
    let (block, corrected) = blocks(grid, quantity);
    let blocks = grid.steps as f64 / block as f64;
    let divisor = quantity.whole(grid);
    let quantum = grid.largest_increment() / divisor;
    let seen: Vec<f64> = grid.totals().iter().map(|amount| amount / divisor).collect();
    let mut deviations = draw(grid, quantity, draws, block, stream);
    for draw in deviations.chunks_exact_mut(grid.width) {
        draw.iter_mut().zip(&seen).for_each(|(value, seen)| *value = floored_log(*value, *seen));
    }
    let scale = spread_correction(grid.steps, block);
    let scales: Vec<f64> = corrected.iter().map(|corrected| corrected * scale).collect();
    centre(&mut deviations, &scales);
    Some(Resampled {
        logs: seen.iter().map(|value| log_or_half(*value, quantum)).collect(),
        deviations,
        blocks,
        quantum,
        turns: (0..grid.width).map(|group| turns(&grid.increments(group))).collect(),
    })
}

/// The effective number of steps over which an amount is spread, `(sum x)^2 / sum x^2`: all of
/// them when each step got the same, one when one step got it all.
fn turns(increments: &[f64]) -> f64 {
    let sum: f64 = increments.iter().sum();
    let squares: f64 = increments.iter().map(|value| value * value).sum();
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// The logarithm of a drawn value. A draw in which a group got nothing, or next to nothing,
/// counts as a tenth of what the group really got: far out, but a number.
fn floored_log(value: f64, seen: f64) -> f64 {
    value.max(0.1 * seen).max(f64::MIN_POSITIVE).ln()
}

/// The logarithm of what a group got; half of the largest step for a group that got nothing,
/// which matters only when it was served in another repeat.
fn log_or_half(value: f64, quantum: f64) -> f64 {
    if value > 0.0 { value.ln() } else { (0.5 * quantum).ln() }
}

/// `draws * groups` shares or rates.
fn draw(grid: &Grid, quantity: Quantity, draws: usize, block: usize, stream: Stream) -> Vec<f64> {
    let width = grid.width;
    let wrapped = wrapped(grid, block);
    let picks = picks(grid.steps, block);
    let seconds = (picks * block) as f64 * grid.step_s();
    let mut random = ChaCha8Rng::seed_from_u64(stream.seed);
    random.set_stream(stream.number);
    let mut values = vec![0.0; draws * width];
    for sums in values.chunks_exact_mut(width.max(1)) {
        for _ in 0..picks {
            let first = random.random_range(0..grid.steps);
            let before = &wrapped[first * width..(first + 1) * width];
            let after = &wrapped[(first + block) * width..(first + block + 1) * width];
            for ((sum, after), before) in sums.iter_mut().zip(after).zip(before) {
                *sum += after - before;
            }
        }
        let divisor = match quantity {
            Quantity::Share => sums.iter().sum::<f64>(),
            Quantity::Rate => seconds,
        };
        // Blocks in which nobody got anything leave zeros, which the floor takes care of.
        if divisor > 0.0 {
            sums.iter_mut().for_each(|sum| *sum /= divisor);
        }
    }
    values
}

/// The cumulative rows, continued over the end by one block from the beginning, so that the sum
/// over any block is one difference.
fn wrapped(grid: &Grid, block: usize) -> Vec<f64> {
    let mut rows = grid.sums.clone();
    for row in 1..=block.min(grid.steps) {
        let continued = grid.row(row).iter().zip(grid.totals()).map(|(value, total)| value + total);
        rows.extend(continued);
    }
    rows
}

fn picks(steps: usize, block: usize) -> usize {
    (steps as f64 / block as f64).round().max(1.0) as usize
}

/// Two known shortfalls of the draws' spread: overlapping blocks scatter about the mean of the
/// very series they are taken from, which takes away `b / n` of their variance; and a draw of
/// whole blocks is not exactly as long as the series.
fn spread_correction(steps: usize, block: usize) -> f64 {
    let (n, b) = (steps as f64, block as f64);
    let drawn = picks(steps, block) as f64 * b;
    // A single block scatters not at all; the caller refuses so few blocks.
    if n <= b { 1.0 } else { (drawn / n / (1.0 - b / n)).sqrt() }
}

/// Takes each group's mean over the draws away and scales what is left by the group's own factor.
fn centre(values: &mut [f64], scales: &[f64]) {
    let width = scales.len();
    if width == 0 || values.is_empty() {
        return;
    }
    let draws = (values.len() / width) as f64;
    let mut means = vec![0.0; width];
    for draw in values.chunks_exact(width) {
        means.iter_mut().zip(draw).for_each(|(mean, value)| *mean += value / draws);
    }
    for draw in values.chunks_exact_mut(width) {
        let each = draw.iter_mut().zip(&means).zip(scales);
        each.for_each(|((value, mean), scale)| *value = (*value - mean) * scale);
    }
}
