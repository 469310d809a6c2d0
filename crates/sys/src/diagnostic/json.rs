//! Diagnostics as a document, for editors and scripts.

use serde::Serialize;

use crate::diagnostic::location::{Position, clamp, position};
use crate::diagnostic::model::{Diagnostic, Label, Severity};

/// The diagnostics of one source text.
#[derive(Debug, Serialize)]
pub struct Diagnostics<'d> {
    /// The name under which the text is shown.
    pub source: &'d str,
    /// The mistakes and remarks, in the order of the text.
    pub diagnostics: Vec<Located<'d>>,
}

/// A diagnostic with the locations that its labels stand for.
#[derive(Debug, Serialize)]
pub struct Located<'d> {
    /// Stable code, `A0102`; documented in docs/reference/diagnostics.md.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// One lowercase sentence fragment, values in backticks.
    pub message: &'d str,
    /// Locations, the primary one first.
    pub labels: Vec<LocatedLabel<'d>>,
    /// Remedies, each a full instruction.
    pub hints: &'d [String],
}

/// A location with a remark.
#[derive(Debug, Serialize)]
pub struct LocatedLabel<'d> {
    /// Its first character.
    pub start: Position,
    /// The character after its last.
    pub end: Position,
    /// The remark; may be empty.
    pub text: &'d str,
    /// Whether this is the location of the mistake, rather than one that explains it.
    pub primary: bool,
}

/// The diagnostics as one document.
#[must_use]
pub fn document<'d>(
    diagnostics: &'d [Diagnostic],
    source_name: &'d str,
    source: &str,
) -> Diagnostics<'d> {
    let located = |diagnostic: &'d Diagnostic| Located {
        code: diagnostic.code,
        severity: diagnostic.severity,
        message: &diagnostic.message,
        labels: diagnostic.labels.iter().map(|label| label_at(label, source)).collect(),
        hints: &diagnostic.hints,
    };
    Diagnostics { source: source_name, diagnostics: diagnostics.iter().map(located).collect() }
}

fn label_at<'d>(label: &'d Label, source: &str) -> LocatedLabel<'d> {
    let span = clamp(&label.span, source);
    LocatedLabel {
        start: position(span.start, source),
        end: position(span.end, source),
        text: &label.text,
        primary: label.primary,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn locations_are_counted_as_in_editors() {
        let diagnostic = Diagnostic::error("A0303", "`count` is `0`")
            .at(8..9, "expected at least 1")
            .hint("write 1 or more");
        let diagnostics = [diagnostic];
        let document = json!(document(&diagnostics, "x.toml", "[x]\nc = 0\n"));
        assert_eq!(document["source"], "x.toml");
        let first = &document["diagnostics"][0];
        assert_eq!(first["code"], "A0303");
        assert_eq!(first["severity"], "error");
        assert_eq!(first["labels"][0]["start"], json!({"line": 2, "column": 5, "offset": 8}));
        assert_eq!(first["labels"][0]["end"]["column"], 6);
        assert_eq!(first["hints"][0], "write 1 or more");
    }
}
