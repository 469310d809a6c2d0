//! The diagnostic itself.

use std::ops::Range;

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the study still runs.
    Warning,
    /// The study does not run.
    Error,
}

/// A place in the source text with a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Byte range in the source.
    pub span: Range<usize>,
    /// What is to be said there; may be empty.
    pub text: String,
    /// Whether this is the place itself, not a place that explains it.
    pub primary: bool,
}

/// One mistake, complete in itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, `A0102`; documented in docs/reference/diagnostics.md.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One lowercase sentence fragment, values in backticks.
    pub message: String,
    /// Places, the primary one first.
    pub labels: Vec<Label>,
    /// Remedies, each a full instruction.
    pub hints: Vec<String>,
}

impl Diagnostic {
    /// An error with this code and message, without a place yet.
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

    /// A warning with this code and message, without a place yet.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// The same, at this place.
    #[must_use]
    pub fn at(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), primary: self.labels.is_empty() });
        self
    }

    /// The same, with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}
