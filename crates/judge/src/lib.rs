//! Run -> [`Judgement`]: statistics, promises, validity gates and causes.
//!
//! A pure function: it reads no host and no clock, and the same run with the same version gives
//! the same judgement, byte for byte. How a verdict is reached, with formulas and sources, is
//! told for users in `docs/judging.md`.
//!
//! ```text
//! samples -> common window -> 100 ms grid -> warm-up cut -> block bootstrap -> intervals
//!                                                 |                              |
//!                                     validity gates, causes  ---------->  verdict
//! ```

mod causes;
mod cpus;
mod expected;
mod feasible;
mod figures;
mod gates;
mod grid;
mod judgement;
mod margin;
mod measure;
mod placed;
mod promise;
mod queue;
mod reading;
mod reason;
mod repeat;
mod series;
mod statistics;
mod throttle;
mod trial;
mod warm_up;
mod wording;

use assay_record::{Manifest, Table};

pub use judgement::{
    Cause, Check, Figure, GroupJudgement, Interval, Judgement, PromiseJudgement, TrialJudgement,
    Verdict, WorkloadFigures,
};

/// The samples of a run, `[trial][repeat]` -> tables, in the order of the manifest. A missing
/// entry, or one without tables, is a repeat whose samples are lost.
pub type Samples = [Vec<Vec<Table>>];

/// Judges a run. `manifest.seed` seeds every random draw, so that a run judged again gives the
/// same document.
#[must_use]
pub fn judge(manifest: &Manifest, samples: &Samples) -> Judgement {
    let trials: Vec<TrialJudgement> = manifest
        .trials
        .iter()
        .enumerate()
        .map(|(number, trial)| {
            let samples = samples.get(number).map_or(&[][..], Vec::as_slice);
            trial::judge_trial(manifest, number, trial, samples)
        })
        .collect();
    Judgement {
        schema: 1,
        study: manifest.study.clone(),
        verdict: Verdict::worst(trials.iter().map(|trial| trial.verdict)),
        trials,
        restored: manifest.restored,
        guest: manifest.guest.clone(),
        caveat: manifest.guest.as_ref().map(|guest| guest.caveat().to_owned()),
    }
}
