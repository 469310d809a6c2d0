//! Promises of a trial, as the manifest records them.

use assay_terms::RelationKind;
use serde::{Deserialize, Serialize};

/// One promise of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseRecord {
    /// `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.dirty`, `memory.refaults`, `threads`,
    /// `pages`, or `WORKLOAD.METRIC`, a metric reported by a workload.
    pub measure: String,
    /// The relation.
    pub is: RelationRecord,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The spans in which it should hold, if it should hold in more than the average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryRecord>,
}

/// The spans of a promise that should hold in each span of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EveryRecord {
    /// Seconds per span.
    pub span_s: f64,
    /// The fraction of the spans in which it should hold.
    pub part: f64,
}

/// The relation of a promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationRecord {
    /// Shares are proportional to this knob as read back. Holds the knob's name in the study.
    Proportional(String),
    /// All groups get the same.
    Equal,
    /// Threads run on their CPUs, or pages lie on their nodes.
    Placed,
    /// At most this rate for each group, in the measure's unit per second.
    AtMost(f64),
    /// At least this rate for each group, in the measure's unit per second.
    AtLeast(f64),
    /// At most the value of this knob of the group, as read back.
    AtMostKnob(String),
    /// At least the value of this knob of the group, as read back.
    AtLeastKnob(String),
}

impl RelationRecord {
    /// Its kind, whatever it refers to.
    #[must_use]
    pub const fn kind(&self) -> RelationKind {
        match self {
            Self::Proportional(_) => RelationKind::Proportional,
            Self::Equal => RelationKind::Equal,
            Self::Placed => RelationKind::Placed,
            Self::AtMost(_) | Self::AtMostKnob(_) => RelationKind::AtMost,
            Self::AtLeast(_) | Self::AtLeastKnob(_) => RelationKind::AtLeast,
        }
    }
}
