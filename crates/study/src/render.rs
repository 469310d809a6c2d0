//! Text rendering of diagnostics, for people.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use assay_sys::diagnostic::{Diagnostic, Label, Severity, clamp};

/// The width of the layout. Fixed, so that the text is the same in a terminal, in a log and in a
/// test.
const WIDTH: usize = 100;

/// Renders diagnostics as text, one paragraph each: code and message, the source lines with labels,
/// then the remedies. `color` adds ANSI escapes. Empty if there are no diagnostics.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], source_name: &str, source: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(WIDTH);
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&[report(diagnostic, source_name, source)]));
        text.push_str("\n\n");
    }
    text
}

fn report<'r>(diagnostic: &'r Diagnostic, source_name: &'r str, source: &'r str) -> Group<'r> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group =
        Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.code));
    if !diagnostic.labels.is_empty() {
        let annotations = diagnostic.labels.iter().map(|label| annotation(label, source));
        let snippet = Snippet::source(source).path(source_name).annotations(annotations);
        group = group.element(snippet);
    }
    group.elements(
        diagnostic.hints.iter().map(|hint| Level::HELP.with_name("hint").message(hint.as_str())),
    )
}

fn annotation<'r>(label: &'r Label, source: &str) -> Annotation<'r> {
    let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let annotation = kind.span(clamp(&label.span, source));
    if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostics() -> [Diagnostic; 1] {
        [Diagnostic::error("A0201", "unknown key `iodeph`")
            .at(7..13, "no such option")
            .at(1..5, "in this table")
            .hint("did you mean `iodepth`?")]
    }

    #[test]
    fn code_location_label_and_remedy_are_shown() {
        let text = render(&diagnostics(), "x.toml", "[args]\niodeph = 32\n", false);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "error[A0201]: unknown key `iodeph`",
                " --> x.toml:2:1",
                "  |",
                "1 | [args]",
                "  |  ---- in this table",
                "2 | iodeph = 32",
                "  | ^^^^^^ no such option",
                "  |",
                "  = hint: did you mean `iodepth`?",
                "",
            ]
        );
    }

    #[test]
    fn escapes_appear_only_on_request() {
        let source = "[args]\niodeph = 32\n";
        assert!(!render(&diagnostics(), "x.toml", source, false).contains('\u{1b}'));
        assert!(render(&diagnostics(), "x.toml", source, true).contains('\u{1b}'));
    }

    #[test]
    fn a_location_past_the_end_of_the_text_still_renders() {
        let late = Diagnostic::warning("A0101", "text ends").at(50..60, "here");
        assert!(render(&[late], "x.toml", "a", false).contains("warning[A0101]"));
    }

    #[test]
    fn a_diagnostic_without_a_location_has_its_message_and_remedy() {
        let bare = Diagnostic::error("A0401", "no such factor").hint("name another");
        let text = render(&[bare], "x.toml", "", false);
        assert!(text.contains("no such factor") && text.contains("hint: name another"), "{text}");
    }
}
