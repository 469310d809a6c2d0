//! A number with the interval in which it lies.

use serde::{Deserialize, Serialize};

use crate::unbounded;

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Point estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound; `null` in JSON where there is none.
    #[serde(with = "unbounded")]
    pub high: f64,
}

impl Interval {
    /// A number without an error.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}
