//! Assessment of a setting, and ordering of settings.

use assay_judge::verdict::{Interval, TrialJudgement, Verdict};
use assay_record::terms::{Direction, Measure};

use super::Measured;

/// What the trials so far show about a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// Verdict on the trial.
    pub verdict: Verdict,
    /// Its largest error, where there is a number.
    pub error: Option<Interval>,
    /// The margin of that error.
    pub within: f64,
    /// Throughput, if its first promise is about work.
    pub rate: Option<f64>,
}

impl Assessment {
    /// From a judged trial; the error farthest from its own margin counts.
    #[must_use]
    pub fn from_trial(trial: &TrialJudgement) -> Self {
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
            rate: trial
                .promises
                .first()
                .filter(|promise| is_work(&promise.measure))
                .and_then(|promise| promise.total_rate),
        }
    }

    /// Margins beyond the promise; 0 where the estimate is within it.
    fn excess(&self) -> f64 {
        match self.error {
            Some(error) if self.verdict != Verdict::Void => {
                (times(error.value, self.within) - 1.0).max(0.0)
            }
            _ => f64::INFINITY,
        }
    }
}

/// Whether more of a measure is more work, so that the larger rate is faster. More refaults or memory
/// are not, CPU time may be waste, and of a workload's own metrics nothing is known.
#[must_use]
pub fn is_work(measure: &str) -> bool {
    Measure::parse(measure).is_some_and(|measure| measure.info().better == Direction::Higher)
}

/// An error in margins.
fn times(error: f64, within: f64) -> f64 {
    if within > 0.0 { error / within } else { f64::INFINITY }
}

/// Settings sorted best first: those within the margin by throughput, or by error where none is known,
/// then the others by error. Void ones come last, since nothing is known about them.
pub(super) fn best_first(assessments: &[Assessment], among: &[usize]) -> Vec<usize> {
    let mut order = among.to_vec();
    let rate = |index: usize| assessments[index].rate.unwrap_or(0.0);
    let error = |index: usize| error(&assessments[index]);
    order.sort_by(|&one, &other| {
        let (a, b) = (assessments[one].excess(), assessments[other].excess());
        let by_rate = a.total_cmp(&b).then(rate(other).total_cmp(&rate(one)));
        by_rate.then(error(one).total_cmp(&error(other)))
    });
    order
}

/// The setting with the smallest error, whatever its throughput.
pub(super) fn most_exact(assessments: &[Assessment], among: &[usize]) -> Option<usize> {
    let error = |index: &usize| error(&assessments[*index]);
    let best = among.iter().copied().min_by(|one, other| error(one).total_cmp(&error(other)))?;
    error(&best).is_finite().then_some(best)
}

/// The error; infinite where nothing is known.
fn error(assessment: &Assessment) -> f64 {
    match assessment.error {
        Some(error) if assessment.verdict != Verdict::Void => error.value,
        _ => f64::INFINITY,
    }
}

impl Measured {
    /// From a judged trial; `None` for one that never ran.
    pub(super) fn from_trial(trial: &TrialJudgement) -> Option<Self> {
        let assessment = Assessment::from_trial(trial);
        let first = trial.promises.first()?;
        let worst = trial.promises.iter().find(|promise| promise.verdict == trial.verdict);
        (trial.repeats > 0 || assessment.error.is_some()).then(|| Self {
            repeats: trial.repeats,
            window_s: trial.window_s,
            verdict: assessment.verdict,
            error: assessment.error,
            rate: first.total_rate,
            reason: worst.unwrap_or(first).reason.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assessment(error: f64, rate: f64) -> Assessment {
        let interval = Interval { value: error, low: error, high: error };
        let verdict = if error <= 0.1 { Verdict::Kept } else { Verdict::Broken };
        Assessment { verdict, error: Some(interval), within: 0.1, rate: Some(rate) }
    }

    #[test]
    fn settings_within_the_margin_rank_by_rate_others_by_error() {
        let all = [
            assessment(0.5, 9.0),
            assessment(0.02, 1.0),
            assessment(0.09, 2.0),
            assessment(0.2, 1.0),
        ];
        assert_eq!(best_first(&all, &[0, 1, 2, 3]), [2, 1, 3, 0]);
        assert_eq!(most_exact(&all, &[0, 2, 3]), Some(2));
    }

    #[test]
    fn settings_without_a_rate_rank_by_error() {
        let all = [0.09, 0.02].map(|error| Assessment { rate: None, ..assessment(error, 1.0) });
        assert_eq!(best_first(&all, &[0, 1]), [1, 0]);
    }

    #[test]
    fn void_settings_rank_last() {
        let void = Assessment { verdict: Verdict::Void, ..assessment(0.01, 100.0) };
        let all = [void, assessment(3.0, 1.0)];
        assert_eq!(best_first(&all, &[0, 1]), [1, 0]);
        assert_eq!(most_exact(&all[..1], &[0]), None);
    }
}
