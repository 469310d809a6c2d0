//! The error with a change against the error without, round by round.
//!
//! Arms are interleaved, so that repeat `i` of each ran within one round. An unstable trial is off
//! by 30 % in one round and by 300 % in the next, in either direction: the interval of a mean over
//! rounds is then useless, and errors of opposite sign cancel. The effect of a change shows within
//! each round. The logarithms of the ratios have an interval by Student's t (Kalibera and Jones
//! 2013, as everywhere else where a repeat gives one number).

use assay_stats::over_repeats::Spread;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::causes::SAME_ERROR;

/// Probability that any ineffective change is called effective, over all looks and all changes
/// together, before confirmation by fresh rounds.
const WRONG: f64 = 0.05;

/// Fresh rounds that confirm a change.
pub const FRESH: usize = 2;

/// A change that leaves less than this part of the error may have removed it.
const LITTLE: f64 = 0.25;

/// Remaining error under a change. Errors within the margin count as the margin, so that it does
/// not matter how far below the margin they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// The remaining part, geometric mean over rounds.
    pub left: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound; each bound by a one-sided test.
    pub high: f64,
    /// Rounds in which both arms ran.
    pub rounds: usize,
    /// Rounds in which the error under the change was within the margin.
    pub within: usize,
}

/// The error without and with a change in each round in which both ran.
pub(super) type Pairs = Vec<(f64, f64)>;

impl Rounds {
    /// `None` with fewer than two rounds. `wrong` is the error probability of each bound.
    pub(super) fn from_pairs(pairs: &[(f64, f64)], within: f64, wrong: f64) -> Option<Self> {
        let logs = logs(pairs, within);
        let spread = Spread::from_logs(&logs).filter(|spread| spread.count >= 2)?;
        // Two one-sided bounds at `wrong` each: together at 1 - 2 wrong.
        let (left, low, high) = spread.interval(1.0 - 2.0 * wrong);
        let kept = pairs.iter().filter(|(_, after)| *after <= within).count();
        Some(Self { left, low, high, rounds: logs.len(), within: kept })
    }

    /// Whether nearly all rounds were within the margin: a mean over rounds could be, too, where
    /// errors of opposite sign cancel.
    pub(super) fn are_within(&self) -> bool {
        4 * self.within >= 3 * self.rounds
    }

    /// Significantly smaller than without the change.
    pub(super) fn less(&self) -> bool {
        self.high < 1.0
    }

    /// Significantly larger.
    pub(super) fn more(&self) -> bool {
        self.low > 1.0
    }

    /// About the same, and significantly not removed.
    pub(super) fn same(&self) -> bool {
        (1.0 / SAME_ERROR..=SAME_ERROR).contains(&self.left) && self.low > LITTLE
    }
}

/// Log ratios of the errors. Errors within the margin count as the margin.
fn logs(pairs: &[(f64, f64)], within: f64) -> Vec<f64> {
    let log = |error: f64| error.max(within).ln();
    pairs.iter().map(|(before, after)| log(*after) - log(*before)).collect()
}

/// p-value by Student's t: the probability that an ineffective change looks at least this good; 1
/// where the scatter is unknown.
pub(super) fn chance(pairs: &[(f64, f64)], within: f64) -> f64 {
    let Some(spread) = Spread::from_logs(&logs(pairs, within)).filter(Spread::is_known) else {
        return 1.0;
    };
    if spread.deviation <= 0.0 {
        return if spread.mean < 0.0 { 0.0 } else { 1.0 };
    }
    let error = spread.deviation / (spread.count as f64).sqrt();
    let freedom = (spread.count - 1) as f64;
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |t| t.cdf(spread.mean / error))
}

/// Holm's correction (Holm 1979): the significance level of each of several changes such that all
/// conclusions hold at once. The best of `m` has `1/m` of the total; if it passes, the next has
/// `1/(m - 1)`, and so on; those after the first failure get the level of that one.
pub(super) fn allowed(chances: &[f64], looks: usize) -> Vec<f64> {
    let wrong = WRONG / looks.max(1) as f64;
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut allowed = vec![wrong; chances.len()];
    let mut left = chances.len();
    for index in order {
        allowed[index] = wrong / left.max(1) as f64;
        if chances[index] <= allowed[index] {
            left -= 1;
        }
    }
    allowed
}

/// Whether fresh rounds reproduce the effect: a smaller error in each, and clearly smaller in most.
pub(super) fn confirm(fresh: &[(f64, f64)], within: f64) -> bool {
    let logs = logs(fresh, within);
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    logs.len() >= FRESH && logs.iter().all(|log| *log < 0.0) && mean <= -SAME_ERROR.ln()
}

/// Geometric mean of the errors, which no single round dominates. Errors within the margin count as
/// the margin.
pub(super) fn typical(errors: &[f64], within: f64) -> Option<f64> {
    let logs: Vec<f64> = errors.iter().map(|error| error.max(within).ln()).collect();
    Spread::from_logs(&logs).map(|spread| spread.mean.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rounds of `io-weight-scaling` with four groups, where the interval of the mean share
    /// was 0 to 692 %.
    const BEFORE: [f64; 3] = [0.252, 1.687, 0.384];

    fn of(before: &[f64], after: &[f64], within: f64, looks: usize) -> Option<Rounds> {
        let pairs: Pairs = before.iter().copied().zip(after.iter().copied()).collect();
        Rounds::from_pairs(&pairs, within, WRONG / looks as f64)
    }

    #[test]
    fn an_effect_in_every_round_is_significant_where_the_mean_is_not() {
        let found = of(&BEFORE, &[0.001, 0.001, 0.201], 0.1, 6).unwrap();
        assert!(!found.less() && !found.same(), "{found:?}");
        let before = [BEFORE, [1.033, 1.111, 2.997]].concat();
        let after = [0.001, 0.001, 0.201, 0.001, 0.001, 0.083];
        let found = of(&before, &after, 0.1, 6).unwrap();
        assert!(found.less() && found.left < 0.25, "{found:?}");
        assert_eq!((found.rounds, found.within), (6, 5));
    }

    #[test]
    fn errors_below_the_margin_count_as_the_margin() {
        let far = of(&BEFORE, &[1e-9, 1e-6, 1e-3], 0.1, 1).unwrap();
        let near = of(&BEFORE, &[0.09, 0.05, 0.1], 0.1, 1).unwrap();
        assert_eq!(far, near);
    }

    #[test]
    fn equal_rounds_are_unmoved_and_scattered_rounds_open() {
        let found = of(&[0.5, 0.6, 0.7], &[0.52, 0.55, 0.73], 0.1, 1).unwrap();
        assert!(found.same() && !found.less() && !found.more(), "{found:?}");
        let found = of(&[0.5, 3.0, 0.7], &[2.0, 0.3, 1.7], 0.1, 1).unwrap();
        assert!(!found.same() && !found.less() && !found.more(), "{found:?}");
        let found = of(&[0.2, 0.21, 0.2], &[0.8, 0.85, 0.82], 0.1, 1).unwrap();
        assert!(found.more());
    }

    #[test]
    fn more_looks_need_more_certainty() {
        let once = of(&BEFORE, &[0.1; 3], 0.1, 1).unwrap();
        let often = of(&BEFORE, &[0.1; 3], 0.1, 6).unwrap();
        assert!(often.high > once.high && often.low < once.low);
        assert_eq!(often.left, once.left);
    }

    #[test]
    fn holm_is_strictest_for_the_best_and_stops_at_the_first_failure() {
        let near = |found: Vec<f64>, expected: [f64; 3]| {
            found
                .iter()
                .zip(expected)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{found:?}"));
        };
        near(allowed(&[0.5, 0.001, 0.02], 1), [0.05, 0.05 / 3.0, 0.025]);
        // 0.03 fails at 0.025, so 0.04 is not tested at 0.05.
        near(allowed(&[0.04, 0.001, 0.03], 1), [0.025, 0.05 / 3.0, 0.025]);
        near(allowed(&[0.9, 0.9, 0.9], 5), [0.01 / 3.0; 3]);
    }

    /// Errors within the margin count as the margin, so that rounds may agree exactly.
    #[test]
    fn two_identical_rounds_are_no_evidence() {
        let same = [(0.5, 0.05), (0.5, 0.05)];
        assert_eq!(chance(&same, 0.1), 1.0);
        assert!(chance(&[same[0]; 3], 0.1) < 1e-9);
        assert!(!of(&[0.5; 2], &[0.05; 2], 0.1, 1).unwrap().less());
    }

    #[test]
    fn errors_of_opposite_signs_are_no_cure() {
        let found = of(&[0.8; 4], &[0.4; 4], 0.1, 1).unwrap();
        assert!(found.less() && !found.are_within());
    }

    #[test]
    fn fresh_rounds_confirm_an_effect_that_each_reproduces() {
        assert!(confirm(&[(0.8, 0.1), (0.5, 0.05)], 0.1));
        assert!(!confirm(&[(0.8, 0.1), (0.3, 0.4)], 0.1));
        assert!(!confirm(&[(0.8, 0.7), (0.5, 0.45)], 0.1), "less, but not clearly");
        assert!(!confirm(&[(0.8, 0.1)], 0.1), "one round");
        assert!(!confirm(&[(0.05, 0.01), (0.08, 0.01)], 0.1), "there was no error");
    }

    #[test]
    fn one_round_is_not_enough() {
        assert_eq!(of(&[0.5], &[0.1], 0.1, 1), None);
        assert_eq!(of(&[], &[0.1, 0.1], 0.1, 1), None);
        assert!((typical(&[0.01, 0.4, 1.6], 0.1).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(typical(&[], 0.1), None);
    }
}
