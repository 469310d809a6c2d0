//! `passport.json`, schema 1: what several kernels do in the same cases. Field names are a contract with
//! users' scripts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The results of kernels, and what they say together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passport {
    /// Format version: 1.
    pub schema: u32,
    /// Version of Assay that wrote it.
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
    pub results: BTreeMap<String, CaseResult>,
    /// Kept and broken along the releases that decided, the oldest first.
    pub history: Vec<CaseSpan>,
}

/// One case on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// What was found.
    pub verdict: CaseVerdict,
    /// Why it is not `kept`; empty when it is.
    pub reason: String,
    /// Observations with numbers.
    pub evidence: Vec<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// The document that has it, relative to the passport.
    pub file: String,
}

/// What a case found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// The kernel behaved as documented.
    Kept,
    /// It did not, by more than noise explains.
    Broken,
    /// The numbers allow both.
    Undecided,
    /// The case could not have shown it.
    Void,
    /// The machine lacks what the case needs.
    NotAvailable,
}

/// Neighbouring releases with one verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSpan {
    /// `kept` or `broken`.
    pub verdict: CaseVerdict,
    /// The oldest release.
    pub first: String,
    /// The newest.
    pub last: String,
}

impl CaseVerdict {
    /// All of them, in the order of counts.
    pub const ALL: [Self; 5] =
        [Self::Kept, Self::Broken, Self::Undecided, Self::Void, Self::NotAvailable];

    /// Its word for readers.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::Void => "void",
            Self::NotAvailable => "not available",
        }
    }

    /// Whether it says something about the kernel.
    #[must_use]
    pub const fn is_decided(self) -> bool {
        matches!(self, Self::Kept | Self::Broken)
    }
}

impl Passport {
    /// Number of results of a kernel with this verdict.
    #[must_use]
    pub fn count(&self, kernel: &str, verdict: CaseVerdict) -> usize {
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

    /// What the releases say together: `broken since 6.18.44; kept from 5.10.0 to 6.12.117`.
    #[must_use]
    pub fn since(&self) -> String {
        let Some((last, before)) = self.history.split_last() else {
            return "not decided".to_owned();
        };
        let word = last.verdict.word();
        let range = |span: &CaseSpan| match span.first == span.last {
            true => format!("{} in {}", span.verdict.word(), span.first),
            false => format!("{} from {} to {}", span.verdict.word(), span.first, span.last),
        };
        let parts: Vec<String> = match before {
            [] if last.first == last.last => return format!("{word} in {}", last.first),
            [] => return format!("{word} in all, {} to {}", last.first, last.last),
            before => before.iter().rev().map(range).collect(),
        };
        format!("{word} since {}; {}", last.first, parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(spans: &[(CaseVerdict, &str, &str)]) -> String {
        let span = |(verdict, first, last): &(CaseVerdict, &str, &str)| CaseSpan {
            verdict: *verdict,
            first: (*first).to_owned(),
            last: (*last).to_owned(),
        };
        let case = PassportCase {
            controller: String::new(),
            behaviour: String::new(),
            promise: String::new(),
            documented: String::new(),
            results: BTreeMap::new(),
            history: spans.iter().map(span).collect(),
        };
        case.since()
    }

    #[test]
    fn a_history_is_one_sentence() {
        use CaseVerdict::{Broken, Kept};
        assert_eq!(since(&[]), "not decided");
        assert_eq!(since(&[(Kept, "6.1", "6.1")]), "kept in 6.1");
        assert_eq!(since(&[(Broken, "5.10", "6.18")]), "broken in all, 5.10 to 6.18");
        let mended = [(Kept, "5.10", "6.12"), (Broken, "6.18", "6.18"), (Kept, "7.1", "7.3")];
        assert_eq!(since(&mended), "kept since 7.1; broken in 6.18; kept from 5.10 to 6.12");
    }
}
