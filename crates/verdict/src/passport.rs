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
    /// Verdicts along the releases, the oldest first; a kernel without a result is undecided, by its
    /// name where its release is not known.
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
    /// `kept` or `broken`; any other is a gap between these.
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

    /// What the releases say together: `broken since 6.18.44; kept from 5.10.0 to 6.12.117`. Releases
    /// that decided nothing are named, and a change beside one came `by` the next that did.
    #[must_use]
    pub fn since(&self) -> String {
        let stretches = self.stretches();
        match stretches.split_last() {
            None => "not decided".to_owned(),
            Some((only, [])) => only.alone(),
            Some((last, before)) => {
                let mut parts = vec![last.since()];
                parts.extend(before.iter().rev().map(Stretch::range));
                parts.join("; ")
            }
        }
    }

    /// Spans with one verdict together, with the gaps before each and inside of it, and those at the
    /// end.
    fn stretches(&self) -> Vec<Stretch<'_>> {
        let mut all: Vec<Stretch<'_>> = Vec::new();
        let mut gaps: Vec<String> = Vec::new();
        for span in &self.history {
            if !span.verdict.is_decided() {
                gaps.push(span.releases());
                continue;
            }
            let before = std::mem::take(&mut gaps);
            match all.last_mut().filter(|last| last.verdict == span.verdict) {
                Some(last) => {
                    last.last = &span.last;
                    last.gaps.extend(before);
                }
                None => all.push(Stretch {
                    verdict: span.verdict,
                    first: &span.first,
                    last: &span.last,
                    is_after_gap: !before.is_empty(),
                    gaps: before,
                }),
            }
        }
        if let Some(last) = all.last_mut() {
            last.gaps.extend(gaps);
        }
        all
    }
}

impl CaseSpan {
    fn releases(&self) -> String {
        match self.first == self.last {
            true => self.first.clone(),
            false => format!("{} to {}", self.first, self.last),
        }
    }
}

/// Releases with one verdict, and those beside and between them that decided nothing.
struct Stretch<'h> {
    verdict: CaseVerdict,
    first: &'h str,
    last: &'h str,
    /// Whether the release before the first decided nothing.
    is_after_gap: bool,
    gaps: Vec<String>,
}

impl Stretch<'_> {
    /// Where no other verdict was found: `in all` only if every release has this one.
    fn alone(&self) -> String {
        match self.first != self.last && self.gaps.is_empty() {
            true => format!("{} in all, {} to {}", self.verdict.word(), self.first, self.last),
            false => self.range(),
        }
    }

    fn range(&self) -> String {
        let (word, gaps) = (self.verdict.word(), self.gaps());
        match self.first == self.last {
            true => format!("{word} in {}{gaps}", self.first),
            false => format!("{word} from {} to {}{gaps}", self.first, self.last),
        }
    }

    /// Of the newest: after a gap it may have begun in there.
    fn since(&self) -> String {
        let when = if self.is_after_gap { "by" } else { "since" };
        format!("{} {when} {}{}", self.verdict.word(), self.first, self.gaps())
    }

    fn gaps(&self) -> String {
        match self.gaps.is_empty() {
            true => String::new(),
            false => format!(" ({} not decided)", self.gaps.join(", ")),
        }
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

    #[test]
    fn releases_that_decided_nothing_are_named() {
        use CaseVerdict::{Broken, Kept, Undecided, Void};
        assert_eq!(since(&[(Void, "6.1", "6.1")]), "not decided");
        let changed =
            [(Kept, "5.10", "6.1"), (Undecided, "6.12", "6.12"), (Broken, "6.18", "6.18")];
        assert_eq!(since(&changed), "broken by 6.18 (6.12 not decided); kept from 5.10 to 6.1");
        let inside = [(Kept, "5.10", "5.10"), (Void, "6.1", "6.12"), (Kept, "6.18", "6.18")];
        assert_eq!(since(&inside), "kept from 5.10 to 6.18 (6.1 to 6.12 not decided)");
        let newest = [(Kept, "5.10", "5.10"), (Broken, "6.1", "6.1"), (Undecided, "7.1", "7.1")];
        assert_eq!(since(&newest), "broken since 6.1 (7.1 not decided); kept in 5.10");
    }
}
