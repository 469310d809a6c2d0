//! The error with a change beside the error without, round by round.
//!
//! Arms take turns, so that repeat `i` of each ran within one round. An unsteady trial is off by
//! 30 % in one round and by 300 % in the next, in either direction: a mean over rounds then has an
//! interval that says nothing, and opposite errors cancel in it. What a change does to the error
//! shows within each round. The logarithms of these ratios have an interval by Student's t
//! (Kalibera and Jones 2013, as everywhere else where a repeat gives one number).

use serde::{Deserialize, Serialize};

use super::law::ABOUT;
use crate::statistics::over_repeats::Spread;

/// Chance that a change that does nothing is said to lessen the error, all looks together.
const WRONG: f64 = 0.05;

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

impl Rounds {
    /// `None` with fewer than two rounds, or where repeats have no error of their own. `looks` is
    /// how often the question may be asked of the same rounds as they become more.
    pub(super) fn of(before: &[f64], after: &[f64], within: f64, looks: usize) -> Option<Self> {
        let log = |error: f64| error.max(within).ln();
        let logs: Vec<f64> =
            before.iter().zip(after).map(|(before, after)| log(*after) - log(*before)).collect();
        let spread = Spread::of(&logs).filter(|spread| spread.count >= 2)?;
        // Both ends of the interval hold at once by 1 - 2 x what one side may be wrong.
        let (left, low, high) = spread.interval(1.0 - 2.0 * WRONG / looks.max(1) as f64);
        let kept = after.iter().take(logs.len()).filter(|error| **error <= within).count();
        Some(Self { left, low, high, rounds: logs.len(), within: kept })
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

    #[test]
    fn what_every_round_shows_is_sure_where_the_mean_is_not() {
        let found = Rounds::of(&BEFORE, &[0.001, 0.001, 0.201], 0.1, 6).unwrap();
        assert!(!found.less() && !found.same(), "{found:?}");
        let before = [BEFORE, [1.033, 1.111, 2.997]].concat();
        let after = [0.001, 0.001, 0.201, 0.001, 0.001, 0.083];
        let found = Rounds::of(&before, &after, 0.1, 6).unwrap();
        assert!(found.less() && found.left < 0.25, "{found:?}");
        assert_eq!((found.rounds, found.within), (6, 5));
    }

    #[test]
    fn how_far_below_the_margin_an_error_is_does_not_matter() {
        let far = Rounds::of(&BEFORE, &[1e-9, 1e-6, 1e-3], 0.1, 1).unwrap();
        let near = Rounds::of(&BEFORE, &[0.09, 0.05, 0.1], 0.1, 1).unwrap();
        assert_eq!(far, near);
    }

    #[test]
    fn the_same_in_every_round_is_the_same_and_what_scatters_is_open() {
        let found = Rounds::of(&[0.5, 0.6, 0.7], &[0.52, 0.55, 0.73], 0.1, 1).unwrap();
        assert!(found.same() && !found.less() && !found.more(), "{found:?}");
        let found = Rounds::of(&[0.5, 3.0, 0.7], &[2.0, 0.3, 1.7], 0.1, 1).unwrap();
        assert!(!found.same() && !found.less() && !found.more(), "{found:?}");
        let found = Rounds::of(&[0.2, 0.21, 0.2], &[0.8, 0.85, 0.82], 0.1, 1).unwrap();
        assert!(found.more());
    }

    #[test]
    fn more_looks_need_more_certainty() {
        let once = Rounds::of(&BEFORE, &[0.1; 3], 0.1, 1).unwrap();
        let often = Rounds::of(&BEFORE, &[0.1; 3], 0.1, 6).unwrap();
        assert!(often.high > once.high && often.low < once.low);
        assert_eq!(often.left, once.left);
    }

    #[test]
    fn one_round_shows_nothing() {
        assert_eq!(Rounds::of(&[0.5], &[0.1], 0.1, 1), None);
        assert_eq!(Rounds::of(&[], &[0.1, 0.1], 0.1, 1), None);
        assert!((typical(&[0.01, 0.4, 1.6], 0.1).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(typical(&[], 0.1), None);
    }
}
