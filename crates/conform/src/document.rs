//! The JSON document of `assay conform`.

use serde::{Deserialize, Serialize};

use crate::outcome::Verdict;

/// Version of the document format.
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
    /// The hypervisor, if detected: timings in an emulated guest are meaningless.
    #[serde(default)]
    pub virtual_machine: Option<String>,
    /// Start time, RFC 3339, by the wall clock.
    #[serde(default)]
    pub started_at: String,
    /// The command line.
    #[serde(default)]
    pub command: String,
    /// Factor by which windows are longer than usual.
    #[serde(default = "usual_patience")]
    pub patience: f64,
    /// Whether the host was restored.
    #[serde(default)]
    pub restored: bool,
    /// The cases, in the order in which they ran.
    pub cases: Vec<CaseRecord>,
}

/// One case and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The controller.
    pub controller: String,
    /// The behaviour, a slug.
    pub behaviour: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `kept`; empty when it is.
    pub reason: String,
    /// The evidence.
    pub evidence: Vec<String>,
    /// Duration of the case, in seconds.
    #[serde(default)]
    pub seconds: f64,
}

const fn usual_patience() -> f64 {
    1.0
}

impl Document {
    /// Number of cases with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// `56 kept, 1 broken`, in these words, without what there is none of.
    pub(crate) fn counts(&self, word: fn(Verdict) -> String) -> String {
        let counted = Verdict::ALL.map(|verdict| (self.count(verdict), word(verdict)));
        let some = counted.iter().filter(|(count, _)| *count > 0);
        some.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }

    /// The overall verdict: broken before undecided and void, and those before kept. Unavailable
    /// cases do not count unless there are no others.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        [Verdict::Broken, Verdict::Undecided, Verdict::Void, Verdict::Kept]
            .into_iter()
            .find(|verdict| self.count(*verdict) > 0)
            .unwrap_or(Verdict::NotAvailable)
    }
}
