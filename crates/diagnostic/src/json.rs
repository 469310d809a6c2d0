//! JSON rendering of diagnostics, for editors and scripts.

use serde_json::{Value, json};

use crate::location::{clamp, position};
use crate::model::{Diagnostic, Label};

/// The diagnostics as one JSON document: `{"source": ..., "diagnostics": [...]}`. Each label
/// carries `start` and `end` with `line` and `column` from 1 (columns in characters) and the
/// byte `offset` from 0.
#[must_use]
pub fn to_json(diagnostics: &[Diagnostic], source_name: &str, source: &str) -> Value {
    let diagnostics: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| {
            json!({
                "code": diagnostic.code,
                "severity": diagnostic.severity,
                "message": diagnostic.message,
                "labels": diagnostic.labels.iter()
                    .map(|label| label_json(label, source)).collect::<Vec<_>>(),
                "hints": diagnostic.hints,
            })
        })
        .collect();
    json!({ "source": source_name, "diagnostics": diagnostics })
}

fn label_json(label: &Label, source: &str) -> Value {
    let span = clamp(&label.span, source);
    json!({
        "start": position(span.start, source),
        "end": position(span.end, source),
        "text": label.text,
        "primary": label.primary,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_counted_as_in_editors() {
        let diagnostic = Diagnostic::error("A0303", "`count` is `0`")
            .at(8..9, "expected at least 1")
            .hint("write 1 or more");
        let document = to_json(&[diagnostic], "x.toml", "[x]\nc = 0\n");
        assert_eq!(document["source"], "x.toml");
        let first = &document["diagnostics"][0];
        assert_eq!(first["code"], "A0303");
        assert_eq!(first["severity"], "error");
        assert_eq!(first["labels"][0]["start"], json!({"line": 2, "column": 5, "offset": 8}));
        assert_eq!(first["labels"][0]["end"]["column"], 6);
        assert_eq!(first["hints"][0], "write 1 or more");
    }
}
