//! The result of a case.

use std::fmt;

use assay_sys::kernel::Error;
use serde::{Deserialize, Serialize};

/// Whether the kernel behaved as documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It did.
    Kept,
    /// It did not, by more than noise explains.
    Broken,
    /// The numbers allow both; more or longer windows might decide.
    Undecided,
    /// The test could not have shown it: no contention, or the case could not be carried out.
    Void,
    /// This host lacks what the case needs.
    NotAvailable,
}

impl Verdict {
    /// All of them, in the order of counts.
    pub(crate) const ALL: [Self; 5] =
        [Self::Kept, Self::Broken, Self::Undecided, Self::Void, Self::NotAvailable];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::Void => "void",
            Self::NotAvailable => "not available",
        })
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `kept`; empty when it is.
    pub reason: String,
    /// Observations with numbers; the most important line first.
    pub evidence: Vec<String>,
}

impl Outcome {
    /// The kernel behaved as documented; `evidence` shows how.
    #[must_use]
    pub fn kept(evidence: impl Into<String>) -> Self {
        Self::new(Verdict::Kept, String::new()).with(evidence)
    }

    /// The kernel behaved differently: how.
    #[must_use]
    pub fn broken(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Broken, reason)
    }

    /// The numbers allow both.
    #[must_use]
    pub fn undecided(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Undecided, reason)
    }

    /// The test could not have shown it.
    #[must_use]
    pub fn void(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Void, reason)
    }

    /// This host lacks what the case needs: what, and why.
    #[must_use]
    pub fn not_available(reason: impl Into<String>) -> Self {
        Self::new(Verdict::NotAvailable, reason)
    }

    /// `kept`, `broken` or `undecided` as an interval says, with the reasons for the last two.
    #[must_use]
    pub(crate) fn decided(
        verdict: Verdict,
        evidence: String,
        broken: &str,
        undecided: &str,
    ) -> Self {
        match verdict {
            Verdict::Kept => Self::kept(evidence),
            Verdict::Broken => Self::broken(broken).with(evidence),
            _ => Self::undecided(undecided).with(evidence),
        }
    }

    /// `kept` with `evidence` if `condition` holds, else `broken` with the same text.
    #[must_use]
    pub fn holds(condition: bool, evidence: impl Into<String>) -> Self {
        if condition { Self::kept(evidence) } else { Self::broken(evidence) }
    }

    /// The same observations as `void` if this condition holds: why.
    #[must_use]
    pub(crate) fn void_if(self, condition: bool, why: &str) -> Self {
        if !condition {
            return self;
        }
        let Self { reason, evidence, .. } = self;
        let evidence = if evidence.is_empty() { vec![reason] } else { evidence };
        Self { evidence, ..Self::void(why) }
    }

    /// Adds a line of evidence.
    #[must_use]
    pub fn with(mut self, line: impl Into<String>) -> Self {
        self.evidence.push(line.into());
        self
    }

    /// The same observations, which after all could not have shown it: why.
    #[must_use]
    pub(crate) fn but_void(self, reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Void, reason: reason.into(), ..self }
    }

    /// The first of several outcomes that is not `kept`, with the evidence of all; `kept` if all
    /// are. `broken` has precedence over everything else.
    #[must_use]
    pub fn all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        let outcomes: Vec<Self> = outcomes.into_iter().collect();
        let evidence = outcomes.iter().flat_map(|outcome| outcome.evidence.clone()).collect();
        let broken = outcomes.iter().find(|outcome| outcome.verdict == Verdict::Broken);
        let other = outcomes.iter().find(|outcome| outcome.verdict != Verdict::Kept);
        let (verdict, reason) = broken
            .or(other)
            .map_or((Verdict::Kept, String::new()), |first| (first.verdict, first.reason.clone()));
        Self { verdict, reason, evidence }
    }

    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), evidence: Vec::new() }
    }
}

/// Why a case ends without an outcome.
#[derive(Debug)]
pub enum Stop {
    /// This host lacks what the case needs, which shows only while it runs: what, and why.
    NotAvailable(String),
    /// It could not be carried out.
    Failed(Error),
}

impl Stop {
    pub(crate) fn not_available(reason: impl Into<String>) -> Self {
        Self::NotAvailable(reason.into())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_part_breaks_the_whole_and_all_evidence_is_kept() {
        let whole = Outcome::all([
            Outcome::kept("a"),
            Outcome::undecided("noise").with("b"),
            Outcome::broken("wrong").with("c"),
        ]);
        assert_eq!(whole.verdict, Verdict::Broken);
        assert_eq!(whole.reason, "wrong");
        assert_eq!(whole.evidence, ["a", "b", "c"]);
        assert_eq!(Outcome::all([Outcome::kept("a"), Outcome::kept("b")]).verdict, Verdict::Kept);
        assert_eq!(Outcome::all([Outcome::kept("a"), Outcome::void("v")]).verdict, Verdict::Void);
    }

    #[test]
    fn verdicts_are_spelt_as_documented() {
        let spelt = serde_json::to_string(&Verdict::NotAvailable).unwrap();
        assert_eq!(spelt, "\"not-available\"");
        assert_eq!(format!("{:<10}|", Verdict::Kept), "kept      |");
    }
}
