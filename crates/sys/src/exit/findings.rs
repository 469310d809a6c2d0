//! What the check of a study found, with the text that it points into.

use crate::diagnostic::{Diagnostic, Diagnostics, document};

/// Mistakes of a study and remarks on it, with the text that they point into.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The findings, in the order of the text.
    pub findings: Vec<Diagnostic>,
    /// The name under which the text is shown.
    pub shown_as: String,
    /// The text.
    pub text: String,
}

impl Findings {
    /// Findings in this text, which is shown under this name.
    #[must_use]
    pub fn new(shown_as: &str, text: &str, findings: Vec<Diagnostic>) -> Self {
        Self { findings, shown_as: shown_as.to_owned(), text: text.to_owned() }
    }

    /// The findings as a document.
    #[must_use]
    pub fn document(&self) -> Diagnostics<'_> {
        document(&self.findings, &self.shown_as, &self.text)
    }
}
