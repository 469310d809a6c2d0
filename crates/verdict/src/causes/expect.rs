//! What a change does to the error if a cause is at work.

use serde::{Deserialize, Serialize};

use crate::wording::percent;

/// The effect of some changes under one cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedEffect {
    /// Names of the interventions of `assay explain`.
    pub of: &'static [&'static str],
    /// What becomes of the error.
    pub expect: Expect,
    /// The reason, in one clause.
    pub why: &'static str,
}

impl PredictedEffect {
    /// A slower device, where the rate of requests is the limit.
    pub const SLOWER_DISK: Self = Self {
        of: &["slower"],
        expect: Expect::Vanishes,
        why: "the disk is the bottleneck once each request takes it longer",
    };

    /// Changes that have nothing to do with the cause.
    pub const fn unrelated(of: &'static [&'static str]) -> Self {
        Self { of, expect: Expect::STAYS, why: "the change is unrelated" }
    }
}

/// Expected effect on the error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Falls to within the margin.
    Vanishes,
    /// Stays above the margin, by an unknown factor.
    Remains,
    /// Becomes this many times the unchanged error.
    Times {
        /// At least.
        low: f64,
        /// At most.
        high: f64,
    },
}

/// Errors within this factor of each other count as the same.
pub const SAME_ERROR: f64 = 1.5;

/// Stands for no limit: JSON has no infinity.
const MOST_TIMES: f64 = 100.0;

impl Expect {
    /// The change is unrelated to the cause.
    pub const STAYS: Self = Self::Times { low: 1.0 / SAME_ERROR, high: SAME_ERROR };
    /// Smaller, by an unknown factor.
    pub const FALLS: Self = Self::Times { low: 0.0, high: 0.8 };
    /// Larger, by an unknown factor.
    pub const RISES: Self = Self::Times { low: 1.0 / SAME_ERROR, high: MOST_TIMES };

    /// The range of errors allowed when the unchanged error is `base`.
    #[must_use]
    pub fn range(self, base: f64, within: f64) -> (f64, f64) {
        match self {
            Self::Vanishes => (0.0, within),
            Self::Remains => (within, MOST_TIMES * base.max(within)),
            Self::Times { low, high } => (low * base, high * base),
        }
    }

    /// The expectation in words.
    #[must_use]
    pub fn describe(self, within: f64) -> String {
        match self {
            Self::Vanishes => format!("the error falls to {} or less", percent(within)),
            Self::Remains => format!("the error stays above {}", percent(within)),
            Self::STAYS => "the error stays where it is".to_owned(),
            Self::FALLS => "the error falls".to_owned(),
            Self::RISES => "the error stays or rises".to_owned(),
            Self::Times { low, high } => {
                format!("the error becomes {low:.2} to {high:.2} times what it is")
            }
        }
    }
}
