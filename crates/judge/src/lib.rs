//! Judges a run: statistics, promises and validity checks; causes come from [`FindCauses`].
//!
//! A pure function: it reads no host and no clock, and the same run with the same version gives the
//! same judgement, byte for byte. `docs/judging.md` documents the method with formulas and sources.
//!
//! ```text
//! samples -> common window -> 100 ms grid -> warm-up cut -> numbers of the starts -> bounds
//!                                                 |                                    |
//!                                     validity checks, causes  ------------->  verdict
//! ```

mod by_starts;
pub mod checks;
mod code;
pub mod cpus;
mod cross_trial;
mod decide;
pub mod estimates;
mod expected;
mod facts;
mod found;
mod judged;
pub mod laws;
mod metric;
mod metric_promise;
pub mod placement;
mod progress;
mod promise;
pub mod queue;
mod reason;
mod reference;
pub mod repeat;
mod stop;
pub mod subject;
mod throttle;
mod trial;
pub mod trial_numbers;
mod trial_value;
mod workload_metrics;

pub mod compare;
pub mod verdict;

use assay_record::run_folder::{Manifest, PromiseRecord, Table};
use assay_record::terms::{Measure, PlacementMeasure};
use assay_stats::rule::part_of_together;

use crate::estimates::Estimates;
use crate::placement::PlacedWorkload;
use crate::subject::Subject;
use crate::verdict::{Cause, ComparisonJudgement, Judgement, Proof, TrialJudgement, Verdict};
use cross_trial::TrialInput;
use trial_value::TrialValues;

pub use checks::{Disturbances, OnOneCpu, validity};
pub use code::FailOn;

pub use stop::is_enough;

/// Finds why a promise was not kept. Those of the catalogue are in the crate `cause`.
pub trait FindCauses {
    /// Causes of a promise with this verdict about means, proven ones first, and what events in the kernel say of them.
    fn of_means(
        &self,
        subject: &Subject<'_>,
        promise: (&PromiseRecord, Measure),
        numbers: Option<&Estimates>,
        verdict: Verdict,
    ) -> (Vec<Cause>, Vec<Proof>);

    /// Causes of a broken promise about a metric of a workload.
    fn of_metric(&self, subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Cause>;

    /// Causes of a broken promise about a placement, by the workload that broke it.
    fn of_placement(&self, seen: &PlacedWorkload<'_>, what: PlacementMeasure) -> Vec<Cause>;
}

/// Looks for none: for looks at a run, of which only the verdict counts.
pub struct NoCauses;

impl FindCauses for NoCauses {
    fn of_means(
        &self,
        _: &Subject<'_>,
        _: (&PromiseRecord, Measure),
        _: Option<&Estimates>,
        _: Verdict,
    ) -> (Vec<Cause>, Vec<Proof>) {
        (Vec::new(), Vec::new())
    }

    fn of_metric(&self, _: &Subject<'_>, _: &PromiseRecord) -> Vec<Cause> {
        Vec::new()
    }

    fn of_placement(&self, _: &PlacedWorkload<'_>, _: PlacementMeasure) -> Vec<Cause> {
        Vec::new()
    }
}

/// The samples of a run, `[trial][repeat]` -> tables, in the order of the manifest. A missing
/// entry, or one without tables, is a repeat whose samples are lost.
pub type Samples = [Vec<Vec<Table>>];

/// Judges one trial as soon as its repeats are over: the same verdict as in [`judge`], unless a
/// later trial changes what the run knows about its disk, and no causes. `samples` are those of its repeats.
/// `None` when the run has no such trial.
#[must_use]
pub fn judge_one(
    manifest: &Manifest,
    number: usize,
    samples: &[Vec<Table>],
) -> Option<TrialJudgement> {
    let trial = manifest.trials.get(number)?;
    let so_far = so_far(manifest);
    Some(
        trial::judge_trial(
            &so_far,
            trial,
            samples,
            &trial_value::requests_of_run(manifest),
            (1.0, &NoCauses),
        )
        .0,
    )
}

/// Judges a run in progress by its data so far; repeats to come do not count as missing.
#[must_use]
pub fn judge_so_far(manifest: &Manifest, samples: &Samples, causes: &dyn FindCauses) -> Judgement {
    judge(&so_far(manifest), samples, causes)
}

/// A manifest whose run is not over would count as cut off.
fn so_far(manifest: &Manifest) -> Manifest {
    Manifest { restored: Some(true), ..manifest.clone() }
}

/// Judges a run that is over, early or not.
#[must_use]
pub fn judge(manifest: &Manifest, samples: &Samples, causes: &dyn FindCauses) -> Judgement {
    judge_with(manifest, samples, 1.0, causes)
}

/// Judges the starts of several runs of one study together. It may be run again and judged so
/// after each run until it is kept: all these times together are wrong as rarely as one run.
#[must_use]
pub fn judge_together(
    runs: &[(&Manifest, &Samples)],
    causes: &dyn FindCauses,
) -> Option<Judgement> {
    let (first, _) = runs.first()?;
    let mut manifest = Manifest {
        comparisons: Vec::new(),
        references: Vec::new(),
        restored: runs.iter().all(|(run, _)| run.restored == Some(true)).then_some(true),
        ended_early: runs.iter().find_map(|(run, _)| run.ended_early.clone()),
        ..(*first).clone()
    };
    let mut samples = vec![Vec::new(); manifest.trials.len()];
    for (index, (run, of_run)) in runs.iter().enumerate() {
        for (number, trial) in run.trials.iter().enumerate().take(samples.len()) {
            let tables = of_run.get(number).map_or(&[][..], Vec::as_slice);
            samples[number].extend_from_slice(tables);
            if index > 0 {
                let all = &mut manifest.trials[number];
                all.planned_repeats =
                    all.planned_repeats.zip(trial.planned_repeats).map(|(a, b)| a + b);
                all.repeats.extend_from_slice(&trial.repeats);
            }
        }
    }
    Some(judge_with(&manifest, &samples, part_of_together(runs.len()), causes))
}

fn judge_with(
    manifest: &Manifest,
    samples: &Samples,
    part: f64,
    causes: &dyn FindCauses,
) -> Judgement {
    let requests = trial_value::requests_of_run(manifest);
    let (trials, found): (Vec<TrialJudgement>, Vec<Vec<TrialValues>>) = manifest
        .trials
        .iter()
        .enumerate()
        .map(|(number, trial)| {
            let samples = samples.get(number).map_or(&[][..], Vec::as_slice);
            trial::judge_trial(manifest, trial, samples, &requests, (part, causes))
        })
        .unzip();
    let inputs = |index: usize| -> Vec<TrialInput<'_>> {
        let trials = manifest.trials.iter().zip(&found);
        trials.map(|(trial, found)| TrialInput { trial, found: &found[index] }).collect()
    };
    let comparisons: Vec<ComparisonJudgement> = manifest
        .comparisons
        .iter()
        .enumerate()
        .flat_map(|(index, promise)| cross_trial::judge(promise, &inputs(index)))
        .collect();
    let first = manifest.comparisons.len();
    let references = manifest.references.iter().enumerate();
    // A trial without a promise has no verdict of its own.
    let promising = trials.iter().filter(|trial| !trial.promises.is_empty());
    let verdicts = promising.map(|trial| trial.verdict);
    Judgement {
        schema: 1,
        study: manifest.study.clone(),
        verdict: Verdict::worst(verdicts.chain(comparisons.iter().map(|one| one.verdict))),
        references: references
            .map(|(index, reference)| reference::compare(reference, &inputs(first + index)))
            .collect(),
        trials,
        comparisons,
        restored: manifest.restored,
        guest: manifest.guest.clone(),
        caveat: manifest.guest.as_ref().map(|guest| guest.caveat().to_owned()),
    }
}
