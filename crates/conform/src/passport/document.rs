//! `passport.json`, schema 1: what several kernels do in the same cases. Field names are a contract with
//! users' scripts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CaseRecord, Verdict};

/// The results of kernels, and what they say together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passport {
    /// Format version: 1.
    pub schema: u32,
    /// Version of Assay that wrote it, and of its cases.
    pub assay: String,
    /// When its first case ran, RFC 3339, UTC.
    pub started_at: String,
    /// The kernels, the oldest release first.
    pub kernels: Vec<PassportKernel>,
    /// The cases in the order of `assay conform --list`.
    pub cases: Vec<PassportCase>,
}

/// A column: one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassportKernel {
    /// Its name on the command line: `host`, `debian-6.1`.
    pub name: String,
    /// `uname -r`; `None` before it is known.
    pub release: Option<String>,
    /// Its control groups: `v1`, `v2` or `hybrid`.
    pub layout: Option<String>,
    /// The hypervisor, if detected; in QEMU without KVM times mean nothing.
    pub machine: Option<String>,
    /// Factor by which its windows were longer than usual.
    pub patience: Option<f64>,
    /// Seconds of its cases together.
    pub seconds: f64,
    /// Seconds until its guests were up, one number a boot.
    #[serde(default)]
    pub boots: Vec<f64>,
    /// Requested cases without a result.
    pub missing: usize,
    /// Why its guests ended early, or could not start.
    #[serde(default)]
    pub lost: Vec<String>,
}

/// A row: one case on all kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassportCase {
    /// The controller.
    pub controller: String,
    /// The behaviour, a slug.
    pub behaviour: String,
    /// What the kernel promises.
    pub promise: String,
    /// Where it is documented.
    pub documented: String,
    /// Results by the names of the kernels; a kernel without one is absent.
    pub results: BTreeMap<String, CaseRecord>,
}

impl Passport {
    /// Number of results of a kernel with this verdict.
    #[must_use]
    pub fn count(&self, kernel: &str, verdict: Verdict) -> usize {
        let results = self.cases.iter().filter_map(|case| case.results.get(kernel));
        results.filter(|result| result.verdict == verdict).count()
    }
}

impl PassportCase {
    /// `controller/behaviour`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.controller, self.behaviour)
    }

    /// Whether a kernel has this verdict.
    #[must_use]
    pub fn has(&self, verdict: Verdict) -> bool {
        self.results.values().any(|result| result.verdict == verdict)
    }

    /// Whether a kernel keeps it and another breaks it.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.has(Verdict::Kept) && self.has(Verdict::Broken)
    }

    /// Whether a kernel breaks it, could not decide it, or could not have shown it.
    #[must_use]
    pub fn is_remarkable(&self) -> bool {
        use Verdict::{Broken, Undecided, Void};
        [Broken, Undecided, Void].into_iter().any(|verdict| self.has(verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passport::fake::record;

    fn case(verdicts: &[Verdict]) -> PassportCase {
        let results = verdicts.iter().enumerate();
        PassportCase {
            controller: String::new(),
            behaviour: String::new(),
            promise: String::new(),
            documented: String::new(),
            results: results.map(|(at, verdict)| (at.to_string(), record("a", *verdict))).collect(),
        }
    }

    #[test]
    fn what_is_kept_or_not_available_everywhere_is_not_remarkable() {
        use Verdict::{Broken, Kept, NotAvailable, Undecided, Void};
        assert!(!case(&[Kept, NotAvailable]).is_remarkable());
        for verdict in [Broken, Undecided, Void] {
            assert!(case(&[Kept, verdict]).is_remarkable());
        }
    }
}
