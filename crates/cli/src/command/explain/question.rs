//! What is asked of a run of interventions, as often as there is more of it.

use assay_intervention::{Arm, Explanation, Fresh, Prediction, Question, explain};
use assay_verdict::{Judgement, Verdict};

use super::target::Target;

/// What is asked of the run of interventions.
pub(super) struct ExplainRequest<'t> {
    pub(super) target: &'t Target,
    pub(super) arms: Vec<Arm>,
    pub(super) predictions: Vec<Prediction>,
    pub(super) looks: usize,
}

impl ExplainRequest<'_> {
    /// What the judgement of the rounds so far says. `refused` has by trial why the host would not
    /// have it after all, and `fresh` the rounds that winners were confirmed in.
    pub(super) fn answer(
        &self,
        judgement: &Judgement,
        refused: &[Option<String>],
        fresh: &[Fresh],
    ) -> Option<Explanation> {
        let question = Question {
            promise: self.target.promise,
            was_broken: self.target.judged.verdict == Verdict::Broken,
            looks: self.looks,
            fresh,
            suspects: self.target.suspects(),
            predictions: &self.predictions,
        };
        let with_refusal = |arm: &Arm| {
            let why = arm.trial.as_ref().ok().and_then(|trial| refused.get(*trial)?.clone());
            Arm { trial: why.map_or_else(|| arm.trial.clone(), Err), ..arm.clone() }
        };
        let arms: Vec<Arm> = self.arms.iter().map(with_refusal).collect();
        explain(judgement, question, &arms)
    }
}
