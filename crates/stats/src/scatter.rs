//! Scatter of each group's repeats, and whether groups scatter alike and independently.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::within::Within;

/// Significance level at which a group's scatter stands out from its pool.
const STANDS_OUT: f64 = 0.01;

/// Significance level at which repeats moved all groups at once.
const TOGETHER: f64 = 0.02;

/// Scatter of one group over the repeats.
pub(super) struct Scatter {
    /// Index in the trial.
    pub(super) group: usize,
    /// Its error within one repeat, the root mean square over the repeats.
    pub(super) within: f64,
    /// Its residuals in units of that error.
    residuals: Vec<f64>,
    /// The sum of their squares.
    pub(super) squares: f64,
}

impl Scatter {
    pub(super) fn new(repeats: &[Within], group: usize) -> Self {
        let errors = repeats.iter().map(|repeat| repeat.errors[group]);
        let finite: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
        let squared = finite.iter().map(|error| error * error).sum::<f64>() / finite.len() as f64;
        // A group that was never served has Poisson limits instead.
        let within = if finite.is_empty() { 1.0 } else { squared.sqrt() };
        let logs = repeats.iter().map(|repeat| repeat.logs[group]);
        let mean = logs.clone().sum::<f64>() / repeats.len() as f64;
        let residuals: Vec<f64> = logs.map(|log| (log - mean) / within).collect();
        let squares = residuals.iter().map(|one| one * one).sum();
        Self { group, within, residuals, squares }
    }

    fn freedom(&self) -> f64 {
        self.residuals.len() as f64 - 1.0
    }
}

/// Whether the repeats differ by one number that moves all groups by their weight, as where weights
/// are obeyed as `w^0.95` one time and as `w^1.05` the next: an F test of the residuals along
/// `ln(expected)` about its mean by share, against all others and the noise within, of which
/// `batches` degrees of freedom are known. Then all groups together show no more than one of them.
pub(super) fn move_together(scatters: &[Scatter], expected: &[f64], batches: f64) -> bool {
    let Some(first) = scatters.first() else { return false };
    let (all, log) = (expected.iter().sum::<f64>(), |one: &Scatter| expected[one.group].ln());
    let mean = scatters.iter().map(|one| expected[one.group] / all * log(one)).sum::<f64>();
    let along: Vec<f64> = scatters.iter().map(|one| (log(one) - mean) / one.within).collect();
    let length = along.iter().map(|one| one * one).sum::<f64>();
    let others = first.freedom() * (scatters.len() as f64 - 2.0);
    if length <= 1e-9 || others <= 0.0 {
        return false;
    }
    let moved = |repeat: usize| {
        let each = scatters.iter().zip(&along).map(|(one, along)| one.residuals[repeat] * along);
        each.sum::<f64>().powi(2) / length
    };
    let moved = (0..first.residuals.len()).map(moved).sum::<f64>();
    let rest = scatters.iter().map(|one| one.squares).sum::<f64>() - moved;
    let ratio = moved / first.freedom() / (rest / others).max(1.0);
    is_beyond(ratio, (first.freedom(), others + batches), TOGETHER)
}

/// Whether a ratio of two mean squares is significant at this level.
fn is_beyond(ratio: f64, (freedom, others): (f64, f64), rare: f64) -> bool {
    FisherSnedecor::new(freedom, others).is_ok_and(|f| 1.0 - f.cdf(ratio) < rare)
}

/// Groups adjacent by weight, at least this many per pool.
pub(super) fn pools(scatters: &[Scatter], least: usize) -> impl Iterator<Item = &[Scatter]> {
    let count = (scatters.len() / least.max(1)).max(1);
    (0..count).map(move |pool| {
        &scatters[pool * scatters.len() / count..(pool + 1) * scatters.len() / count]
    })
}

/// The pooled scatter of some groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pool {
    /// The mean square of their residuals, in units of the scatter within repeats.
    pub(super) factor: f64,
    /// The number of independent residuals.
    pub(super) freedom: f64,
}

impl Pool {
    /// `own` is the independent part of a group's residuals.
    pub(super) fn new<'s>(scatters: impl IntoIterator<Item = &'s Scatter>, own: f64) -> Self {
        let add = |(squares, freedom): (f64, f64), one: &Scatter| {
            (squares + one.squares, freedom + one.freedom())
        };
        let (squares, freedom) = scatters.into_iter().fold((0.0, 0.0), add);
        let factor = if freedom > 0.0 { squares / freedom } else { 0.0 };
        Self { factor, freedom: own * freedom }
    }

    /// Whether this group's scatter is significantly larger than that of the others (F test,
    /// corrected for all `groups` of a trial).
    pub(super) fn stands_out(&self, others: &Self, groups: usize) -> bool {
        let ratio = self.factor / others.factor.max(1.0);
        is_beyond(ratio, (self.freedom, others.freedom), STANDS_OUT / groups as f64)
    }
}
