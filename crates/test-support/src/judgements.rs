//! Judgements for tests to fill in.

use assay_verdict::{PromiseJudgement, Verdict};

/// A promise about shares of bytes by `io.weight`, without groups or numbers.
#[must_use]
pub fn promise(verdict: Verdict) -> PromiseJudgement {
    PromiseJudgement {
        measure: "io.bytes".to_owned(),
        is: "proportional".to_owned(),
        to: Some("io.weight".to_owned()),
        within: 0.1,
        confidence: 0.95,
        verdict,
        reason: String::new(),
        was: None,
        will_be: None,
        spans: None,
        worst_error: None,
        errors: Vec::new(),
        jain: None,
        total_rate: None,
        needs_s: None,
        needs_repeats: None,
        groups: Vec::new(),
        causes: Vec::new(),
        proofs: Vec::new(),
    }
}
