//! What the kernel's own events say about a cause.

use serde::{Deserialize, Serialize};

/// What events in the kernel say about a cause of a broken or void promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofState {
    /// It was seen, and explains direction and size of the errors.
    Proven,
    /// It was seen, but explains the errors in part only, or in some repeats only.
    Contributes,
    /// It was measured to be absent, or far too small.
    Excluded,
}

impl ProofState {
    /// Its word in verdict.json.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Contributes => "contributes",
            Self::Excluded => "excluded",
        }
    }
}

/// What events in the kernel say about one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The cause's code.
    pub code: String,
    /// The result over all repeats that were examined.
    pub state: ProofState,
    /// Repeats that agree with it.
    pub repeats: usize,
    /// Repeats examined: those that broke the promise, or all of a void one.
    pub of: usize,
    /// The evidence, with figures.
    pub evidence: String,
}
