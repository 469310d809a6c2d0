//! From cells to a verdict.
//!
//! Estimated is the ratio of sums `r = sum(got) / sum(promised)`, so that long cells weigh more. Batch means (Schmeiser
//! 1982) of `got - r promised` over ten batches of consecutive cells give its standard error with nine degrees of freedom.
//!
//! A scheduler serves in turns: at the beginning and end of a spell of contention a group may be ahead or behind by one of
//! them. Which of both it is can depend on what it does then (a group goes to sleep while it runs, not while it waits), so
//! that is no noise that more cells would average out. [`TURN_S`] is added to both sides for each spell.

use assay_judge::verdict::Verdict;
use assay_stats::Interval;
use assay_stats::student::t_quantile;

use crate::fairness::series::Series;

/// Cells without which nothing is said, and their least length in all: fewer than this are no batches.
pub(crate) const LEAST_CELLS: usize = 20;
/// See [`LEAST_CELLS`].
pub(crate) const LEAST_S: f64 = 2.0;

/// By how much a share may differ from the promised one, relative to it; and in any case by [`LEAST_MARGIN`].
pub(crate) const MARGIN: f64 = 0.10;
/// Of what all compared got; but no more than half of what was promised, so that a small group that starves is seen.
pub(crate) const LEAST_MARGIN: f64 = 0.01;

/// The chance of calling any group of a host broken whose share is just at its margin.
pub(crate) const FALSE_BROKEN: f64 = 0.01;

/// Confidence of the interval that is shown, and by which a promise is kept.
const CONFIDENCE: f64 = 0.95;

const BATCHES: usize = 10;

/// The part of a spell of contention, at each end, that the order of turns may decide: a tick and a slice of the scheduler.
const TURN_S: f64 = 0.005;

/// What a group got, in parts of what was compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// Its promised part.
    pub(crate) promised: f64,
    /// Its part, with the interval that is shown.
    pub(crate) got: Interval,
    /// Its part, with the wider interval by which a promise is broken.
    pub(crate) broken: Interval,
}

/// The ratio of sums with half the width of its interval.
fn ratio(series: &Series, confidence: f64, turn: f64) -> Option<(f64, f64)> {
    let promised: f64 = series.cells.iter().map(|cell| cell.promised).sum();
    let got: f64 = series.cells.iter().map(|cell| cell.got).sum();
    if promised <= 0.0 {
        return None;
    }
    let ratio = got / promised;
    let count = series.cells.len();
    let batch = |at: usize| -> f64 {
        let cells = &series.cells[at * count / BATCHES..(at + 1) * count / BATCHES];
        cells.iter().map(|cell| cell.got - ratio * cell.promised).sum::<f64>() / promised
    };
    let squares: f64 = (0..BATCHES).map(|at| batch(at).powi(2)).sum();
    let error = (BATCHES as f64 / (BATCHES - 1) as f64 * squares).sqrt();
    let ends = 2.0 * turn * series.spells as f64 / promised;
    Some((ratio, t_quantile(confidence, (BATCHES - 1) as f64) * error + ends))
}

impl Estimate {
    /// The estimate of one of `compared` groups; nothing from too few cells. `turn` is what a group can be ahead or
    /// behind, in the unit of the cells.
    pub(crate) fn new(series: &Series, compared: usize, turn: f64) -> Option<Self> {
        if !is_enough(series) {
            return None;
        }
        let whole: f64 = series.cells.iter().map(|cell| cell.whole).sum();
        let promised = series.cells.iter().map(|cell| cell.promised).sum::<f64>() / whole;
        let (value, half) = ratio(series, CONFIDENCE, turn)?;
        let all = 1.0 - FALSE_BROKEN / compared.max(1) as f64;
        let (_, wide) = ratio(series, all, turn)?;
        let interval = |half: f64| Interval {
            value: promised * value,
            low: (promised * (value - half)).max(0.0),
            high: promised * (value + half),
        };
        Some(Self { promised, got: interval(half), broken: interval(wide.max(half)) })
    }

    /// By how much it may be off.
    pub(crate) fn margin(&self) -> f64 {
        (MARGIN * self.promised).max(LEAST_MARGIN.min(0.5 * self.promised))
    }

    /// The least and the most that it may be.
    fn limits(&self) -> (f64, f64) {
        (self.promised - self.margin(), self.promised + self.margin())
    }

    /// Whether the interval that is shown lies outside the margin, be it enough to call it broken or not.
    pub(crate) fn contradicts(&self) -> bool {
        let (least, most) = self.limits();
        self.got.high < least || self.got.low > most
    }

    /// Kept if the interval is within the margin, broken if the wider one is outside. Who got nothing got no promised part.
    pub(crate) fn verdict(&self) -> Verdict {
        let (least, most) = self.limits();
        if self.broken.high < least || self.broken.low > most {
            Verdict::Broken
        } else if self.got.value > 0.0 && self.got.low >= least && self.got.high <= most {
            Verdict::Kept
        } else {
            Verdict::Undecided
        }
    }
}

/// Whether there are enough cells for a verdict.
pub(crate) fn is_enough(series: &Series) -> bool {
    series.cells.len() >= LEAST_CELLS && series.seconds >= LEAST_S
}

/// The turn of a scheduler in nanoseconds on some CPUs.
pub(crate) fn cpu_turn_ns(cpus: usize) -> f64 {
    TURN_S * 1e9 * cpus as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairness::series::{Claim, add_cell};

    /// Two groups of weights 1:3 with these parts of 100 ms.
    fn series(parts: impl IntoIterator<Item = f64>) -> Vec<Series> {
        weighted([1.0, 3.0], parts)
    }

    fn weighted(weights: [f64; 2], parts: impl IntoIterator<Item = f64>) -> Vec<Series> {
        let mut series = vec![Series::default(); 2];
        for (number, part) in parts.into_iter().enumerate() {
            let got = [part * 1e8, (1.0 - part) * 1e8];
            let claims =
                [0, 1].map(|member| Claim { member, got: got[member], weight: weights[member] });
            add_cell(&mut series, |one| one, (number, 0.1), &[claims.to_vec()]);
        }
        series
    }

    fn verdict(parts: impl IntoIterator<Item = f64>) -> Verdict {
        let series = series(parts);
        Estimate::new(&series[0], 2, cpu_turn_ns(1)).map_or(Verdict::Void, |one| one.verdict())
    }

    /// Around a part, off by turns.
    fn around(part: f64, off: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |at| if at % 2 == 0 { part + off } else { part - off })
    }

    #[test]
    fn verdicts_by_the_interval_and_the_margin() {
        assert_eq!(verdict(around(0.25, 0.02, 100)), Verdict::Kept);
        assert_eq!(verdict(around(0.5, 0.02, 100)), Verdict::Broken);
        assert_eq!(verdict(around(0.15, 0.02, 100)), Verdict::Broken);
        assert_eq!(verdict(around(0.274, 0.02, 30)), Verdict::Undecided);
        assert_eq!(verdict(around(0.25, 0.02, 19)), Verdict::Void);
    }

    #[test]
    fn a_group_that_got_nothing_is_broken_and_not_an_error() {
        assert_eq!(verdict([0.0; 40]), Verdict::Broken);
    }

    #[test]
    fn a_small_group_that_starves_is_not_within_the_margin() {
        // It is promised 0.99 %, less than the least margin of bigger ones.
        let small = |part: f64| {
            let series = weighted([0.99, 99.01], [part; 40]);
            Estimate::new(&series[0], 2, cpu_turn_ns(1)).unwrap()
        };
        assert_eq!(small(0.0).verdict(), Verdict::Broken);
        assert_eq!(small(0.0099).verdict(), Verdict::Kept);
        assert!((small(0.0).margin() - 0.00495).abs() < 1e-9);
        // With turns as long as this nothing can be shown, but nothing was got.
        let series = weighted([0.99, 99.01], [0.0; 40]);
        let nothing = Estimate::new(&series[0], 2, 1e9).unwrap();
        assert_eq!(nothing.verdict(), Verdict::Undecided);
    }

    #[test]
    fn what_the_order_of_turns_may_decide_is_no_proof() {
        // Each cell is a spell of its own, and 5 ms at each end of 25 ms are 40 %.
        let mut series = series(around(0.29, 0.01, 40));
        series[0].spells = 40;
        let apart = Estimate::new(&series[0], 2, cpu_turn_ns(1)).unwrap();
        assert_eq!(apart.verdict(), Verdict::Undecided);
        series[0].spells = 1;
        let one = Estimate::new(&series[0], 2, cpu_turn_ns(1)).unwrap();
        assert_eq!(one.verdict(), Verdict::Broken);
    }

    #[test]
    fn more_comparisons_need_more_certainty() {
        let series = series(around(0.25, 0.1, 30));
        let of = |compared| Estimate::new(&series[0], compared, 0.0).unwrap().broken;
        assert!(of(200).high > of(2).high);
    }
}
