//! Calibrations in the state folder, one per disk and scheduler, and predictions from them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_facts::HostFacts;
use assay_files::input_text;
use assay_plan::Plan;
use assay_predict::{Basis, Calibration, Costs, Prediction, disk_of};

use crate::context::Context;
use crate::load::MOST_TEXT;

/// The calibration file of a disk, named by the letters and digits of its name.
pub(crate) fn file(state_dir: &Path, disk: &str, scheduler: Option<&str>) -> PathBuf {
    let name = format!("{disk}-{}", scheduler.unwrap_or("as-found"));
    let safe_name: String =
        name.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).collect();
    state_dir.join("calibration").join(format!("{safe_name}.json"))
}

/// The prediction of a plan from the calibration of this host's disk, if any, and the time it took.
pub(crate) fn predicted(
    context: &Context,
    study: &str,
    plan: &Plan,
    facts: &HostFacts,
    seed: u64,
) -> (Prediction, Duration) {
    let (costs, basis) = costs(&context.state_dir, plan, facts);
    let costs: Costs = costs.unwrap_or_default();
    let began = Instant::now();
    let prediction = assay_predict::predict(study, plan, facts, &costs, basis, seed);
    (prediction, began.elapsed())
}

/// The calibrated costs of the plan's disk, if any, and the basis of the prediction.
fn costs(state_dir: &Path, plan: &Plan, facts: &HostFacts) -> (Option<Costs>, Basis) {
    let Some((disk, scheduler)) = disk_of(plan) else {
        return (None, Basis::Assumed("the study has no disk to measure".to_owned()));
    };
    let path = file(state_dir, &disk, scheduler.as_deref());
    let text = match input_text(&path, MOST_TEXT) {
        Ok(text) => text,
        Err(error) if error.is_missing() => {
            let why = "this disk was never calibrated; `assay predict --calibrate` does it";
            return (None, Basis::Assumed(why.to_owned()));
        }
        Err(error) => return (None, Basis::Assumed(error.to_string())),
    };
    let calibration: Calibration = match serde_json::from_str(&text) {
        Ok(calibration) => calibration,
        Err(cause) => {
            let why = format!("{} is not a calibration: {cause}", path.display());
            return (None, Basis::Assumed(why));
        }
    };
    match calibration.refusal(facts, &disk) {
        Some(why) => {
            let why = format!("the calibration of this disk is not used: {why}");
            (None, Basis::Assumed(why))
        }
        None => {
            let costs = calibration.costs();
            let when = match calibration.doubt() {
                Some(doubt) => format!("{}; {doubt}", calibration.made_at),
                None => calibration.made_at,
            };
            (Some(costs), Basis::Measured(when))
        }
    }
}
