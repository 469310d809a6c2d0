//! The parts of `verdict.json` that are about trials against each other, and about numbers of
//! others beside ours. Field names are a contract with users' scripts.

use assay_run_folder::Levels;
use serde::{Deserialize, Serialize};

use crate::judgement::Verdict;

/// One promise across trials, under one combination of the factors that it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonJudgement {
    /// What is compared.
    pub measure: String,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation: `ratio`, `equal`.
    pub is: String,
    /// The factors whose levels are compared.
    pub over: Vec<String>,
    /// The levels of all other factors.
    pub held: Levels,
    /// What the ratio is promised to be at least.
    pub at_least: Option<f64>,
    /// What the ratio is promised to be at most.
    pub at_most: Option<f64>,
    /// For `equal`: the larger is at most `1 + within` times the smaller.
    pub within: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence that names the deciding numbers.
    pub reason: String,
    /// For an undecided promise: repeats that would probably decide it.
    pub needs_repeats: Option<usize>,
    /// The measure under each level, in the order of the study file.
    pub levels: Vec<LevelJudgement>,
    /// Levels against each other.
    pub pairs: Vec<PairJudgement>,
}

/// The measure under one level, or one combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelJudgement {
    /// The compared factors' levels.
    pub factors: Levels,
    /// Repeats that have a value.
    pub repeats: usize,
    /// Geometric mean over the repeats, in the unit of the measure.
    pub value: Option<f64>,
    /// Lower end of its interval; `null` with fewer than two repeats.
    pub low: Option<f64>,
    /// Upper end of its interval; `null` with fewer than two repeats.
    pub high: Option<f64>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// One level against another, repeat by repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairJudgement {
    /// The levels that are divided.
    pub of: Levels,
    /// The levels that they are divided by.
    pub to: Levels,
    /// Repeats that both sides have.
    pub repeats: usize,
    /// Geometric mean of the ratios.
    pub ratio: Option<f64>,
    /// Lower end of its interval; `null` with fewer than two repeats.
    pub low: Option<f64>,
    /// Upper end of its interval; `null` with fewer than two repeats.
    pub high: Option<f64>,
    /// This pair's own verdict.
    pub verdict: Verdict,
}

/// A number of somebody else and what we found for the same. Never judged: another machine,
/// another kernel, another time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceJudgement {
    /// What it is.
    pub what: String,
    /// Their number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it stands.
    pub source: String,
    /// The measure of ours beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The levels of our factors that it belongs to.
    pub under: Levels,
    /// The levels that ours is divided by; absent where it is no ratio.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub to: Levels,
    /// Ours, one entry for each trial with these levels.
    pub ours: Vec<LevelJudgement>,
    /// What the closed form of bandwidths expects of each entry of `ours`, where it is the gain of
    /// one memory placement over another; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedGain>,
}

/// What bandwidths alone expect of a gain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedGain {
    /// The ratio of a workload that does nothing but wait for memory.
    pub if_memory_bound: Option<f64>,
    /// The part of its time for which ours waits for memory, by the ratio that was measured; `null`
    /// where the two contradict each other.
    pub memory_bound_part: Option<f64>,
    /// Why there is no expectation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}
