//! The type of diagnostics.

use std::ops::Range;

use serde::Serialize;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the study still runs.
    Warning,
    /// The study does not run.
    Error,
}

/// A location in the source text with a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Byte range in the source.
    pub span: Range<usize>,
    /// The remark; may be empty.
    pub text: String,
    /// Whether this is the location of the mistake, rather than a location that explains it.
    pub primary: bool,
}

/// A mistake with its locations and remedies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, `A0102`; documented in docs/reference/diagnostics.md.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// One lowercase sentence fragment, values in backticks.
    pub message: String,
    /// Locations, the primary one first.
    pub labels: Vec<Label>,
    /// Remedies, each a full instruction.
    pub hints: Vec<String>,
}

impl Diagnostic {
    /// An error with this code and message, without a location.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: vec![],
            hints: vec![],
        }
    }

    /// A warning with this code and message, without a location.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a location.
    #[must_use]
    pub fn at(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), primary: self.labels.is_empty() });
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}
