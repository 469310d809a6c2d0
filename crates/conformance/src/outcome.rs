//! What a case found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether the kernel did what its document says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It did.
    Kept,
    /// It did not, and by more than noise explains.
    Broken,
    /// The figures allow both; more or longer windows might tell.
    Undecided,
    /// The test could not have shown it: nothing contended, or the case could not be carried out.
    Void,
    /// This host lacks what the case needs.
    NotAvailable,
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

/// A verdict with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `kept`; empty when it is.
    pub reason: String,
    /// What was seen, with figures; the most telling line first.
    pub evidence: Vec<String>,
}

impl Outcome {
    /// The kernel did what it says; `evidence` says what was seen.
    #[must_use]
    pub fn kept(evidence: impl Into<String>) -> Self {
        Self::new(Verdict::Kept, String::new()).with(evidence)
    }

    /// The kernel did something else: what.
    #[must_use]
    pub fn broken(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Broken, reason)
    }

    /// The figures allow both.
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

    /// `kept` with `evidence` if `condition` holds, else `broken` with the same words.
    #[must_use]
    pub fn holds(condition: bool, evidence: impl Into<String>) -> Self {
        if condition { Self::kept(evidence) } else { Self::broken(evidence) }
    }

    /// The same with one more line of evidence.
    #[must_use]
    pub fn with(mut self, line: impl Into<String>) -> Self {
        self.evidence.push(line.into());
        self
    }

    /// The first of several outcomes that is not `kept`, with the evidence of all; `kept` if all
    /// are. `broken` goes before everything else.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_part_breaks_the_whole_and_keeps_all_evidence() {
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
    fn verdicts_are_spelt_as_the_contract_says() {
        let spelt = serde_json::to_string(&Verdict::NotAvailable).unwrap();
        assert_eq!(spelt, "\"not-available\"");
        assert_eq!(format!("{:<10}|", Verdict::Kept), "kept      |");
    }
}
