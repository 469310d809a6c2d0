//! `compare.json`, schema 1. Field names are a contract with users' scripts.

use assay_record::run_folder::Levels;
use assay_stats::Interval;
use serde::{Deserialize, Serialize};

use crate::verdict::judgement::Verdict;

/// Result of comparing two sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Equivalence {
    /// The interval of the ratio lies within the margin.
    Equal,
    /// Outside the margin, in the better direction.
    Better,
    /// Outside the margin, in the worse direction.
    Worse,
    /// Outside the margin, for a measure without a better direction.
    Different,
    /// The interval crosses the edge of the margin.
    Undecided,
    /// Two numbers are not available.
    #[default]
    NotComparable,
}

/// `compare.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// Version of this format: 1.
    pub schema: u32,
    /// `equal`, `different`, `undecided` or `not_comparable`; against a baseline also `better` and
    /// `worse`.
    pub verdict: Equivalence,
    /// The reason in one sentence, with the deciding numbers.
    pub reason: String,
    /// The denominator.
    pub a: ComparedRun,
    /// The numerator.
    pub b: ComparedRun,
    /// The margin: the larger is at most `1 + within` times the smaller.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Whether A is a baseline, so that only what became worse counts.
    pub baseline: bool,
    /// Whether repeats are compared in pairs that ran next to each other.
    pub paired: bool,
    /// Differences between the sides other than the measurements.
    pub differences: Vec<RunDifference>,
    /// Caveats.
    pub notes: Vec<String>,
    /// Trials that both runs have.
    pub trials: Vec<TrialComparison>,
    /// Levels of trials that only A has.
    pub only_in_a: Vec<Levels>,
    /// Levels of trials that only B has.
    pub only_in_b: Vec<Levels>,
}

/// One side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Its name.
    pub run: String,
    /// The study's name.
    pub study: String,
    /// Start time, RFC 3339, UTC.
    pub started_at: String,
    /// The host's name.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// The version that recorded it.
    pub assay: String,
    /// The verdict on its promises, as this version judges it.
    pub verdict: Verdict,
}

/// A property that differs between the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDifference {
    /// Name of the property: `kernel`, `knob io.weight`.
    pub what: String,
    /// In A.
    pub a: String,
    /// In B.
    pub b: String,
}

/// One trial of A and its counterpart in B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialComparison {
    /// The levels that both have.
    pub factors: Levels,
    /// Levels in A of the factors that are compared.
    pub a_factors: Levels,
    /// Levels in B of the factors that are compared.
    pub b_factors: Levels,
    /// The verdict on this trial.
    pub verdict: Equivalence,
    /// Why this trial is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_comparable: Option<String>,
    /// Changes of promises.
    pub promises: Vec<PromiseChange>,
    /// Every measure, those that decide first.
    pub measures: Vec<MeasureComparison>,
}

/// One promise on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseChange {
    /// The measure.
    pub measure: String,
    /// The relation.
    pub is: String,
    /// The knob or bound that it refers to.
    pub to: Option<String>,
    /// In A.
    pub a: PromiseState,
    /// In B.
    pub b: PromiseState,
    /// `equal` where both are kept or both broken, `better` and `worse` between kept and broken,
    /// `undecided` where a side is undecided or has only one repeat, or both are broken in spans.
    pub change: Equivalence,
}

/// One promise on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PromiseState {
    /// Its verdict.
    pub verdict: Verdict,
    /// The largest relative error over all groups; with one repeat its interval is the noise within
    /// that window.
    pub worst_error: Option<Interval>,
    /// Repeats that count; 0 in older documents.
    #[serde(default)]
    pub repeats: usize,
}

/// One measure on both sides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasureComparison {
    /// `io.bytes`, or `WORKLOAD.METRIC`.
    pub measure: String,
    /// `rate` per second, `share` of all measured groups, `amount` held on average, part `in_place`, or
    /// `number` as a workload gives it.
    pub of: String,
    /// The group, or the workload of which a part is in place; absent for all measured groups together,
    /// or all instances of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether the verdict of the trial depends on it.
    pub decides: bool,
    /// `higher` or `lower`, whichever is better; `null` where neither is.
    pub better: Option<String>,
    /// In A.
    pub a: Estimated,
    /// In B.
    pub b: Estimated,
    /// B divided by A.
    pub ratio: Option<f64>,
    /// Lower bound of the ratio's interval; `null` where the scatter is unknown.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Whether it is equal within the margin; `false` only where it is significantly not.
    pub equivalent: Option<bool>,
    /// Whether there is a significant difference, however small; `null` where that is open.
    pub differs: Option<bool>,
    /// Both results in one word.
    pub verdict: Equivalence,
    /// Whether it significantly did not become worse by more than the margin.
    pub not_worse: bool,
    /// For undecided measures: repeats of each side that would probably decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_repeats: Option<usize>,
    /// Why there is no ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
    /// Why it is not called equal or not worse despite its interval: missing data of a side, or the
    /// value of a repeat that was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<String>,
}

/// A measure on one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The geometric mean over its repeats.
    pub value: Option<f64>,
    /// Lower bound of its interval; `null` where the scatter is unknown.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Repeats that have a value.
    pub repeats: usize,
}
