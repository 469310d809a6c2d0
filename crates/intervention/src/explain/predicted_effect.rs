//! Predicted effect of each change under each cause, before the change is tried.
//!
//! Each cause predicts the number of groups at which shares break (N* = P / d for an exhausted
//! pool, P w_min / (d w_mean) for BFQ's caps, a quarter of the error for a run four times as long).
//! For one trial it follows whether the error vanishes, falls, or stays. A cause also predicts that
//! changes unrelated to it leave the error where it is: that separates causes which the same change
//! would cure.

use assay_judge::Expect;
use assay_judge::cause_entry;
use serde::{Deserialize, Serialize};

use super::Arm;
use super::effect_inputs::EffectInputs;

/// Prediction of one cause for one change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Name of the intervention.
    pub arm: String,
    /// Code of the cause.
    pub cause: String,
    /// Expected effect on the error.
    pub expect: Expect,
    /// The reason, with the figures of the trial.
    #[serde(rename = "law")]
    pub why: String,
}

/// Predictions of all causes for all arms tried. The first arm is the unchanged trial.
pub(super) fn all(inputs: &EffectInputs, arms: &[Arm], codes: &[String]) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for arm in arms.iter().skip(1).filter(|arm| arm.trial.is_ok()) {
        for code in codes {
            if let Some((expect, why)) = predict_one(inputs, code, arm) {
                let (arm, cause) = (arm.name.clone(), code.clone());
                predictions.push(Prediction { arm, cause, expect, why });
            }
        }
    }
    predictions
}

/// Prediction of one cause for one change; `None` where it predicts nothing. Most are in the entry of the
/// cause; here are those that depend on the trial, and what holds for every cause.
fn predict_one(inputs: &EffectInputs, code: &str, arm: &Arm) -> Option<(Expect, String)> {
    let (name, times) = (arm.name.as_str(), arm.times);
    match (code, name) {
        ("C-REQUEST-POOL", "requests" | "iodepth") => inputs.pool_effect(name, times),
        ("C-TAG-CAP", "requests" | "iodepth") => inputs.cap_effect(name, times),
        // It is made so.
        ("C-TAG-CAP" | "C-REQUEST-POOL", "room") => {
            let why = "every group's part of the larger pool holds what it then keeps outstanding";
            Some((Expect::Vanishes, why.to_owned()))
        }
        ("C-SHORT-RUN" | "C-LATE-START", "longer") => {
            let why = format!("the error is q / (T share), and T is {times} times as long");
            // Between the square root (slices add up at random) and proportional (a single one is
            // cut off).
            Some((Expect::Times { low: 0.0, high: 1.2 / times.sqrt() }, why))
        }
        (_, "repeat") => Some((Expect::Vanishes, "a single event does not recur".to_owned())),
        _ => {
            let effects = cause_entry(code)?.effects.iter();
            let effect = effects.into_iter().find(|effect| effect.of.contains(&name))?;
            Some((effect.expect, effect.why.to_owned()))
        }
    }
}
