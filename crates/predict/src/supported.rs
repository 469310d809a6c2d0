//! How much of a prediction is supported: by the repeats of the run, and by what was measured and
//! compared with runs.

use assay_plan::Plan;
use assay_run_folder::PromiseRecord;
use assay_verdict::{Prediction, PromisePrediction, TrialPrediction, Verdict};

/// Fewest repeats of a run that keeps a promise (docs/judging.md).
const FEWEST: usize = 2;

/// The prediction of a run with so many repeats: what the formulas keep may be more than that run can show, or
/// than they know.
pub(crate) fn as_shown_by_run(
    predicted: PromisePrediction,
    promise: &PromiseRecord,
    repeats: usize,
) -> PromisePrediction {
    let missing = match () {
        () if predicted.verdict != Some(Verdict::Kept) => return predicted,
        () if repeats < FEWEST => "but one repeat keeps no promise",
        () if promise.every.is_some() => {
            "but that is the mean, and how much spans of time differ from it is not in the model"
        }
        () => return predicted,
    };
    PromisePrediction {
        verdict: Some(Verdict::Undecided),
        reason: format!("{}; {missing}", predicted.reason),
        ..predicted
    }
}

/// The verdict of a whole prediction, for exit codes. Kept only where every promise has a prediction of which
/// nothing is a guess.
#[must_use]
pub fn supported_verdict(prediction: &Prediction, plan: &Plan) -> Verdict {
    let is_complete = |trial: &TrialPrediction| {
        trial.outside.is_empty() && trial.promises.iter().all(|one| one.not_available.is_none())
    };
    match prediction.verdict {
        // Promises across trials have no formula.
        Some(Verdict::Kept)
            if !plan.comparisons.is_empty() || !prediction.trials.iter().all(is_complete) =>
        {
            Verdict::Undecided
        }
        found => found.unwrap_or(Verdict::Undecided),
    }
}
