//! What is known of a setting, and which of two is better.

use super::Measured;
use assay_verdict::{Interval, TrialJudgement, Verdict};

/// What is known of a setting from the trials so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The verdict on it.
    pub verdict: Verdict,
    /// Its largest error, where there is a number.
    pub error: Option<Interval>,
    /// The margin of that error.
    pub within: f64,
    /// Throughput.
    pub rate: Option<f64>,
}

impl Assessment {
    /// From a judged trial: the error that is farthest from its own margin counts.
    #[must_use]
    pub fn of(trial: &TrialJudgement) -> Self {
        let worst = trial
            .promises
            .iter()
            .filter_map(|promise| Some((promise.worst_error?, promise.within)))
            .max_by(|one, other| {
                times(one.0.value, one.1).total_cmp(&times(other.0.value, other.1))
            });
        Self {
            verdict: trial.verdict,
            error: worst.map(|(error, _)| error),
            within: worst.map_or(0.0, |(_, within)| within),
            rate: trial.promises.first().and_then(|promise| promise.total_rate),
        }
    }

    /// How many margins it is beyond its promise: 0 where it keeps it as far as can be seen.
    fn excess(&self) -> f64 {
        match self.error {
            Some(error) if self.verdict != Verdict::Void => {
                (times(error.value, self.within) - 1.0).max(0.0)
            }
            _ => f64::INFINITY,
        }
    }
}

/// An error in margins.
fn times(error: f64, within: f64) -> f64 {
    if within > 0.0 { error / within } else { f64::INFINITY }
}

/// These settings, best first: those within the margin by throughput, then the others by their
/// error. What is void comes last: nothing is known of it.
pub(super) fn best_first(seen: &[Assessment], among: &[usize]) -> Vec<usize> {
    let mut order = among.to_vec();
    let rate = |index: usize| seen[index].rate.unwrap_or(0.0);
    order.sort_by(|&one, &other| {
        let (a, b) = (seen[one].excess(), seen[other].excess());
        a.total_cmp(&b).then(rate(other).total_cmp(&rate(one)))
    });
    order
}

/// The one with the smallest error, whatever its throughput.
pub(super) fn most_exact(seen: &[Assessment], among: &[usize]) -> Option<usize> {
    let error = |index: &usize| match seen[*index].error {
        Some(error) if seen[*index].verdict != Verdict::Void => error.value,
        _ => f64::INFINITY,
    };
    let best = among.iter().copied().min_by(|one, other| error(one).total_cmp(&error(other)))?;
    error(&best).is_finite().then_some(best)
}

/// Which of these pairs of error and rate no other pair beats in both.
#[must_use]
pub fn frontier(points: &[Option<(f64, f64)>]) -> Vec<bool> {
    let beaten = |(error, rate): (f64, f64)| {
        points.iter().flatten().any(|(other, faster)| {
            *other <= error && *faster >= rate && (*other < error || *faster > rate)
        })
    };
    points.iter().map(|point| point.is_some_and(|point| !beaten(point))).collect()
}

impl Measured {
    /// From a judged trial; `None` for one that never ran.
    pub(super) fn of(trial: &TrialJudgement) -> Option<Self> {
        let seen = Assessment::of(trial);
        let first = trial.promises.first()?;
        let worst = trial.promises.iter().find(|promise| promise.verdict == trial.verdict);
        (trial.repeats > 0 || seen.error.is_some()).then(|| Self {
            repeats: trial.repeats,
            window_s: trial.window_s,
            verdict: seen.verdict,
            error: seen.error,
            rate: seen.rate,
            reason: worst.unwrap_or(first).reason.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(error: f64, rate: f64) -> Assessment {
        let interval = Interval { value: error, low: error, high: error };
        let verdict = if error <= 0.1 { Verdict::Kept } else { Verdict::Broken };
        Assessment { verdict, error: Some(interval), within: 0.1, rate: Some(rate) }
    }

    #[test]
    fn within_the_margin_the_faster_is_better_and_beyond_it_the_more_exact() {
        let all = [seen(0.5, 9.0), seen(0.02, 1.0), seen(0.09, 2.0), seen(0.2, 1.0)];
        assert_eq!(best_first(&all, &[0, 1, 2, 3]), [2, 1, 3, 0]);
        assert_eq!(most_exact(&all, &[0, 2, 3]), Some(2));
    }

    #[test]
    fn what_is_void_comes_last_however_small_its_error() {
        let void = Assessment { verdict: Verdict::Void, ..seen(0.01, 100.0) };
        let all = [void, seen(3.0, 1.0)];
        assert_eq!(best_first(&all, &[0, 1]), [1, 0]);
        assert_eq!(most_exact(&all[..1], &[0]), None);
    }

    #[test]
    fn the_frontier_holds_what_nothing_beats_in_both() {
        let points = [Some((0.1, 1.0)), Some((0.2, 2.0)), Some((0.3, 1.5)), None, Some((0.1, 1.0))];
        assert_eq!(frontier(&points), [true, true, false, false, true]);
    }
}
