//! Promises of a trial, as the manifest records them.

use assay_terms::RelationKind;
use serde::{Deserialize, Serialize};

/// One promise of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseRecord {
    /// `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.dirty`, `memory.refaults`, `threads`,
    /// `pages`, `progress`, or `WORKLOAD.METRIC`, a metric reported by a workload.
    pub measure: String,
    /// The relation.
    pub is: RelationRecord,
    /// The margin, a fraction of the expected value.
    pub within: f64,
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
    /// No wait for progress is longer than this, in seconds; without a value, than follows from the
    /// weights and quotas.
    Within(Option<f64>),
    /// At most the value of this knob of the group, as read back.
    AtMostKnob(String),
    /// At least the value of this knob of the group, as read back.
    AtLeastKnob(String),
}

/// What a relation refers to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reference<'r> {
    /// Nothing.
    Nothing,
    /// A knob, by its name in the study.
    Knob(&'r str),
    /// A value, in the measure's unit.
    Value(f64),
}

impl RelationRecord {
    /// The relation of this kind to this; `None` if it refers to something else.
    #[must_use]
    pub fn new(kind: RelationKind, to: Reference<'_>) -> Option<Self> {
        use Reference::{Knob, Nothing, Value};
        Some(match (kind, to) {
            (RelationKind::Proportional, Knob(knob)) => Self::Proportional(knob.to_owned()),
            (RelationKind::Equal, Nothing) => Self::Equal,
            (RelationKind::Placed, Nothing) => Self::Placed,
            (RelationKind::Within, Nothing) => Self::Within(None),
            (RelationKind::Within, Value(time)) => Self::Within(Some(time)),
            (RelationKind::AtMost, Value(bound)) => Self::AtMost(bound),
            (RelationKind::AtLeast, Value(bound)) => Self::AtLeast(bound),
            (RelationKind::AtMost, Knob(knob)) => Self::AtMostKnob(knob.to_owned()),
            (RelationKind::AtLeast, Knob(knob)) => Self::AtLeastKnob(knob.to_owned()),
            _ => return None,
        })
    }

    /// Its kind and what it refers to.
    fn parts(&self) -> (RelationKind, Reference<'_>) {
        match self {
            Self::Proportional(knob) => (RelationKind::Proportional, Reference::Knob(knob)),
            Self::Equal => (RelationKind::Equal, Reference::Nothing),
            Self::Placed => (RelationKind::Placed, Reference::Nothing),
            Self::Within(None) => (RelationKind::Within, Reference::Nothing),
            Self::Within(Some(time)) => (RelationKind::Within, Reference::Value(*time)),
            Self::AtMost(bound) => (RelationKind::AtMost, Reference::Value(*bound)),
            Self::AtLeast(bound) => (RelationKind::AtLeast, Reference::Value(*bound)),
            Self::AtMostKnob(knob) => (RelationKind::AtMost, Reference::Knob(knob)),
            Self::AtLeastKnob(knob) => (RelationKind::AtLeast, Reference::Knob(knob)),
        }
    }

    /// Its kind, whatever it refers to.
    #[must_use]
    pub fn kind(&self) -> RelationKind {
        self.parts().0
    }

    /// What it refers to.
    #[must_use]
    pub fn to(&self) -> Reference<'_> {
        self.parts().1
    }

    /// The knob that divides the measure into shares, if one does.
    #[must_use]
    pub fn divided_by(&self) -> Option<&str> {
        match self.parts() {
            (kind, Reference::Knob(knob)) if kind.divides() => Some(knob),
            _ => None,
        }
    }
}
