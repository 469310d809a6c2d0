//! `prediction.json`, schema 1: what was expected before anything was measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judgement::Verdict;

/// `prediction.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Version of this format: 1.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// Version of the program that made it.
    pub assay: String,
    /// Seed of the simulations.
    pub seed: u64,
    /// When the calibration that it rests on was made, or why it rests on none.
    pub calibration: Basis,
    /// The worst verdict of its trials, those without a prediction left out; `None` where none has
    /// one.
    pub verdict: Option<Verdict>,
    /// One entry for each combination of factors.
    pub trials: Vec<TrialPrediction>,
    /// From how many groups on a promise breaks, one entry for each combination of other factors.
    pub knees: Vec<KneePrediction>,
    /// Seconds that runs of all these trials would take, repeats counted.
    pub run_s: f64,
}

/// What a prediction rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Measurements of this disk on this host, made then.
    Measured(String),
    /// Nothing that was measured here: why.
    Assumed(String),
}

/// One combination of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialPrediction {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// Promises in the order of the study.
    pub promises: Vec<PromisePrediction>,
    /// What had to be assumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Why it lies outside of what the model was compared with, if so: then it is a guess.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

/// One promise of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromisePrediction {
    /// What is measured.
    pub measure: String,
    /// The margin.
    pub within: f64,
    /// Why there is no prediction, if so; what follows is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
    /// The verdict that is expected.
    pub verdict: Option<Verdict>,
    /// Why, in one sentence.
    pub reason: String,
    /// The largest error of any group: `|share / expected - 1|`.
    pub worst_error: Option<f64>,
    /// The measure per second, all groups together.
    pub total_rate: Option<f64>,
    /// The part of the CPUs that is idle, where a disk is shared.
    pub idle: Option<f64>,
    /// The mean queue of the disk.
    pub queue: Option<f64>,
    /// Each group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupPrediction>,
}

/// One group of a promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupPrediction {
    /// Its name.
    pub name: String,
    /// What it is owed.
    pub expected_share: f64,
    /// What it is expected to get.
    pub share: f64,
    /// Ends of the range in which chance alone leaves the share of one run, at about 95 %; what is
    /// wrong with the model is not in it.
    pub low: f64,
    /// The upper end; `None` where there is none.
    pub high: Option<f64>,
}

/// From how many groups on a promise breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KneePrediction {
    /// Levels of the other factors.
    pub held: BTreeMap<String, Value>,
    /// What is measured.
    pub measure: String,
    /// The margin.
    pub within: f64,
    /// The least number of groups, a power of two, from which on the error is larger than the
    /// margin; `None` where it is not up to `searched_to`.
    pub breaks_at: Option<usize>,
    /// Up to how many groups was looked.
    pub searched_to: usize,
}
