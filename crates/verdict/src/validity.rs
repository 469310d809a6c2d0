//! Whether what a command measured counts, as a document: `validity` in the report of `assay exec --judge`.

use serde::{Deserialize, Serialize};

use crate::judgement::Check;

/// Whether a command had its machine to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Soundness {
    /// Nothing from outside disturbed it beyond the margin.
    Valid,
    /// Something did, or nothing could have shown it: its numbers prove nothing.
    Void,
}

/// The answer for one command, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// The answer: void if a check failed.
    pub verdict: Soundness,
    /// The largest part of the CPUs that others may have taken.
    pub within: f64,
    /// Every check with its evidence.
    pub checks: Vec<Check>,
}

impl Validity {
    /// The answer that follows from the checks.
    #[must_use]
    pub fn new(within: f64, checks: Vec<Check>) -> Self {
        let valid = checks.iter().all(|check| check.ok);
        Self { verdict: if valid { Soundness::Valid } else { Soundness::Void }, within, checks }
    }

    /// Whether nothing disturbed the command.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.verdict == Soundness::Valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_check_makes_it_void() {
        let check = |ok| Check { check: "swap".to_owned(), ok, evidence: String::new() };
        assert!(Validity::new(0.05, vec![check(true)]).is_valid());
        let void = Validity::new(0.05, vec![check(true), check(false)]);
        assert_eq!(serde_json::to_value(&void).unwrap()["verdict"], "void");
    }
}
