//! What `assay conform` found, as a document.

use serde::{Deserialize, Serialize};

use crate::outcome::Verdict;

/// The number of this form of the document.
pub const SCHEMA: u32 = 1;

/// One run of cases on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `uname -r`.
    pub kernel: String,
    /// `v1`, `v2`, `hybrid` or `none`.
    pub layout: String,
    /// The hypervisor, if one can be told: times in an emulated guest are not times.
    #[serde(default)]
    pub virtual_machine: Option<String>,
    /// When it began, by the wall clock, RFC 3339.
    #[serde(default)]
    pub started_at: String,
    /// The command line.
    #[serde(default)]
    pub command: String,
    /// By how much windows were longer than usual.
    #[serde(default = "usual_patience")]
    pub patience: f64,
    /// Whether the host is as it was found.
    #[serde(default)]
    pub restored: bool,
    /// The cases, in the order of their running.
    pub cases: Vec<CaseRecord>,
}

/// One case and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// Whose behaviour.
    pub controller: String,
    /// Which behaviour, a slug.
    pub behaviour: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `kept`; empty when it is.
    pub reason: String,
    /// What was seen.
    pub evidence: Vec<String>,
    /// How long the case took, in seconds.
    #[serde(default)]
    pub seconds: f64,
}

const fn usual_patience() -> f64 {
    1.0
}

impl Document {
    /// How many cases ended in this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// The verdict of the whole: broken before undecided and void, and those before kept. What
    /// is not available decides nothing, unless there is nothing else.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        [Verdict::Broken, Verdict::Undecided, Verdict::Void, Verdict::Kept]
            .into_iter()
            .find(|verdict| self.count(*verdict) > 0)
            .unwrap_or(Verdict::NotAvailable)
    }
}
