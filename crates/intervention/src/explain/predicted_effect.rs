//! Predicted effect of each change under each cause, before the change is tried.
//!
//! Each cause has a law for the number of groups at which shares break (N* = P / d for an exhausted
//! pool, P w_min / (d w_mean) for BFQ's caps, a quarter of the error for a run four times as long).
//! For one trial it follows whether the error vanishes, falls, or stays. A cause also predicts that
//! changes unrelated to it leave the error where it is: that separates causes which the same change
//! would cure.

use assay_verdict::wording::percent;
use serde::{Deserialize, Serialize};

use super::Arm;
use super::effect_inputs::EffectInputs;

/// Expected effect on the error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Falls to within the margin.
    Vanishes,
    /// Becomes this many times the unchanged error.
    Times {
        /// At least.
        low: f64,
        /// At most.
        high: f64,
    },
}

/// Errors within this factor of each other count as the same.
pub(super) const ABOUT: f64 = 1.5;

impl Expect {
    /// The change is unrelated to the cause.
    pub(super) const STAYS: Self = Self::Times { low: 1.0 / ABOUT, high: ABOUT };
    /// Smaller, by an unknown factor.
    const FALLS: Self = Self::Times { low: 0.0, high: 0.8 };
    /// Larger, by an unknown factor.
    const RISES: Self = Self::Times { low: 1.0 / ABOUT, high: 100.0 };

    /// The range of errors allowed when the unchanged error is `base`.
    pub(super) fn range(self, base: f64, within: f64) -> (f64, f64) {
        match self {
            Self::Vanishes => (0.0, within),
            Self::Times { low, high } => (low * base, high * base),
        }
    }

    /// The expectation in words.
    pub(super) fn describe(self, within: f64) -> String {
        match self {
            Self::Vanishes => format!("the error falls to {} or less", percent(within)),
            Self::STAYS => "the error stays where it is".to_owned(),
            Self::FALLS => "the error falls".to_owned(),
            Self::RISES => "the error stays or rises".to_owned(),
            Self::Times { low, high } => {
                format!("the error becomes {low:.2} to {high:.2} times what it is")
            }
        }
    }
}

/// Prediction of one cause for one change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Name of the intervention.
    pub arm: String,
    /// Code of the cause.
    pub cause: String,
    /// Expected effect on the error.
    pub expect: Expect,
    /// The law, with the figures of the trial.
    pub law: String,
}

/// Predictions of all causes for all arms tried. The first arm is the unchanged trial.
pub(super) fn all(inputs: &EffectInputs, arms: &[Arm], codes: &[String]) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for arm in arms.iter().skip(1).filter(|arm| arm.trial.is_ok()) {
        for code in codes {
            if let Some((expect, law)) = predict_one(inputs, code, arm) {
                let (arm, cause) = (arm.name.clone(), code.clone());
                predictions.push(Prediction { arm, cause, expect, law });
            }
        }
    }
    predictions
}

/// Prediction of one cause for one change; `None` where it predicts nothing.
fn predict_one(inputs: &EffectInputs, code: &str, arm: &Arm) -> Option<(Expect, String)> {
    use Expect as E;
    let (name, times) = (arm.name.as_str(), arm.times);
    let predict = |expect: Expect, law: &str| Some((expect, law.to_owned()));
    match (code, name) {
        ("C-REQUEST-POOL", "requests" | "iodepth") => inputs.pool_law(name, times),
        ("C-TAG-CAP", "requests" | "iodepth") => inputs.cap_law(name, times),
        // With one request in the device the others merge in the scheduler, which takes tags from
        // the pool too.
        ("C-REQUEST-POOL" | "C-TAG-CAP", "strict") => None,
        ("C-INJECTION", "strict") => {
            predict(E::Vanishes, "with one request in the device no request is injected")
        }
        ("C-INJECTION", "iodepth") => predict(E::FALLS, "fewer requests can be injected"),
        ("C-DEVICE-QUEUE", "strict") => {
            predict(E::Vanishes, "weights act on all but the one request in the device")
        }
        ("C-DEVICE-QUEUE", "iodepth") => {
            predict(E::RISES, "weights act only if groups x iodepth exceeds the device's depth")
        }
        ("C-LOW-LATENCY", "low-latency") => predict(E::Vanishes, "no queue's weight is raised"),
        ("C-SLICE-IDLE", "slice-idle") => {
            predict(E::Vanishes, "the disk is held for the next request")
        }
        ("C-SEEKY", "rotational") => predict(E::Vanishes, "sectors are charged instead of time"),
        ("C-SHORT-RUN" | "C-LATE-START", "longer") => {
            let law = format!("the error is q / (T share), and T is {times} times as long");
            // Between the square root (slices add up at random) and proportional (a single one is
            // cut off).
            Some((E::Times { low: 0.0, high: 1.2 / times.sqrt() }, law))
        }
        ("C-CPU" | "C-SCHEDULER-CEILING", "slower") => {
            predict(E::Vanishes, "the disk is the bottleneck once each request takes it longer")
        }
        ("C-CPU", "one-cpu") => predict(E::RISES, "with fewer CPUs the break comes earlier"),
        ("C-CPU-IMBALANCE" | "C-CPU-UNCONTENDED" | "C-INFEASIBLE", "one-cpu") => {
            predict(E::Vanishes, "on one CPU weights are kept exactly")
        }
        ("C-QUOTA-BURST", "one-cpu") => predict(E::FALLS, "one CPU carries less than two"),
        ("C-CFQ-REENTRY", "iodepth") => {
            predict(E::RISES, "a shallower queue runs empty more often")
        }
        ("C-SCHEDULER" | "C-IOCOST-MODEL" | "C-IOCOST-DONATION", "scheduler") => {
            predict(E::Vanishes, "this scheduler obeys the weights by itself")
        }
        ("C-NOT-BACKLOGGED" | "C-DEMAND", "deeper") => {
            predict(E::Vanishes, "a queue that never runs dry is divided by weight")
        }
        ("C-BUFFERED" | "C-PAGE-CACHE" | "C-FOREIGN-WRITES" | "C-DISK-OTHERS", "direct") => {
            predict(E::Vanishes, "every group moves its own bytes")
        }
        (_, "repeat") => predict(E::Vanishes, "a single event does not recur"),
        // Changes unrelated to the cause.
        (
            "C-REQUEST-POOL" | "C-TAG-CAP" | "C-INJECTION" | "C-DEVICE-QUEUE" | "C-SEEKY"
            | "C-LOW-LATENCY" | "C-SLICE-IDLE",
            "longer",
        )
        | (
            "C-INJECTION"
            | "C-DEVICE-QUEUE"
            | "C-SEEKY"
            | "C-LOW-LATENCY"
            | "C-SLICE-IDLE"
            | "C-SHORT-RUN"
            | "C-SCHEDULER-CEILING"
            | "C-CPU",
            "requests",
        )
        | ("C-REQUEST-POOL" | "C-TAG-CAP" | "C-INJECTION" | "C-DEVICE-QUEUE", "rotational")
        | ("C-REQUEST-POOL" | "C-TAG-CAP", "low-latency" | "one-cpu") => {
            predict(E::STAYS, "the change is unrelated")
        }
        _ => None,
    }
}
