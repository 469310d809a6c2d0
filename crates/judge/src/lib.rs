//! Run -> [`Judgement`]: statistics, promises, validity gates and causes.
//!
//! A pure function: it reads no host and no clock, and the same run with the same version gives
//! the same judgement, byte for byte. How a verdict is reached, with formulas and sources, is
//! told for users in `docs/judging.md`.
//!
//! ```text
//! samples -> common window -> 100 ms grid -> warm-up cut -> means of repeats -> intervals
//!                                                 |                              |
//!                                     validity gates, causes  ---------->  verdict
//! ```

mod bfq_request_cap;
mod cause_docs;
mod causes;
mod checks;
mod cpus;
mod cross_trial;
mod decide;
mod estimates;
mod expected;
mod expected_gain;
mod external_data;
mod facts;
mod interim_looks;
mod knob_value;
mod metric;
mod metric_promise;
mod observed;
mod placement;
mod promise;
mod queue;
mod reason;
mod reference;
mod repeat;
mod sorted;
mod states;
mod throttle;
mod trial;
pub mod trial_numbers;
mod trial_value;
mod workload_metrics;

use assay_run_folder::{Manifest, Table};
use assay_verdict::{ComparisonJudgement, Judgement, TrialJudgement, Verdict, wrong_by_chance};
use cross_trial::Given;
use trial_value::Found;

pub use bfq_request_cap::{Cap, OF_WRITERS, of_groups as caps_of, request_cap};
pub use cause_docs::{CauseEntry, FoundBy, catalogue, cause_entry, causes_page};
pub use causes::may_follow_from_others;
pub use causes::short_run::{TICK_S, TURN_OF_BFQ_S};

pub use external_data::{
    Amounts, ExternalData, OutsideFacts, OutsideGroup, Scatter, judge_outside,
};
pub use interim_looks::{InterimLook, InterimLooks, is_enough, look};
pub use metric::is_latency as metric_is_latency;

/// The samples of a run, `[trial][repeat]` -> tables, in the order of the manifest. A missing
/// entry, or one without tables, is a repeat whose samples are lost.
pub type Samples = [Vec<Vec<Table>>];

/// Judges one trial by itself, as soon as its repeats are over: what it comes to under
/// [`judge`], as long as no later trial changes what the run knows of its disk. `samples` are
/// those of its repeats. `None` when the run has no such trial.
#[must_use]
pub fn judge_one(
    manifest: &Manifest,
    number: usize,
    samples: &[Vec<Table>],
) -> Option<TrialJudgement> {
    let trial = manifest.trials.get(number)?;
    let so_far = so_far(manifest);
    Some(trial::judge_trial(&so_far, trial, samples, &trial_value::of_run(manifest)).0)
}

/// Judges a run that still goes on by what there is of it: repeats to come are none that it lacks.
#[must_use]
pub fn judge_so_far(manifest: &Manifest, samples: &Samples) -> Judgement {
    judge(&so_far(manifest), samples)
}

/// A record that does not say that its run is over is taken for one that was cut off.
fn so_far(manifest: &Manifest) -> Manifest {
    Manifest { restored: Some(true), ..manifest.clone() }
}

/// Judges a run that is over, whether it was ended or ended by itself.
#[must_use]
pub fn judge(manifest: &Manifest, samples: &Samples) -> Judgement {
    let wanted = trial_value::of_run(manifest);
    let (trials, found): (Vec<TrialJudgement>, Vec<Vec<Found>>) = manifest
        .trials
        .iter()
        .enumerate()
        .map(|(number, trial)| {
            let samples = samples.get(number).map_or(&[][..], Vec::as_slice);
            trial::judge_trial(manifest, trial, samples, &wanted)
        })
        .unzip();
    let given = |index: usize| -> Vec<Given<'_>> {
        let trials = manifest.trials.iter().zip(&found);
        trials.map(|(trial, found)| Given { trial, found: &found[index] }).collect()
    };
    let comparisons: Vec<ComparisonJudgement> = manifest
        .comparisons
        .iter()
        .enumerate()
        .flat_map(|(index, promise)| cross_trial::judge(promise, &given(index)))
        .collect();
    let first = manifest.comparisons.len();
    let references = manifest.references.iter().enumerate();
    // A trial without a promise of its own says nothing by itself.
    let promising = trials.iter().filter(|trial| !trial.promises.is_empty());
    let verdicts = promising.map(|trial| trial.verdict);
    let promises = trials.iter().flat_map(|trial| &trial.promises);
    let decided = promises.map(|one| (one.verdict, one.confidence));
    let decided = decided.chain(comparisons.iter().map(|one| (one.verdict, one.confidence)));
    let wrong_by_chance = wrong_by_chance(decided);
    Judgement {
        schema: 1,
        study: manifest.study.clone(),
        verdict: Verdict::worst(verdicts.chain(comparisons.iter().map(|one| one.verdict))),
        references: references
            .map(|(index, reference)| reference::beside(manifest, reference, &given(first + index)))
            .collect(),
        trials,
        comparisons,
        wrong_by_chance,
        restored: manifest.restored,
        guest: manifest.guest.clone(),
        caveat: manifest.guest.as_ref().map(|guest| guest.caveat().to_owned()),
    }
}
