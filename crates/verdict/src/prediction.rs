//! `prediction.json`, schema 1: expectations before the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::verdict::Verdict;

/// `prediction.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Format version: 1.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// Version of the program that made it.
    pub assay: String,
    /// Seed of the plan.
    pub seed: u64,
    /// Date of the calibration used, or why there is none.
    pub calibration: Basis,
    /// The worst verdict of its trials, without those that lack a prediction; `None` where none has
    /// one.
    pub verdict: Option<Verdict>,
    /// One entry for each combination of factors.
    pub trials: Vec<TrialPrediction>,
    /// The number of groups from which on a promise breaks, one entry for each combination of other
    /// factors.
    pub knees: Vec<KneePrediction>,
    /// Seconds that runs of all these trials would take, with repeats.
    pub run_s: f64,
}

/// Basis of a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Measurements of this disk on this host, with their date.
    Measured(String),
    /// No measurements on this host, with the reason.
    Assumed(String),
}

/// One combination of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialPrediction {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// Promises in the order of the study.
    pub promises: Vec<PromisePrediction>,
    /// Assumptions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Why it lies outside the validated range of the model, if so: then it is a guess.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

/// One promise of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromisePrediction {
    /// The measure.
    pub measure: String,
    /// The margin.
    pub within: f64,
    /// Why there is no prediction, if so; the other fields are then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
    /// The expected verdict.
    pub verdict: Option<Verdict>,
    /// The reason in one sentence.
    pub reason: String,
    /// The largest error of any group: `|share / expected - 1|`.
    pub worst_error: Option<f64>,
    /// The measure per second, over all groups.
    pub total_rate: Option<f64>,
    /// The idle part of the CPUs, where a disk is shared.
    pub idle: Option<f64>,
    /// The mean queue of the disk; only in files of versions that simulated it.
    pub queue: Option<f64>,
    /// Predictions by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupPrediction>,
}

/// One group of a promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupPrediction {
    /// Its name.
    pub name: String,
    /// The promised share.
    pub expected_share: f64,
    /// The predicted share.
    pub share: f64,
    /// The share again; in files of versions that simulated, the lower bound of what chance makes of it.
    pub low: f64,
    /// The same, upper bound; `None` where there is none.
    pub high: Option<f64>,
}

/// The number of groups from which on a promise breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KneePrediction {
    /// Levels of the other factors.
    pub held: BTreeMap<String, Value>,
    /// The measure.
    pub measure: String,
    /// The margin.
    pub within: f64,
    /// The smallest number of groups, a power of two, from which on the error exceeds the margin;
    /// `None` where there is none up to `searched_to`.
    pub breaks_at: Option<usize>,
    /// Largest number of groups examined.
    pub searched_to: usize,
}
