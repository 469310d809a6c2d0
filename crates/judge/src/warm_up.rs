//! The beginning of a repeat that does not show the steady state.
//!
//! MSER-5 (White, Cobb and Spratt 2000; recommended as a default in the simulation literature):
//! average the series in batches of five, then cut the `d` batches that minimise
//! `sum((y - mean)^2) / (m - d)^2`, the squared half width of the mean of what is left. The
//! search stops at half of the series; a minimum there means that no steady state was found.

use crate::grid::Grid;

const BATCH: usize = 5;

/// A cut must lower the criterion to this part. The least of many noisy values always lies a
/// little below the first, and cutting for that alone shortens steady series in favour of what
/// makes their intervals too narrow.
const WORTH_CUTTING: f64 = 0.8;

/// Where the steady state begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Steps of the grid to leave out.
    pub(crate) steps: usize,
    /// False when the criterion still falls at half of the series.
    pub(crate) settled: bool,
}

/// The later of two beginnings: that of the total rate, and that of the shares of all groups
/// taken together. Cutting for each group by itself would cut half of almost every run at 128
/// groups, since one of many noisy criteria always finds a late minimum.
pub(crate) fn find(grid: &Grid) -> Cut {
    let total = batches(&grid.total_increments());
    let shares: Vec<Vec<f64>> = (0..grid.width)
        .map(|group| {
            let parts = batches(&grid.increments(group));
            parts
                .iter()
                .zip(&total)
                .map(|(part, all)| if *all > 0.0 { part / all } else { 0.0 })
                .collect()
        })
        .collect();
    let by_rate = mser(std::slice::from_ref(&total));
    let by_share = mser(&shares);
    let cut = by_rate.max(by_share);
    Cut { steps: cut * BATCH, settled: cut == 0 || cut < total.len() / 2 }
}

fn batches(series: &[f64]) -> Vec<f64> {
    series.chunks_exact(BATCH).map(|batch| batch.iter().sum()).collect()
}

/// The number of leading batches that minimises the criterion, summed over the series with each
/// scaled by its own spread so that a large group does not decide alone.
fn mser(series: &[Vec<f64>]) -> usize {
    let length = series.first().map_or(0, Vec::len);
    let mut criterion = vec![0.0; length / 2 + 1];
    for values in series {
        add_criterion(values, &mut criterion);
    }
    let best = criterion.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    match (best, criterion.first()) {
        (Some((cut, least)), Some(whole)) if *least <= WORTH_CUTTING * whole => cut,
        _ => 0,
    }
}

/// Walks from the end, so that sums over the remaining batches need one pass.
fn add_criterion(values: &[f64], criterion: &mut [f64]) {
    let length = values.len();
    let mean = values.iter().sum::<f64>() / length.max(1) as f64;
    let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // What is constant but for rounding has no beginning to cut.
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
        Grid { start_ns: 0, step_ns: 100_000_000, steps, width, sums, longest_gap_s: 0.1 }
    }

    /// A fixed ripple in place of noise, so that no series is constant.
    fn ripple(step: usize) -> f64 {
        [0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.15][step % 7]
    }

    #[test]
    fn cuts_a_slow_beginning_of_the_total_rate() {
        let steps: Vec<_> = (0..200)
            .map(|step| vec![if step < 30 { 3.0 } else { 10.0 } + ripple(step), 10.0])
            .collect();
        assert_eq!(find(&grid(&steps)), Cut { steps: 30, settled: true });
    }

    #[test]
    fn cuts_shares_that_settle_late_under_a_constant_total() {
        let steps: Vec<_> = (0..200)
            .map(|step| {
                let first = if step < 45 { 16.0 } else { 10.0 } + ripple(step);
                vec![first, 20.0 - first]
            })
            .collect();
        let cut = find(&grid(&steps));
        assert!((45..=60).contains(&cut.steps) && cut.settled, "{cut:?}");
    }

    #[test]
    fn says_that_a_rate_that_keeps_growing_never_settles() {
        let steps: Vec<_> = (0..200).map(|step| vec![step as f64, step as f64]).collect();
        assert_eq!(find(&grid(&steps)), Cut { steps: 100, settled: false });
    }

    #[test]
    fn cuts_nothing_from_a_constant_rate() {
        let steps = vec![vec![1.0, 2.0]; 100];
        assert_eq!(find(&grid(&steps)), Cut { steps: 0, settled: true });
    }
}
