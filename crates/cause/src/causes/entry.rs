//! What is known of a cause: the types of the catalogue.

use assay_judge::verdict::wording::percent;
use serde::{Deserialize, Serialize};

use super::Suspect;

/// How a cause is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// This validity check fails, which proves the cause.
    ValidityCheck(&'static str),
    /// The record fits; only an intervention proves it.
    Suspicion,
    /// Read directly from the kernel.
    Observed,
    /// No other cause fits.
    Rest,
}

/// One cause.
pub struct CauseEntry {
    /// Stable code, `C-REQUEST-POOL`.
    pub code: &'static str,
    /// What happens, in one sentence.
    pub what: &'static str,
    /// How it is detected.
    pub found_by: FoundBy,
    /// Its traces in the data.
    pub fingerprint: &'static str,
    /// What to change to test it, and how far the error should move.
    pub confirm: &'static str,
    /// The interventions of `assay diagnose` that test it, by name.
    pub tests: &'static [&'static str],
    /// What interventions do to the error under it, where that does not depend on the trial.
    pub effects: &'static [PredictedEffect],
    /// How to fix it.
    pub remedy: &'static str,
    /// Reference.
    pub source: &'static str,
    /// What it needs to be suspected, and how it is.
    pub(super) suspect: Suspect,
}

impl CauseEntry {
    /// Whether it concerns promises of CPU time only.
    #[must_use]
    pub const fn is_of_cpu(&self) -> bool {
        matches!(self.suspect, Suspect::Cpu(_) | Suspect::Cpus(_) | Suspect::Quota(_))
    }

    /// Whether it is a cause only where BFQ schedules the disk.
    #[must_use]
    pub const fn needs_bfq(&self) -> bool {
        matches!(self.suspect, Suspect::Bfq(_))
    }

    /// What a cause with a proof has besides its text: no intervention tests it.
    pub(super) const fn found_by(found_by: FoundBy) -> Self {
        Self {
            code: "",
            what: "",
            found_by,
            fingerprint: "",
            confirm: "",
            tests: &[],
            effects: &[],
            remedy: "",
            source: "",
            suspect: Suspect::Never,
        }
    }

    /// The same of one that this validity check proves.
    pub(super) const fn by_check(check: &'static str) -> Self {
        Self::found_by(FoundBy::ValidityCheck(check))
    }

    /// The same of one that is suspected.
    pub(super) const fn suspected(suspect: Suspect) -> Self {
        Self { suspect, ..Self::found_by(FoundBy::Suspicion) }
    }
}

/// The effect of some changes under one cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedEffect {
    /// Names of the interventions of `assay diagnose`.
    pub of: &'static [&'static str],
    /// What becomes of the error.
    pub expect: Expect,
    /// The reason, in one clause.
    pub why: &'static str,
}

impl PredictedEffect {
    pub(super) const DEEPER: Self =
        Self::vanishes(&["deeper"], "a queue that never runs dry is divided by weight");
    pub(super) const DIRECT: Self = Self::vanishes(&["direct"], "every group moves its own bytes");
    pub(super) const ONE_CPU: Self =
        Self::vanishes(&["one-cpu"], "on one CPU weights are kept exactly");
    pub(super) const SCHEDULER: Self =
        Self::vanishes(&["scheduler"], "this scheduler obeys the weights by itself");
    /// Where the rate of requests is the limit.
    pub(super) const SLOWER_DISK: Self =
        Self::vanishes(&["slower"], "the disk is the bottleneck once each request takes it longer");

    /// A change that removes the error.
    pub(super) const fn vanishes(of: &'static [&'static str], why: &'static str) -> Self {
        Self { of, expect: Expect::Vanishes, why }
    }

    /// Changes that have nothing to do with the cause.
    pub(super) const fn unrelated(of: &'static [&'static str]) -> Self {
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
