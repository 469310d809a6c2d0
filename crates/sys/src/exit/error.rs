//! Why something could not be done, with the exit code for it.

use std::fmt;

use super::{Code, Findings};

/// A failure: its reasons, what to read before and after them, and its exit code.
#[derive(Debug)]
pub struct Error {
    /// The exit code.
    pub code: Code,
    /// The mistakes of the study, if it has any.
    pub findings: Option<Box<Findings>>,
    /// What was about to be done: lines to show before the reasons.
    pub context: Vec<String>,
    /// The reasons, each with its hint on a line of its own. None if an observer has already received
    /// them.
    pub reasons: Vec<String>,
    /// A remark to show last.
    pub note: Option<String>,
}

impl Error {
    /// A failure of which the observer already knows everything.
    #[must_use]
    pub const fn ended(code: Code) -> Self {
        Self { code, findings: None, context: Vec::new(), reasons: Vec::new(), note: None }
    }

    /// Wrong usage, a wrong study or a wrong run folder.
    #[must_use]
    pub fn usage(reason: impl fmt::Display) -> Self {
        Self { reasons: vec![reason.to_string()], ..Self::ended(Code::Usage) }
    }

    /// The host cannot do it.
    #[must_use]
    pub fn host(reason: impl fmt::Display) -> Self {
        Self { reasons: vec![reason.to_string()], ..Self::ended(Code::Host) }
    }

    /// The same with a remark after the reasons.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reasons.join("\n"))
    }
}

impl std::error::Error for Error {}
