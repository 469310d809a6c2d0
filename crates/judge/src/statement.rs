//! What is said about a promise: the verdict and its reason.

use assay_verdict::Verdict;

/// Verdict on a promise, with its reason.
pub(crate) struct Statement {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// Why.
    pub(crate) reason: String,
    /// Whether something that concerns all groups forbids kept.
    pub(crate) is_open: bool,
}

impl Statement {
    /// A void verdict.
    pub(crate) fn void(reason: String) -> Self {
        Self { verdict: Verdict::Void, reason, is_open: false }
    }
}
