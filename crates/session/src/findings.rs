//! What the check of a study found, with the text that it points into.

use assay_study::diagnostic::{Diagnostic, document, render};

/// Mistakes of a study and remarks on it, with the text that they point into.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The findings, in the order of the text.
    pub findings: Vec<Diagnostic>,
    shown_as: String,
    text: String,
}

impl Findings {
    /// Findings in this text, which is shown under this name.
    pub(crate) fn new(shown_as: &str, text: &str, findings: Vec<Diagnostic>) -> Self {
        Self { findings, shown_as: shown_as.to_owned(), text: text.to_owned() }
    }

    /// The findings with the lines that they point at.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        match self.findings.is_empty() {
            true => String::new(),
            false => render(&self.findings, &self.shown_as, &self.text, color),
        }
    }

    /// The findings as a JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!(document(&self.findings, &self.shown_as, &self.text)).to_string()
    }
}
