//! How near a prediction came to what was found.

use serde::{Deserialize, Serialize};

use crate::judgement::{Judgement, PromiseJudgement, Verdict};
use crate::prediction::{Prediction, PromisePrediction};

/// `score.json`, schema 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Version of this format: 1.
    pub schema: u32,
    /// Mean error of all shares that were predicted and found, as a part of the share found.
    pub mean_error: Option<f64>,
    /// The same in parts of the whole: 0.01 is a percentage point.
    pub mean_points: Option<f64>,
    /// Promises whose verdict was predicted, and of those the ones where it was found.
    pub verdicts: usize,
    /// How many of them were right.
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
    /// What was measured.
    pub measure: String,
    /// Mean over groups of `|predicted / found - 1|`; 1 for a group that got nothing.
    pub mean_error: f64,
    /// The largest of them.
    pub worst_error: f64,
    /// Mean over groups of `|predicted - found|`.
    pub mean_points: f64,
    /// The predicted rate of all groups by the one found.
    pub rate: Option<f64>,
    /// The verdict that was expected.
    pub predicted: Option<Verdict>,
    /// The verdict that was found.
    pub found: Verdict,
    /// Why it did not count as being within what the model was compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

/// Sets a prediction beside the judgement of the run that it was made for.
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

/// `|expected / found - 1|`. A group that got nothing where something was expected is off by all of
/// it.
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
            // Where a quota is promised the judgement has rates, and the shares follow from them.
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
