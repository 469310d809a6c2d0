//! Refusals: what this host cannot do.

use std::fmt;

use serde::Serialize;

/// A requirement of the study that this host does not meet, with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What cannot be done and why, as a sentence fragment.
    pub what: String,
    /// How to meet it.
    pub remedy: String,
}

impl Refusal {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  hint: {}", self.what, self.remedy)
    }
}
