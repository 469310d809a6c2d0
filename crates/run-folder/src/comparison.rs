//! What a run promises across its trials, and the numbers of others that stand beside its own.
//!
//! Promises of one trial are part of its [`TrialRecord`](crate::TrialRecord); what one trial owes
//! another belongs to the run as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Levels of factors by the factors' names, each exactly as in `factors` of the trials.
pub type Levels = BTreeMap<String, Value>;

/// One promise across trials. The factors that it does not name are held: it is judged once for
/// every combination of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// What is compared: a measure of the samples, of which the measured groups together count, or
    /// `WORKLOAD.METRIC`, of which the geometric mean over the instances counts.
    pub measure: String,
    /// The one group that counts, where it is not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation.
    pub is: AcrossRecord,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// The relation of a promise across trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcrossRecord {
    /// The measure under some levels divided by that under others.
    Ratio {
        /// Levels of the numerator.
        of: Levels,
        /// Levels of the denominator, of the same factors.
        to: Levels,
        /// The ratio is promised to be no less.
        at_least: Option<f64>,
        /// The ratio is promised to be no more.
        at_most: Option<f64>,
    },
    /// The same under every level of a factor.
    Equal {
        /// The factor.
        over: String,
        /// Which levels are compared with each other.
        pairs: PairsRecord,
        /// The margin: the larger is at most `1 + within` times the smaller.
        within: f64,
    },
}

impl AcrossRecord {
    /// What it is called in documents.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ratio { .. } => "ratio",
            Self::Equal { .. } => "equal",
        }
    }

    /// The factors whose levels are compared; all others are held.
    #[must_use]
    pub fn over(&self) -> Vec<String> {
        match self {
            Self::Ratio { of, .. } => of.keys().cloned().collect(),
            Self::Equal { over, .. } => vec![over.clone()],
        }
    }
}

/// Which levels of a factor are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairsRecord {
    /// Each with each.
    All,
    /// Each with the first of the study file.
    First,
}

/// A number of somebody else, shown beside ours and never judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceRecord {
    /// What it is, in one line.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it stands.
    pub source: String,
    /// The measure of ours to set beside it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The one group of ours that counts, where it is not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The levels of our factors that it belongs to; empty for all of them.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub under: Levels,
    /// The levels that ours is divided by, of the same factors as [`Self::under`]; empty where it is
    /// no ratio.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub to: Levels,
}
