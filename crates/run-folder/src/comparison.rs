//! Promises across the trials of a run, and external reference numbers shown beside its own.
//!
//! Promises within one trial are part of its [`TrialRecord`](crate::TrialRecord); promises across trials
//! belong to the run as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Levels of factors by the factors' names, each exactly as in `factors` of the trials.
pub type Levels = BTreeMap<String, Value>;

/// One promise across trials. The factors it does not name are held: it is judged once for every combination
/// of their levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// What is compared: a measure of the samples, summed over the measured groups, or `WORKLOAD.METRIC`, as
    /// the geometric mean over the instances.
    pub measure: String,
    /// The one group that is compared; all measured groups if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation.
    pub is: AcrossRecord,
}

/// The relation of a promise across trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcrossRecord {
    /// The measure at some levels divided by the measure at others.
    Ratio {
        /// Levels of the numerator.
        of: Levels,
        /// Levels of the denominator, of the same factors.
        to: Levels,
        /// Lower bound of the ratio.
        at_least: Option<f64>,
        /// Upper bound of the ratio.
        at_most: Option<f64>,
    },
    /// Equal at every level of a factor.
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
    /// Its name in documents.
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
    /// Every level with every other.
    All,
    /// Every level with the first one in the study file.
    First,
}

/// An external number, shown beside the run's own and never judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceRecord {
    /// What it is, in one line.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it was published.
    pub source: String,
    /// The run's measure to show beside it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The one group of the run to compare with; all measured groups if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The levels of the run's factors that it applies to; empty for all.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub under: Levels,
    /// The levels of the denominator, of the same factors as [`Self::under`]; empty if it is not a ratio.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub to: Levels,
}
