//! What one start shows of each group: its share or rate over the window.

use crate::grid::Grid;

/// The quantity that is promised to each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Its part of the total.
    Share,
    /// Its amount per second.
    Rate,
}

impl Quantity {
    /// The denominator of a group's amount in one start.
    pub fn whole(self, grid: &Grid) -> f64 {
        match self {
            Self::Share => grid.totals().iter().sum(),
            Self::Rate => grid.seconds(),
        }
    }
}

/// The beginning of a start of so many seconds that is no part of its numbers, unless the study says how long: half a
/// second, and at most a fifth. It counts for whether the start was inside.
#[must_use]
pub fn warm_up_s(length_s: f64) -> f64 {
    (0.2 * length_s).min(0.5)
}

/// The numbers of one start.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The share or rate of each group.
    pub values: Vec<f64>,
    /// Effective number of service slices of each group; 0 for one that got nothing.
    pub slices: Vec<f64>,
    /// The largest amount that any group got in one step, on the scale of the values. Where no group
    /// got anything, a tenth of the largest promise, and at least one unit of service.
    pub slice: f64,
}

impl Start {
    /// `None` without any time, and for shares of a total of zero. `promised` is what the groups were
    /// promised, and `unit` the least amount that is served at once.
    #[must_use]
    pub fn new(grid: &Grid, quantity: Quantity, promised: &[f64], unit: f64) -> Option<Self> {
        let whole = quantity.whole(grid);
        if whole <= 0.0 || grid.steps == 0 {
            return None;
        }
        let slice = match grid.largest_increment() / whole {
            seen if seen > 0.0 => seen,
            _ => (promised.iter().copied().fold(0.0, f64::max) / 10.0).max(unit / whole),
        };
        Some(Self {
            values: grid.totals().iter().map(|amount| amount / whole).collect(),
            slices: (0..grid.width).map(|group| effective(&grid.increments(group))).collect(),
            slice,
        })
    }
}

/// The effective number of steps over which an amount is spread, `(sum x)^2 / sum x^2`: all of them
/// when each step got the same, one when one step got it all.
fn effective(increments: &[f64]) -> f64 {
    let sum: f64 = increments.iter().sum();
    let squares: f64 = increments.iter().map(|value| value * value).sum();
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(steps: [f64; 2], quantity: Quantity, promised: f64) -> Option<Start> {
        let sums = (0..=20).flat_map(|row| steps.map(|step| step * f64::from(row))).collect();
        let grid = Grid { step_ns: 100_000_000, steps: 20, width: 2, sums, ..Grid::default() };
        Start::new(&grid, quantity, &[promised; 2], 1.0)
    }

    #[test]
    fn a_group_that_got_nothing_has_no_slices_and_a_share_of_zero() {
        let found = start([0.0, 1.0], Quantity::Share, 0.5).unwrap();
        assert_eq!(found.values, [0.0, 1.0]);
        assert!(found.slices[0] == 0.0 && (found.slices[1] - 20.0).abs() < 1e-9);
        assert!((found.slice - 0.05).abs() < 1e-12);
        assert_eq!(start([0.0, 0.0], Quantity::Share, 0.5), None);
    }

    #[test]
    fn a_rate_of_zero_is_a_number_whose_slice_follows_from_the_promise() {
        assert_eq!(start([0.0, 0.0], Quantity::Rate, 50.0).unwrap().slice, 5.0);
        // In two seconds one unit is half a unit a second.
        assert_eq!(start([0.0, 0.0], Quantity::Rate, 1.0).unwrap().slice, 0.5);
    }
}
