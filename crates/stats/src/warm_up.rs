//! The beginning of a repeat before its steady state.
//!
//! MSER-5 (White, Cobb and Spratt 2000; recommended as a default in the simulation literature):
//! average the series in batches of five, then cut the `d` batches that minimise `sum((y - mean)^2)
//! / (m - d)^2`, the squared half width of the mean of the rest.

use crate::batches::Quantity;
use crate::grid::Grid;

const BATCH: usize = 5;

/// A cut must lower the criterion to this part. The minimum of many noisy values is always slightly
/// below the first, and cutting for that alone would shorten steady series and make their intervals
/// too narrow.
const WORTH_CUTTING: f64 = 0.8;

/// Largest part of a window that is cut, and largest number of seconds. The cut part is judged as
/// well (`was`), and a longer one is not a warm-up but another state.
const MOST: f64 = 0.2;
const MOST_S: f64 = 10.0;

/// Number of grid steps to cut at the beginning. Shares need no steady total, so where they are
/// judged only they count: those of all groups together. Cutting for each group separately would
/// cut almost every run at 128 groups, since one of many noisy criteria always has a late minimum.
pub fn find(grid: &Grid, quantity: Quantity) -> usize {
    let total = batches(&grid.total_increments());
    let series: Vec<Vec<f64>> = match quantity {
        Quantity::Rate => vec![total],
        Quantity::Share => (0..grid.width)
            .map(|group| {
                let parts = batches(&grid.increments(group));
                let parts = parts.iter().zip(&total);
                parts.map(|(part, all)| if *all > 0.0 { part / all } else { 0.0 }).collect()
            })
            .collect(),
    };
    let most_s = (MOST * grid.seconds()).min(MOST_S);
    mser(&series, (most_s / grid.step_s()) as usize / BATCH) * BATCH
}

fn batches(series: &[f64]) -> Vec<f64> {
    series.chunks_exact(BATCH).map(|batch| batch.iter().sum()).collect()
}

/// The number of leading batches that minimises the criterion, summed over the series, each scaled
/// by its own spread so that a large group does not decide alone.
fn mser(series: &[Vec<f64>], most: usize) -> usize {
    let mut criterion = vec![0.0; most + 1];
    for values in series {
        add_criterion(values, &mut criterion);
    }
    let best = criterion.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    match (best, criterion.first()) {
        (Some((cut, least)), Some(whole)) if *least <= WORTH_CUTTING * whole => cut,
        _ => 0,
    }
}

/// Iterates from the end, so that sums over the remaining batches need one pass.
fn add_criterion(values: &[f64], criterion: &mut [f64]) {
    let length = values.len();
    let mean = values.iter().sum::<f64>() / length.max(1) as f64;
    let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // A series that is constant except for rounding has no warm-up.
    if spread <= 1e-18 * mean * mean * length as f64 {
        return;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for cut in (0..length).rev() {
        let centred = values[cut] - mean;
        sum += centred;
        squares += centred * centred;
        if let Some(slot) = criterion.get_mut(cut) {
            let left = (length - cut) as f64;
            *slot += (squares - sum * sum / left).max(0.0) / (left * left * spread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(increments: &[Vec<f64>]) -> Grid {
        let (steps, width) = (increments.len(), increments[0].len());
        let mut sums = vec![0.0; width];
        for (row, step) in increments.iter().enumerate() {
            for (group, value) in step.iter().enumerate() {
                sums.push(sums[row * width + group] + value);
            }
        }
        Grid { step_ns: 100_000_000, steps, width, sums, ..Grid::default() }
    }

    /// A fixed ripple instead of noise, so that no series is constant.
    fn ripple(step: usize) -> f64 {
        [0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.15][step % 7]
    }

    #[test]
    fn a_slow_start_is_cut_from_rates_and_not_from_shares() {
        let steps: Vec<_> = (0..200)
            .map(|step| {
                let rate = if step < 30 { 3.0 } else { 10.0 } + ripple(step);
                vec![rate, rate]
            })
            .collect();
        assert_eq!(find(&grid(&steps), Quantity::Rate), 30);
        assert_eq!(find(&grid(&steps), Quantity::Share), 0);
    }

    fn late(settled: usize) -> Grid {
        let steps: Vec<_> = (0..200)
            .map(|step| {
                let first = if step < settled { 16.0 } else { 10.0 } + ripple(step);
                vec![first, 20.0 - first]
            })
            .collect();
        grid(&steps)
    }

    #[test]
    fn late_shares_are_cut_up_to_a_fifth() {
        assert_eq!(find(&late(25), Quantity::Share), 25);
        // A longer beginning is another state, which no cut of a fifth improves.
        assert_eq!(find(&late(80), Quantity::Share), 0);
    }

    #[test]
    fn a_constant_rate_is_not_cut() {
        let steps = vec![vec![1.0, 2.0]; 100];
        assert_eq!(find(&grid(&steps), Quantity::Rate), 0);
        assert_eq!(find(&grid(&steps), Quantity::Share), 0);
    }
}
