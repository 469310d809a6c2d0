//! What should hold.

use std::time::Duration;

use assay_record::terms::RelationKind;
use assay_sys::units::Percent;

use super::{Bindings, Scalar};
use crate::template::Templated;

/// What should hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// The measure: `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.refaults`, or
    /// `WORKLOAD.METRIC` for a metric reported by a workload.
    pub measure: String,
    /// The group to compare across trials; `None` for all of them.
    pub group: Option<String>,
    /// The levels of factors to which it applies; empty for all trials and for a cross-trial
    /// promise.
    pub under: Bindings,
    /// The relation.
    pub is: Relation,
    /// The margin, as a fraction of the expected value; 0 for [`Relation::Ratio`], whose bounds are
    /// exact.
    pub within: Percent,
    /// The spans in which it must hold, unless it must hold only on average.
    pub every: Option<Every>,
}

/// Consecutive spans of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Every {
    /// The length of each.
    pub span: Duration,
    /// The fraction of them in which a promise must hold.
    pub part: Percent,
}

impl Promise {
    /// Whether it applies to the trial with these levels.
    #[must_use]
    pub fn applies_to(&self, factors: &Bindings) -> bool {
        self.under.iter().all(|(name, named)| {
            factors.get(name).is_some_and(|level| crate::scalar::is_same(level, named))
        })
    }
}

/// The relation of a promise.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// In each trial.
    InTrial {
        /// The relation.
        kind: RelationKind,
        /// What it refers to, if to anything.
        to: Option<Bound>,
    },
    /// Across trials: the measure at some levels of factors, divided by that at others.
    Ratio {
        /// Levels of the numerator.
        of: Bindings,
        /// Levels of the denominator, of the same factors.
        to: Bindings,
        /// Lower bound of the ratio.
        at_least: Option<f64>,
        /// Upper bound of the ratio.
        at_most: Option<f64>,
    },
    /// Across trials: the same at every level of a factor.
    EqualOver {
        /// The factor.
        factor: String,
        /// Which of its levels are compared.
        pairs: Pairs,
    },
}

impl Relation {
    /// Whether it compares trials with each other, rather than holding in each trial.
    #[must_use]
    pub const fn is_cross_trial(&self) -> bool {
        matches!(self, Self::Ratio { .. } | Self::EqualOver { .. })
    }
}

/// Which pairs of levels of a factor are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pairs {
    /// Each level with each other level.
    #[default]
    All,
    /// Each level with the first.
    First,
}

/// A published number, shown beside the results and never judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// What it is, in one line.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it is published.
    pub source: String,
    /// The measure to show beside it.
    pub measure: Option<String>,
    /// The group to show beside it; `None` for all of them.
    pub group: Option<String>,
    /// The levels of factors to which it belongs.
    pub under: Bindings,
    /// The levels to divide by if it is a ratio, empty otherwise.
    pub to: Bindings,
}

/// What shares or a bound follow from.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// The same for every group: a rate in the measure's unit per second, or an amount for measures
    /// such as `memory.current`.
    Value(Templated<Scalar>),
    /// The value of this knob of the group, as read back; by its v2 name.
    Knob(String),
}
