//! The error with a change beside the error without, round by round.
//!
//! Arms take turns, so that repeat `i` of each ran within one round. An unsteady trial is off by
//! 30 % in one round and by 300 % in the next, in either direction: a mean over rounds then has an
//! interval that says nothing, and opposite errors cancel in it. What a change does to the error
//! shows within each round. The logarithms of these ratios have an interval by Student's t
//! (Kalibera and Jones 2013, as everywhere else where a repeat gives one number).

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::predicted_effect::ABOUT;
use assay_stats::over_repeats::Spread;

/// Chance that any change that does nothing is said to lessen the error, all looks and all changes
/// together, before it is confirmed by fresh rounds.
const WRONG: f64 = 0.05;

/// Fresh rounds that confirm a winner.
pub const FRESH: usize = 2;

/// A change that leaves less than this of the error may have taken it away.
const LITTLE: f64 = 0.25;

/// What is left of the error with a change. An error within the margin counts as the margin, so
/// that it does not matter how far below the margin it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// The part that is left, the geometric mean over rounds.
    pub left: f64,
    /// At least.
    pub low: f64,
    /// At most, each end by a test of one side.
    pub high: f64,
    /// Rounds that both ran in.
    pub rounds: usize,
    /// Rounds in which the error was within the margin with the change.
    pub within: usize,
}

/// The error without and with a change in each round that both ran in.
pub(super) type Pairs = Vec<(f64, f64)>;

impl Rounds {
    /// `None` with fewer than two rounds. `wrong` is the chance of each end to be wrong.
    pub(super) fn of(pairs: &[(f64, f64)], within: f64, wrong: f64) -> Option<Self> {
        let logs = logs(pairs, within);
        let spread = Spread::of(&logs).filter(|spread| spread.count >= 2)?;
        // Both ends of the interval hold at once by 1 - 2 x what one side may be wrong.
        let (left, low, high) = spread.interval(1.0 - 2.0 * wrong);
        let kept = pairs.iter().filter(|(_, after)| *after <= within).count();
        Some(Self { left, low, high, rounds: logs.len(), within: kept })
    }

    /// Whether nearly all rounds were within the margin with the change: a mean over rounds would
    /// be within it as well where errors of opposite signs cancel.
    pub(super) fn are_within(&self) -> bool {
        4 * self.within >= 3 * self.rounds
    }

    /// Surely less than without the change.
    pub(super) fn less(&self) -> bool {
        self.high < 1.0
    }

    /// Surely more.
    pub(super) fn more(&self) -> bool {
        self.low > 1.0
    }

    /// About the same, and surely not taken away.
    pub(super) fn same(&self) -> bool {
        (1.0 / ABOUT..=ABOUT).contains(&self.left) && self.low > LITTLE
    }
}

/// An error within the margin counts as the margin.
fn logs(pairs: &[(f64, f64)], within: f64) -> Vec<f64> {
    let log = |error: f64| error.max(within).ln();
    pairs.iter().map(|(before, after)| log(*after) - log(*before)).collect()
}

/// The chance that a change which does nothing looks as good as this, by Student's t; 1 where
/// fewer than two rounds tell nothing.
pub(super) fn chance(pairs: &[(f64, f64)], within: f64) -> f64 {
    let Some(spread) = Spread::of(&logs(pairs, within)).filter(|spread| spread.count >= 2) else {
        return 1.0;
    };
    if spread.deviation <= 0.0 {
        return if spread.mean < 0.0 { 0.0 } else { 1.0 };
    }
    let error = spread.deviation / (spread.count as f64).sqrt();
    let freedom = (spread.count - 1) as f64;
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |t| t.cdf(spread.mean / error))
}

/// How sure each of several changes must be for all to be right at once: the chance of being wrong
/// that is left to each (Holm 1979). The best of `m` has an `m`th of it; if that is enough the next
/// has one of `m - 1`, and so on; what comes after the first that fails has no more than that one.
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

/// Whether fresh rounds show again what made a change the winner: less error in each of them, and
/// clearly less in most.
pub(super) fn confirm(fresh: &[(f64, f64)], within: f64) -> bool {
    let logs = logs(fresh, within);
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    logs.len() >= FRESH && logs.iter().all(|log| *log < 0.0) && mean <= -ABOUT.ln()
}

/// The error that most rounds had: the geometric mean, which no single round makes large. One
/// within the margin counts as the margin here too.
pub(super) fn typical(errors: &[f64], within: f64) -> Option<f64> {
    let logs: Vec<f64> = errors.iter().map(|error| error.max(within).ln()).collect();
    Spread::of(&logs).map(|spread| spread.mean.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rounds of `io-weight-scaling` with four groups, where the interval of the mean share
    /// reached from 0 to 692 %.
    const BEFORE: [f64; 3] = [0.252, 1.687, 0.384];

    fn of(before: &[f64], after: &[f64], within: f64, looks: usize) -> Option<Rounds> {
        let pairs: Pairs = before.iter().copied().zip(after.iter().copied()).collect();
        Rounds::of(&pairs, within, WRONG / looks as f64)
    }

    #[test]
    fn what_every_round_shows_is_sure_where_the_mean_is_not() {
        let found = of(&BEFORE, &[0.001, 0.001, 0.201], 0.1, 6).unwrap();
        assert!(!found.less() && !found.same(), "{found:?}");
        let before = [BEFORE, [1.033, 1.111, 2.997]].concat();
        let after = [0.001, 0.001, 0.201, 0.001, 0.001, 0.083];
        let found = of(&before, &after, 0.1, 6).unwrap();
        assert!(found.less() && found.left < 0.25, "{found:?}");
        assert_eq!((found.rounds, found.within), (6, 5));
    }

    #[test]
    fn how_far_below_the_margin_an_error_is_does_not_matter() {
        let far = of(&BEFORE, &[1e-9, 1e-6, 1e-3], 0.1, 1).unwrap();
        let near = of(&BEFORE, &[0.09, 0.05, 0.1], 0.1, 1).unwrap();
        assert_eq!(far, near);
    }

    #[test]
    fn the_same_in_every_round_is_the_same_and_what_scatters_is_open() {
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
    fn the_best_of_many_must_be_surer_and_what_follows_a_failure_fails() {
        let near = |found: Vec<f64>, expected: [f64; 3]| {
            found
                .iter()
                .zip(expected)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{found:?}"));
        };
        near(allowed(&[0.5, 0.001, 0.02], 1), [0.05, 0.05 / 3.0, 0.025]);
        // 0.03 fails at 0.025, so that 0.04 is not asked at 0.05.
        near(allowed(&[0.04, 0.001, 0.03], 1), [0.025, 0.05 / 3.0, 0.025]);
        near(allowed(&[0.9, 0.9, 0.9], 5), [0.01 / 3.0; 3]);
    }

    #[test]
    fn errors_of_opposite_signs_are_no_cure() {
        let found = of(&[0.8; 4], &[0.4; 4], 0.1, 1).unwrap();
        assert!(found.less() && !found.are_within());
    }

    #[test]
    fn fresh_rounds_confirm_what_they_show_each() {
        assert!(confirm(&[(0.8, 0.1), (0.5, 0.05)], 0.1));
        assert!(!confirm(&[(0.8, 0.1), (0.3, 0.4)], 0.1));
        assert!(!confirm(&[(0.8, 0.7), (0.5, 0.45)], 0.1), "less, but not clearly");
        assert!(!confirm(&[(0.8, 0.1)], 0.1), "one round");
        assert!(!confirm(&[(0.05, 0.01), (0.08, 0.01)], 0.1), "there was no error");
    }

    #[test]
    fn one_round_shows_nothing() {
        assert_eq!(of(&[0.5], &[0.1], 0.1, 1), None);
        assert_eq!(of(&[], &[0.1, 0.1], 0.1, 1), None);
        assert!((typical(&[0.01, 0.4, 1.6], 0.1).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(typical(&[], 0.1), None);
    }
}
