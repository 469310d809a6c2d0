//! A promise with the data to compare it with.

use assay_stats::Grid;
use assay_stats::spans::{self, Spans};
use assay_stats::start::Quantity;
use assay_terms::Side;

use crate::expected::Expected;

/// Input: the promise and its data.
pub(crate) struct PromiseData<'a> {
    /// Names of the groups, in the order of the study.
    pub(crate) names: Vec<String>,
    /// Promised share or rate of each group.
    pub(crate) expected: Vec<Expected>,
    pub(crate) quantity: Quantity,
    /// The least amount that is served at once.
    pub(crate) unit: f64,
    pub(crate) side: Side,
    /// The margin.
    pub(crate) within: f64,
    /// The part of the errors that the bounds may spend.
    pub(crate) part: f64,
    /// Spans in which the promise should hold.
    pub(crate) every: Option<assay_run_folder::EveryRecord>,
    pub(crate) repeats: Vec<Observed<'a>>,
}

/// One measure in one repeat.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    /// Number of the repeat, from 1.
    pub(crate) number: usize,
    /// All observed data.
    pub(crate) observed: &'a Grid,
    /// The judged window.
    pub(crate) judged: &'a Grid,
}

impl PromiseData<'_> {
    /// All observed seconds of each repeat, divided into spans of the promised or default length.
    pub(crate) fn spans(&self) -> Vec<Vec<Spans>> {
        let shares: Vec<f64> = self.expected.iter().map(|expected| expected.share).collect();
        let every = self.every.map_or(spans::USUAL_S, |every| every.span_s);
        let of = |repeat: &Observed<'_>| Spans::new(repeat.observed, self.quantity, &shares, every);
        self.repeats.iter().map(of).collect()
    }

    /// The largest error of any group's total over one grid.
    pub(crate) fn error(&self, grid: &Grid) -> f64 {
        let whole = self.quantity.whole(grid);
        let each = grid.totals().iter().zip(&self.expected);
        each.map(|(total, expected)| self.side.error(total / whole, expected.share))
            .fold(0.0, f64::max)
    }
}
