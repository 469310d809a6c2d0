//! Cases and their results as text.

use assay_sys::escape::page;

use crate::case::Case;
use crate::document::{CaseRecord, Document};

/// Column widths of controller and verdict, and indentation of text below a behaviour.
const CONTROLLER: usize = 10;
const VERDICT: usize = 13;
const INDENT: usize = 4;

/// What is said of a case before it runs, if that may harm the rest of the machine, and when it has ended.
#[must_use]
pub fn progress(case: &Case, record: Option<&CaseRecord>) -> Option<String> {
    let name = format!("{}/{}", case.controller, case.behaviour);
    match record {
        None => case.warning.map(|warning| format!("{name}: {warning}")),
        Some(record) => {
            let verdict = record.verdict.to_string();
            Some(format!("{verdict:<VERDICT$} {name} ({:.1} s)", record.seconds))
        }
    }
}

/// Every case with its sentence, for `--list`.
#[must_use]
pub fn list(cases: &[&Case], width: usize) -> String {
    let mut lines = Vec::new();
    for case in cases {
        lines.push(format!("{:<CONTROLLER$} {}", case.controller, case.behaviour));
        wrap(case.promise, width, &mut lines);
        wrap(&format!("({})", case.documented), width, &mut lines);
        if let Some(warning) = case.warning {
            wrap(&format!("warning: {warning}"), width, &mut lines);
        }
    }
    lines.join("\n")
}

/// The table of a document: a line for each case, and below it the evidence, or the reason why
/// there is none. The last line contains counts.
#[must_use]
pub fn table(document: &Document, width: usize) -> String {
    let machine = document.virtual_machine.as_deref().map(|kind| format!(", in {kind}"));
    let mut lines = vec![format!(
        "Linux {}, cgroup layout {}{}",
        document.kernel,
        document.layout,
        machine.unwrap_or_default()
    )];
    for case in &document.cases {
        lines.push(String::new());
        lines.push(head(case));
        details(case, width, &mut lines);
    }
    lines.push(String::new());
    let counts = document.counts(|verdict| verdict.to_string());
    lines.push(format!("{} cases: {counts}", document.cases.len()));
    lines.join("\n")
}

fn head(case: &CaseRecord) -> String {
    let verdict = case.verdict.to_string();
    format!("{verdict:<VERDICT$} {:<CONTROLLER$} {}", case.controller, case.behaviour)
}

fn details(case: &CaseRecord, width: usize, lines: &mut Vec<String>) {
    if !case.reason.is_empty() && !case.evidence.contains(&case.reason) {
        wrap(&case.reason, width, lines);
    }
    for line in &case.evidence {
        wrap(line, width, lines);
    }
}

/// Adds a text of several lines, each wrapped and indented.
fn wrap(text: &str, width: usize, lines: &mut Vec<String>) {
    let indent = " ".repeat(INDENT);
    let parts = text.lines().filter(|part| !part.trim().is_empty());
    let wrapped =
        |part: &str| page::wrap(&format!("{indent}{}", part.trim_start()), width.max(40), &indent);
    lines.extend(parts.flat_map(wrapped));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::SCHEMA;
    use crate::outcome::Verdict;

    fn document() -> Document {
        let case = |behaviour: &str, verdict, reason: &str, evidence: &str| CaseRecord {
            controller: "cpu".to_owned(),
            behaviour: behaviour.to_owned(),
            verdict,
            reason: reason.to_owned(),
            evidence: vec![evidence.to_owned()],
            seconds: 1.0,
        };
        Document {
            schema: SCHEMA,
            kernel: "6.1.0".to_owned(),
            layout: "v2".to_owned(),
            virtual_machine: None,
            started_at: String::new(),
            command: String::new(),
            patience: 1.0,
            restored: true,
            cases: vec![
                case("a", Verdict::Kept, "", &"many words ".repeat(30)),
                case("b", Verdict::Void, "nothing contended", "0.1 CPUs busy"),
            ],
        }
    }

    #[test]
    fn a_case_that_may_harm_the_machine_says_so_before_it_runs() {
        let said = |name: &str, record| {
            let case = crate::select(&[name.to_owned()]).unwrap()[0];
            progress(case, record)
        };
        let storm = "cpu/a-storm-of-wakeups-leaves-siblings-the-cpu";
        let warning = said(storm, None).unwrap();
        assert!(warning.starts_with(&format!("{storm}: ")) && warning.len() > 80, "{warning}");
        let harmless = "pids/fork-above-the-limit-fails";
        assert_eq!(said(harmless, None), None);
        let ended = said(harmless, Some(&document().cases[1])).unwrap();
        assert_eq!(ended, format!("void          {harmless} (1.0 s)"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let text = table(&document(), 80);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(text.contains("void          cpu        b\n    nothing contended\n"), "{text}");
        assert!(text.ends_with("2 cases: 1 kept, 1 void"), "{text}");
    }

    #[test]
    fn the_overall_verdict_is_the_worst_one() {
        let mut document = document();
        assert_eq!(document.verdict(), Verdict::Void);
        document.cases[0].verdict = Verdict::Broken;
        assert_eq!(document.verdict(), Verdict::Broken);
        document.cases.clear();
        assert_eq!(document.verdict(), Verdict::NotAvailable);
    }
}
