//! Calibrations below the state folder: one for each disk and scheduler.

use std::path::PathBuf;

use assay_facts::HostFacts;
use assay_files::input_text;
use assay_host::state_dir;
use assay_plan::Plan;
use assay_predict::{Basis, Calibration, Costs, disk_of};

use crate::load::MOST_TEXT;

/// The file of the calibration of a disk, letters and digits of its name alone.
pub(super) fn file(disk: &str, scheduler: Option<&str>) -> PathBuf {
    let name = format!("{disk}-{}", scheduler.unwrap_or("as-found"));
    let plain: String =
        name.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).collect();
    state_dir().join("calibration").join(format!("{plain}.json"))
}

/// What is known of the plan's disk here, and what the prediction then rests on.
pub(super) fn known(plan: &Plan, facts: &HostFacts) -> (Option<Costs>, Basis) {
    let Some((disk, scheduler)) = disk_of(plan) else {
        return (None, Basis::Assumed("the study has no disk to measure".to_owned()));
    };
    let path = file(&disk, scheduler.as_deref());
    let text = match input_text(&path, MOST_TEXT) {
        Ok(text) => text,
        Err(error) if error.is_missing() => {
            let why = "this disk was not measured here; `assay predict --calibrate` does it";
            return (None, Basis::Assumed(why.to_owned()));
        }
        Err(error) => return (None, Basis::Assumed(error.to_string())),
    };
    let found: Calibration = match serde_json::from_str(&text) {
        Ok(found) => found,
        Err(cause) => {
            let why = format!("{} is no calibration: {cause}", path.display());
            return (None, Basis::Assumed(why));
        }
    };
    match found.refusal(facts, &disk) {
        Some(why) => {
            let why = format!("the calibration of this disk is not used: {why}");
            (None, Basis::Assumed(why))
        }
        None => {
            let costs = found.costs();
            let when = match found.doubt() {
                Some(doubt) => format!("{}; {doubt}", found.made_at),
                None => found.made_at,
            };
            (Some(costs), Basis::Measured(when))
        }
    }
}
