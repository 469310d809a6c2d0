//! What the law of each cause says of each change, before the change is tried.
//!
//! A law speaks of the number of groups at which shares break (N* = P / d for
//! an exhausted pool, P w_min / (d w_mean) for BFQ's caps, a quarter of the error for a run four
//! times as long). Of one trial it follows whether the error vanishes, falls, or stays. A cause
//! says something also of changes that do not test it: that they leave the error where it is. That
//! is what tells causes apart which the same change would cure.

use serde::{Deserialize, Serialize};

use super::Arm;
use super::effect_inputs::EffectInputs;
use assay_verdict::wording::percent;

/// What the error should do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Falls to within the margin.
    Vanishes,
    /// Becomes this many times what it is unchanged.
    Times {
        /// At least.
        low: f64,
        /// At most.
        high: f64,
    },
}

/// Two errors count as the same within this factor.
pub(super) const ABOUT: f64 = 1.5;

impl Expect {
    /// The change has nothing to do with the cause.
    pub(super) const STAYS: Self = Self::Times { low: 1.0 / ABOUT, high: ABOUT };
    /// Less, nobody knows by how much.
    const FALLS: Self = Self::Times { low: 0.0, high: 0.8 };
    /// More, nobody knows by how much.
    const RISES: Self = Self::Times { low: 1.0 / ABOUT, high: 100.0 };

    /// The errors that it allows, where unchanged it is `base`.
    pub(super) fn range(self, base: f64, within: f64) -> (f64, f64) {
        match self {
            Self::Vanishes => (0.0, within),
            Self::Times { low, high } => (low * base, high * base),
        }
    }

    /// In words.
    pub(super) fn says(self, within: f64) -> String {
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

/// What one cause says of one change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The name of the change.
    pub arm: String,
    /// The code of the cause.
    pub cause: String,
    /// What the error should do.
    pub expect: Expect,
    /// Why, with the figures of the trial.
    pub law: String,
}

/// Every law on every change that is tried. The first arm is the unchanged one.
pub(super) fn all(circumstances: &EffectInputs, arms: &[Arm], codes: &[String]) -> Vec<Prediction> {
    let mut found = Vec::new();
    for arm in arms.iter().skip(1).filter(|arm| arm.trial.is_ok()) {
        for code in codes {
            if let Some((expect, law)) = of(circumstances, code, arm) {
                let (arm, cause) = (arm.name.clone(), code.clone());
                found.push(Prediction { arm, cause, expect, law });
            }
        }
    }
    found
}

/// One law on one change; `None` where it says nothing.
fn of(circumstances: &EffectInputs, code: &str, arm: &Arm) -> Option<(Expect, String)> {
    use Expect as E;
    let (name, times) = (arm.name.as_str(), arm.times);
    let said = |expect: Expect, law: &str| Some((expect, law.to_owned()));
    match (code, name) {
        ("C-REQUEST-POOL", "requests" | "iodepth") => circumstances.pool_law(name, times),
        ("C-TAG-CAP", "requests" | "iodepth") => circumstances.cap_law(name, times),
        // One request in the device leaves the rest to merge in the scheduler, which takes places
        // from the pool as well.
        ("C-REQUEST-POOL" | "C-TAG-CAP", "strict") => None,
        ("C-INJECTION", "strict") => {
            said(E::Vanishes, "with one request in the device nothing is injected")
        }
        ("C-INJECTION", "iodepth") => said(E::FALLS, "fewer requests that could be injected"),
        ("C-DEVICE-QUEUE", "strict") => {
            said(E::Vanishes, "weights act on all but the one request in the device")
        }
        ("C-DEVICE-QUEUE", "iodepth") => {
            said(E::RISES, "weights act only if groups x iodepth exceeds the device's depth")
        }
        ("C-LOW-LATENCY", "low-latency") => said(E::Vanishes, "no queue is raised"),
        ("C-SLICE-IDLE", "slice-idle") => {
            said(E::Vanishes, "the disk is held for the next request")
        }
        ("C-SEEKY", "rotational") => said(E::Vanishes, "sectors are charged and not time"),
        ("C-SHORT-RUN" | "C-LATE-START", "longer") => {
            let law = format!("the error is q / (T share), and T is {times} times as long");
            // Whether turns add up by chance or a single one is cut off: between root and all.
            Some((E::Times { low: 0.0, high: 1.2 / times.sqrt() }, law))
        }
        ("C-CPU" | "C-SCHEDULER-CEILING", "slower") => {
            said(E::Vanishes, "the disk is the bottleneck once each request takes it longer")
        }
        ("C-CPU", "one-cpu") => said(E::RISES, "with fewer CPUs the break comes earlier"),
        ("C-CPU-IMBALANCE" | "C-CPU-UNCONTENDED" | "C-INFEASIBLE", "one-cpu") => {
            said(E::Vanishes, "on one CPU weights are kept exactly")
        }
        ("C-QUOTA-BURST", "one-cpu") => said(E::FALLS, "one CPU carries less than two"),
        ("C-CFQ-REENTRY", "iodepth") => said(E::RISES, "a shallower queue runs empty more often"),
        ("C-SCHEDULER" | "C-IOCOST-MODEL" | "C-IOCOST-DONATION", "scheduler") => {
            said(E::Vanishes, "this scheduler obeys the weights by itself")
        }
        ("C-NOT-BACKLOGGED" | "C-DEMAND", "deeper") => {
            said(E::Vanishes, "a queue that never runs dry is divided by weight")
        }
        ("C-BUFFERED" | "C-PAGE-CACHE" | "C-FOREIGN-WRITES" | "C-DISK-OTHERS", "direct") => {
            said(E::Vanishes, "every group moves its own bytes")
        }
        (_, "repeat") => said(E::Vanishes, "what happened once does not come back"),
        // What a cause has nothing to do with leaves its error alone.
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
            said(E::STAYS, "it has nothing to do with this")
        }
        _ => None,
    }
}
