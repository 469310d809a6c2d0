//! Comparison of a prediction with the result.

use serde::{Deserialize, Serialize};

use crate::judgement::{Judgement, PromiseJudgement};
use crate::prediction::{Prediction, PromisePrediction};
use crate::verdict::Verdict;

/// `score.json`, schema 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Format version: 1.
    pub schema: u32,
    /// Mean relative error of all shares with a prediction and a measurement.
    pub mean_error: Option<f64>,
    /// The same as absolute differences of shares: 0.01 is a percentage point.
    pub mean_points: Option<f64>,
    /// Number of promises with a predicted verdict.
    pub verdicts: usize,
    /// Number of correct verdicts.
    pub right: usize,
    /// Trial by trial.
    pub trials: Vec<TrialScore>,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialScore {
    /// One entry for each promise that has both a prediction and numbers.
    pub promises: Vec<PromiseScore>,
}

/// One promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseScore {
    /// The measure.
    pub measure: String,
    /// Mean over groups of `|predicted / measured - 1|`; 1 for a group with a share of zero.
    pub mean_error: f64,
    /// The largest of these errors.
    pub worst_error: f64,
    /// Mean over groups of `|predicted - measured|`.
    pub mean_points: f64,
    /// Predicted total rate divided by the measured one.
    pub rate: Option<f64>,
    /// The expected verdict.
    pub predicted: Option<Verdict>,
    /// The actual verdict.
    pub found: Verdict,
    /// Why it was outside the validated range of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

/// Compares a prediction with the judgement of its run.
#[must_use]
pub fn score(prediction: &Prediction, judgement: &Judgement) -> Score {
    let trials: Vec<TrialScore> = prediction
        .trials
        .iter()
        .filter_map(|predicted| {
            let found = judgement.trials.iter().find(|one| one.factors == predicted.factors)?;
            let pairs = predicted.promises.iter().zip(&found.promises);
            let promises = pairs
                .filter_map(|(predicted_one, found)| {
                    of_promise(predicted_one, found, &predicted.outside)
                })
                .collect();
            Some(TrialScore { promises })
        })
        .collect();
    let all: Vec<&PromiseScore> = trials.iter().flat_map(|trial| &trial.promises).collect();
    let mean = |of: &dyn Fn(&PromiseScore) -> f64| {
        (!all.is_empty()).then(|| all.iter().map(|one| of(one)).sum::<f64>() / all.len() as f64)
    };
    let predicted = || all.iter().filter(|one| one.predicted.is_some());
    Score {
        schema: 1,
        mean_error: mean(&|one| one.mean_error),
        mean_points: mean(&|one| one.mean_points),
        verdicts: predicted().count(),
        right: predicted().filter(|one| one.predicted == Some(one.found)).count(),
        trials,
    }
}

/// `|expected / found - 1|`; 1 for a group with a share of zero where something was expected.
#[must_use]
pub fn share_error(expected: f64, found: f64) -> f64 {
    match found > 0.0 {
        true => (expected / found - 1.0).abs(),
        false => f64::from(u8::from(expected > 0.0)),
    }
}

fn of_promise(
    predicted: &PromisePrediction,
    found: &PromiseJudgement,
    outside: &[String],
) -> Option<PromiseScore> {
    let pairs: Option<Vec<(f64, f64)>> = predicted
        .groups
        .iter()
        .map(|group| {
            let other = found.groups.iter().find(|one| one.name == group.name)?;
            // Where a quota is promised the judgement has rates, from which the shares follow.
            let all: f64 = found.groups.iter().map(|one| one.rate).sum();
            (all > 0.0).then(|| (group.share, other.rate / all))
        })
        .collect();
    let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
    let count = pairs.len() as f64;
    let errors = || pairs.iter().map(|(predicted, found)| share_error(*predicted, *found));
    Some(PromiseScore {
        measure: found.measure.clone(),
        mean_error: errors().sum::<f64>() / count,
        worst_error: errors().fold(0.0, f64::max),
        mean_points: pairs.iter().map(|(a, b)| (a - b).abs()).sum::<f64>() / count,
        rate: predicted.total_rate.zip(found.total_rate).map(|(a, b)| a / b.max(1e-12)),
        predicted: predicted.verdict,
        found: found.verdict,
        outside: outside.to_vec(),
    })
}
