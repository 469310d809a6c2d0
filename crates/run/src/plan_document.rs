//! A plan as a JSON document, as `assay check -o json` prints it.

use assay_record::run_folder::{ComparisonRecord, KnobRecord, PromiseRecord, ReferenceRecord};
use assay_study::Bindings;
use assay_study::plan::{Plan, PlannedChange, Refusal, Trial, changes};
use serde::Serialize;

use crate::before_run::{Needs, needs};
use crate::load::Loaded;

/// A plan for programs.
#[derive(Debug, Serialize)]
pub struct PlanDocument<'p> {
    /// Version of this format.
    pub schema: u32,
    /// Name of the study.
    pub study: &'p str,
    /// One for each combination of factors.
    pub trials: Vec<PlannedTrial<'p>>,
    /// Promises across trials.
    pub comparisons: &'p [ComparisonRecord],
    /// Published numbers to show beside the results.
    pub references: &'p [ReferenceRecord],
    /// What this host cannot do.
    pub refusals: &'p [Refusal],
    /// What the run needs of this host.
    pub needs: Needs,
    /// Whether eBPF programs record where groups wait.
    pub evidence: bool,
}

/// A trial of the plan.
#[derive(Debug, Serialize)]
pub struct PlannedTrial<'p> {
    /// The value of each factor.
    pub factors: &'p Bindings,
    /// The knobs of its groups.
    pub knobs: Vec<PlannedKnob<'p>>,
    /// Every change of the host.
    pub changes: Vec<PlannedChange>,
    /// The promises about it.
    pub promises: &'p [PromiseRecord],
}

/// A knob of a group.
#[derive(Debug, Serialize)]
pub struct PlannedKnob<'p> {
    /// Path of the group below the run's own.
    pub group: &'p str,
    /// The knob, and what is written on this host.
    pub knob: &'p KnobRecord,
}

/// A plan as a document.
#[must_use]
pub fn plan_document<'p>(loaded: &'p Loaded, plan: &'p Plan) -> PlanDocument<'p> {
    PlanDocument {
        schema: 1,
        study: &loaded.study.name,
        trials: plan.trials.iter().map(planned).collect(),
        comparisons: &plan.comparisons,
        references: &plan.references,
        refusals: &plan.refusals,
        needs: needs(plan),
        evidence: loaded.study.sampling.evidence,
    }
}

fn planned(trial: &Trial) -> PlannedTrial<'_> {
    let knobs = trial.groups.iter().flat_map(|group| {
        group.knobs.iter().map(|knob| PlannedKnob { group: &group.name, knob: &knob.record })
    });
    PlannedTrial {
        factors: &trial.factors,
        knobs: knobs.collect(),
        changes: changes(trial),
        promises: &trial.promises,
    }
}
