//! One repeat: the logarithm of each group's share, and its standard error within the repeat.
//!
//! Batch means (Schmeiser 1982): the window is cut into ten batches of equal length, and the
//! scatter of the batches gives the standard error, with nine degrees of freedom. Averaged is the
//! influence of a batch on `ln(share)`: `x_b / X - t_b / T` of its amount `x_b` and the total `t_b`
//! (without the second term for a rate).

use super::correlation_time::correlation_time;
use super::poisson;
pub use super::within::Within;
use crate::grid::Grid;

/// Number of batches of a window with at least that many steps.
const BATCHES: usize = 10;

/// Smallest standard error: the clock of the counters is not exact.
const LEAST_ERROR: f64 = 1e-6;

/// The estimand of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Its part of the total.
    Share,
    /// Its amount per second.
    Rate,
}

impl Quantity {
    /// The denominator of a group's amount in one repeat.
    pub fn whole(self, grid: &Grid) -> f64 {
        match self {
            Self::Share => grid.totals().iter().sum(),
            Self::Rate => grid.seconds(),
        }
    }
}

/// Estimates one repeat; `None` without any time, and for shares of a total of zero. `expected` is
/// what the groups were promised, and `unit` the least amount that is served at once.
pub fn of_repeat(grid: &Grid, quantity: Quantity, expected: &[f64], unit: f64) -> Option<Within> {
    let whole = quantity.whole(grid);
    if whole <= 0.0 || grid.steps == 0 {
        return None;
    }
    let quantum = match grid.largest_increment() / whole {
        seen if seen > 0.0 => seen,
        // In a short window less than one unit may have been promised.
        _ => (expected.iter().copied().fold(0.0, f64::max) / BATCHES as f64).max(unit / whole),
    };
    let values: Vec<f64> = grid.totals().iter().map(|amount| amount / whole).collect();
    // The floor is relevant only where the group was served in another repeat.
    let log = |value: &f64| if *value > 0.0 { value.ln() } else { (0.5 * quantum).ln() };
    let errors = |batches: usize| -> Vec<f64> {
        (0..grid.width).map(|group| error(grid, quantity, group, batches)).collect()
    };
    let half = BATCHES.min(grid.steps) / 2;
    Some(Within {
        logs: values.iter().map(log).collect(),
        values,
        errors: errors(BATCHES.min(grid.steps)),
        freedom: (BATCHES.min(grid.steps) - 1) as f64,
        coarse: (errors(half), half.saturating_sub(1) as f64),
        quantum,
        turns: (0..grid.width).map(|group| poisson::effective(&grid.increments(group))).collect(),
    })
}

/// The standard error of one group's logarithm by batch means.
fn error(grid: &Grid, quantity: Quantity, group: usize, batches: usize) -> f64 {
    let (amount, all) = (grid.totals()[group], grid.totals().iter().sum::<f64>());
    if amount <= 0.0 || batches < 2 {
        return f64::INFINITY;
    }
    let influence = |batch: usize| {
        let (from, to) = (batch * grid.steps / batches, (batch + 1) * grid.steps / batches);
        let (before, after) = (grid.row(from), grid.row(to));
        let common = match quantity {
            Quantity::Share => {
                (after.iter().sum::<f64>() - before.iter().sum::<f64>())
                    / all.max(f64::MIN_POSITIVE)
            }
            // Batches may differ by one step.
            Quantity::Rate => (to - from) as f64 / grid.steps as f64,
        };
        (after[group] - before[group]) / amount - common
    };
    let squares: f64 = (0..batches).map(|batch| influence(batch).powi(2)).sum();
    let scatter = batches as f64 / (batches - 1) as f64 * squares;
    scatter.sqrt().max(LEAST_ERROR)
}

/// The longest autocorrelation time of any group, in seconds.
pub fn correlation_time_s(grid: &Grid, quantity: Quantity) -> f64 {
    let total = grid.total_increments();
    let all = total.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let of_group = |group: usize| {
        let amount = grid.totals()[group];
        if amount <= 0.0 {
            return 1.0;
        }
        let common = if quantity == Quantity::Share { 1.0 / all } else { 0.0 };
        let increments = grid.increments(group);
        let influence = increments.iter().zip(&total).map(|(x, t)| x / amount - t * common);
        correlation_time(&influence.collect::<Vec<f64>>())
    };
    (0..grid.width).map(of_group).fold(1.0, f64::max) * grid.step_s()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(increments: &[[f64; 2]]) -> Grid {
        let mut sums = vec![0.0, 0.0];
        for (row, step) in increments.iter().enumerate() {
            sums.extend([sums[2 * row] + step[0], sums[2 * row + 1] + step[1]]);
        }
        Grid {
            start_ns: 0,
            step_ns: 100_000_000,
            steps: increments.len(),
            width: 2,
            sums,
            ..Grid::default()
        }
    }

    #[test]
    fn the_error_of_a_share_is_that_of_its_batches() {
        // Ten steps are ten batches; the first group alternates between 1 and 3 of 4.
        let steps: Vec<[f64; 2]> =
            (0..10).map(|step| if step % 2 == 0 { [1.0, 3.0] } else { [3.0, 1.0] }).collect();
        let found = of_repeat(&grid(&steps), Quantity::Share, &[0.5; 2], 1.0).unwrap();
        assert!((found.values[0] - 0.5).abs() < 1e-12);
        assert!((found.logs[0] - 0.5_f64.ln()).abs() < 1e-12);
        // Shares of 0.25 and 0.75: a standard deviation of 0.5 of their mean, over the root of 9.
        assert!((found.errors[0] - 0.5 / 3.0).abs() < 1e-12, "{found:?}");
        assert!((found.errors[0] - found.errors[1]).abs() < 1e-12);
    }

    #[test]
    fn fewer_steps_than_batches_have_less_freedom() {
        let of = |steps: usize| {
            let steps: Vec<[f64; 2]> = (0..steps).map(|step| [1.0 + step as f64, 3.0]).collect();
            of_repeat(&grid(&steps), Quantity::Share, &[0.5; 2], 1.0).unwrap()
        };
        assert_eq!((of(4).freedom, of(10).freedom, of(100).freedom), (3.0, 9.0, 9.0));
        assert_eq!((of(4).coarse.1, of(100).coarse.1), (1.0, 4.0));
        assert_eq!((of(1).freedom, of(1).errors[0]), (0.0, f64::INFINITY));
    }

    #[test]
    fn a_growing_total_is_not_an_error_of_a_share() {
        let steps: Vec<[f64; 2]> =
            (1..=40).map(|step| [f64::from(step), f64::from(step)]).collect();
        let share = of_repeat(&grid(&steps), Quantity::Share, &[0.5; 2], 1.0).unwrap();
        assert_eq!(share.errors, [LEAST_ERROR; 2]);
        let rate = of_repeat(&grid(&steps), Quantity::Rate, &[100.0; 2], 1.0).unwrap();
        assert!(rate.errors[0] > 0.1, "{rate:?}");
    }

    #[test]
    fn a_total_of_zero_has_no_shares_and_a_starved_group_no_error() {
        let of =
            |steps: [f64; 2], quantity| of_repeat(&grid(&[steps; 20]), quantity, &[5.0; 2], 1.0);
        assert_eq!(of([0.0, 0.0], Quantity::Share), None);
        let found = of([0.0, 1.0], Quantity::Share).unwrap();
        assert_eq!((found.turns[0], found.errors[0]), (0.0, f64::INFINITY));
        assert_eq!((found.values[0], found.logs[0]), (0.0, (0.5_f64 / 20.0).ln()));
    }

    #[test]
    fn a_rate_of_zero_is_an_estimate() {
        let nothing = of_repeat(&grid(&[[0.0, 0.0]; 20]), Quantity::Rate, &[5.0, 4.0], 1.0);
        let nothing = nothing.unwrap();
        // A tenth of what was promised, since no slice shows its size.
        assert_eq!((nothing.values[1], nothing.quantum), (0.0, 0.5));
        assert!(nothing.logs.iter().all(|log| log.is_finite()));
        // In two seconds a request is half a request a second.
        let few = of_repeat(&grid(&[[0.0, 0.0]; 20]), Quantity::Rate, &[1.0, 1.0], 1.0).unwrap();
        assert_eq!(few.quantum, 0.5);
    }
}
