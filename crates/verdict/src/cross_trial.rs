//! The parts of `verdict.json` about promises across trials and about references. Field names are a
//! contract with users' scripts.

use assay_run_folder::Levels;
use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// One promise across trials, under one combination of the factors held constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonJudgement {
    /// The measure.
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
    /// Lower bound of the ratio.
    pub at_least: Option<f64>,
    /// Upper bound of the ratio.
    pub at_most: Option<f64>,
    /// For `equal`: the larger is at most `1 + within` times the smaller.
    pub within: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason in one sentence, with the deciding numbers.
    pub reason: String,
    /// For an undecided promise: repeats that would probably decide it.
    pub needs_repeats: Option<usize>,
    /// The measure under each level, in the order of the study file.
    pub levels: Vec<LevelJudgement>,
    /// Comparisons of levels.
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
    /// Lower bound of its interval; `null` with fewer than two repeats.
    pub low: Option<f64>,
    /// Upper bound of its interval; `null` with fewer than two repeats.
    pub high: Option<f64>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// One level against another, repeat by repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairJudgement {
    /// Levels of the numerator.
    pub of: Levels,
    /// Levels of the denominator.
    pub to: Levels,
    /// Repeats that both sides have.
    pub repeats: usize,
    /// Geometric mean of the ratios.
    pub ratio: Option<f64>,
    /// Lower bound of its interval; `null` with fewer than two repeats.
    pub low: Option<f64>,
    /// Upper bound of its interval; `null` with fewer than two repeats.
    pub high: Option<f64>,
    /// This pair's own verdict.
    pub verdict: Verdict,
}

/// A published number next to our measurement. Never judged: it comes from another machine, kernel
/// and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceJudgement {
    /// What it is.
    pub what: String,
    /// The published number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Its source.
    pub source: String,
    /// Our measure next to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The levels of our factors to which it applies.
    pub under: Levels,
    /// The levels that our number is divided by; absent where it is not a ratio.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub to: Levels,
    /// Our numbers, one for each trial with these levels.
    pub ours: Vec<LevelJudgement>,
}
