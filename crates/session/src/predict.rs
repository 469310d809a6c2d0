//! Predictions: from a plan and a calibration of this host's disk, without running anything.

mod calibrate;

use std::time::Duration;

use assay_facts::HostFacts;
use assay_plan::{Plan, Refusal};
use assay_predict::Prediction;

use crate::calibration_store::predicted;
use crate::code::Code;
use crate::context::Context;
use crate::error::Error;
use crate::load::Loaded;
use crate::observer::Observer;
use crate::prepare::{facts_for, plan_for};

pub use calibrate::CalibrationOptions;

/// A prediction.
#[derive(Debug)]
pub struct Predicted {
    /// The prediction.
    pub prediction: Prediction,
    /// The time it took to make.
    pub took: Duration,
    /// What keeps this host from running the study.
    pub refusals: Vec<Refusal>,
    /// The exit code: kept only where every promise is predicted to be, and nothing of that is a guess.
    pub code: Code,
}

/// Predicts a study; changes nothing.
///
/// ```
/// use assay_session::{Context, StudyChoice, load, predict};
/// let context = Context::of_this_host(Vec::new());
/// let predicted = predict(&context, &load(&StudyChoice::named("io-weight"))?)?;
/// assert_eq!(predicted.prediction.study, "io-weight");
/// # Ok::<(), assay_session::Error>(())
/// ```
///
/// # Errors
/// A kernel file that every host has cannot be read.
pub fn predict(context: &Context, loaded: &Loaded) -> Result<Predicted, Error> {
    let (facts, plan, seed) = planned(context, loaded)?;
    let (prediction, took) = predicted(context, &loaded.study.name, &plan, &facts, seed);
    let code = Code::from_verdict(assay_predict::supported_verdict(&prediction, &plan));
    Ok(Predicted { prediction, took, refusals: plan.refusals, code })
}

/// Measures the disk of a study and stores the calibration for later predictions.
///
/// ```no_run
/// use std::time::Duration;
/// use assay_session::{CalibrationOptions, Context, StudyChoice, Transcript, calibrate, load};
/// let context = Context::of_this_host(Vec::new());
/// let options = CalibrationOptions { each: Duration::from_secs(2), out: None };
/// let loaded = load(&StudyChoice::named("io-weight"))?;
/// calibrate(&context, &loaded, options, &mut Transcript::default())?;
/// # Ok::<(), assay_session::Error>(())
/// ```
///
/// # Errors
/// The study has no disk, this host cannot measure it, or the measurements did not finish.
pub fn calibrate(
    context: &Context,
    loaded: &Loaded,
    options: CalibrationOptions,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let (facts, plan, _) = planned(context, loaded)?;
    calibrate::measure(context, &plan, &facts, options, observer)
}

fn planned(context: &Context, loaded: &Loaded) -> Result<(HostFacts, Plan, u64), Error> {
    let seed = loaded.seed();
    let facts = facts_for(context, &loaded.study)?;
    let plan = plan_for(context, &loaded.study, &facts, seed);
    Ok((facts, plan, seed))
}
