//! Evaluates a run of interventions, at every look.

use assay_intervention::{Arm, Explanation, Fresh, Prediction, Question, explain};
use assay_run_folder::{Run, RunFolder};
use assay_verdict::{Judgement, Verdict};

use super::target::Target;

/// The target, the changes and their predictions.
pub(super) struct ExplainRequest<'t> {
    pub(super) target: &'t Target,
    pub(super) arms: Vec<Arm>,
    pub(super) predictions: Vec<Prediction>,
    pub(super) looks: usize,
}

impl ExplainRequest<'_> {
    /// Evaluates the rounds recorded so far; `None` if the run cannot be read.
    pub(super) fn look(
        &self,
        folder: &RunFolder,
        refused: &[Option<String>],
        fresh: &[Fresh],
    ) -> Option<Explanation> {
        let run = Run::from_folder(folder).ok()?;
        let judgement = assay_judge::judge_so_far(&run.manifest, &run.samples);
        self.explain(&judgement, refused, fresh)
    }

    /// Evaluates the rounds so far. `refused` holds by trial why the host refused it during the run,
    /// and `fresh` the rounds in which winners were confirmed.
    pub(super) fn explain(
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
