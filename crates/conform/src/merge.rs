//! Documents of several kernels and layouts, merged into one page of Markdown.

use std::collections::BTreeMap;

use crate::cases::all;
use crate::document::{CaseRecord, Document};
use crate::outcome::Verdict;

/// A controller and a behaviour.
type Name = (String, String);

/// The page docs/conformance.md: where the cases ran, a table of verdicts for each controller
/// with a column for each document, and the reason for every verdict that is not `kept`.
#[must_use]
pub fn merge(documents: &[Document]) -> String {
    let columns = columns(documents);
    let rows = rows(documents);
    let mut lines: Vec<String> = HEAD.lines().map(str::to_owned).collect();
    places(documents, &columns, &mut lines);
    tables(documents, &columns, &rows, &mut lines);
    reasons(documents, &columns, &rows, &mut lines);
    lines.join("\n") + "\n"
}

const HEAD: &str = "\
# Does the kernel do what its document says?

Made by `make conformance`, which runs `assay conform --json` here and in guests and merges the documents below
docs/conformance/ with `assay conform --merge`; not to be edited. What each case does stands in
`crates/conform/src/cases/`; figures behind each verdict stand in the documents.

**kept**: the kernel did what its document says. **BROKEN**: it did not, by more than noise explains. *undecided*: the
figures allow both. *void*: the test could not have shown it. n/a: this host lacks what the case needs. Reasons for all
that is not kept are at the end. Guests without KVM are emulated: placement and logic hold there, times do not.
";

/// A short name for each document, `6.12 v2`; told apart by a number where two are alike.
fn columns(documents: &[Document]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for document in documents {
        let mut numbers = document.kernel.split('.');
        let version: Vec<&str> = numbers.by_ref().take(2).collect();
        let name = format!("{} {}", version.join("."), document.layout);
        let alike = names.iter().filter(|known| known.starts_with(&name)).count();
        names.push(if alike == 0 { name } else { format!("{name} #{}", alike + 1) });
    }
    names
}

/// Every behaviour of any document: those that this program knows in its own order, then others.
fn rows(documents: &[Document]) -> Vec<Name> {
    let known = all().map(|case| (case.controller.to_owned(), case.behaviour.to_owned()));
    let mut rows: Vec<Name> = known.collect();
    for case in documents.iter().flat_map(|document| &document.cases) {
        let name = (case.controller.clone(), case.behaviour.clone());
        if !rows.contains(&name) {
            rows.push(name);
        }
    }
    rows.retain(|name| documents.iter().any(|document| find(document, name).is_some()));
    rows
}

fn find<'d>(document: &'d Document, name: &Name) -> Option<&'d CaseRecord> {
    let mut cases = document.cases.iter();
    cases.find(|case| case.controller == name.0 && case.behaviour == name.1)
}

fn places(documents: &[Document], columns: &[String], lines: &mut Vec<String>) {
    lines.push("## Where".to_owned());
    lines.push(String::new());
    lines.push("| column | kernel | machine | when | command | result |".to_owned());
    lines.push("|---|---|---|---|---|---|".to_owned());
    for (document, column) in documents.iter().zip(columns) {
        let counts: Vec<String> = [
            (Verdict::Kept, "kept"),
            (Verdict::Broken, "broken"),
            (Verdict::Undecided, "undecided"),
            (Verdict::Void, "void"),
            (Verdict::NotAvailable, "n/a"),
        ]
        .into_iter()
        .map(|(verdict, word)| (document.count(verdict), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
        lines.push(format!(
            "| {column} | {} | {} | {} | `{}` | {} |",
            document.kernel,
            document.virtual_machine.as_deref().unwrap_or("bare"),
            document.started_at,
            document.command,
            counts.join(", ")
        ));
    }
}

fn tables(documents: &[Document], columns: &[String], rows: &[Name], lines: &mut Vec<String>) {
    let mut last = "";
    for name in rows {
        if name.0 != last {
            last = &name.0;
            lines.push(String::new());
            lines.push(format!("## {last}"));
            lines.push(String::new());
            lines.push(format!("| behaviour | {} |", columns.join(" | ")));
            lines.push(format!("|---|{}", "---|".repeat(columns.len())));
        }
        let cells: Vec<&str> = documents.iter().map(|document| cell(document, name)).collect();
        lines.push(format!("| {} | {} |", described(name), cells.join(" | ")));
    }
}

/// The behaviour's sentence, with its name to run it by.
fn described((controller, behaviour): &Name) -> String {
    let known = all().find(|case| case.controller == controller && case.behaviour == behaviour);
    let promise = known.map_or("", |case| case.promise);
    format!("{promise} (`{behaviour}`)").trim_start().to_owned()
}

fn cell(document: &Document, name: &Name) -> &'static str {
    match find(document, name).map(|case| case.verdict) {
        Some(Verdict::Kept) => "kept",
        Some(Verdict::Broken) => "**BROKEN**",
        Some(Verdict::Undecided) => "*undecided*",
        Some(Verdict::Void) => "*void*",
        Some(Verdict::NotAvailable) => "n/a",
        None => "not run",
    }
}

/// For each behaviour and each distinct reason the columns where it stands.
fn reasons(documents: &[Document], columns: &[String], rows: &[Name], lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push("## Why not kept".to_owned());
    lines.push(String::new());
    for name in rows {
        let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (document, column) in documents.iter().zip(columns) {
            if let Some(case) = find(document, name).filter(|case| case.verdict != Verdict::Kept) {
                by_reason.entry(reason(case)).or_default().push(column);
            }
        }
        for (reason, columns) in by_reason {
            lines.push(format!("- `{}/{}` on {}: {reason}", name.0, name.1, columns.join(", ")));
        }
    }
}

/// The reason, and of what was run the most telling line.
fn reason(case: &CaseRecord) -> String {
    let seen = case.evidence.first().filter(|line| **line != case.reason);
    let text = match seen {
        Some(line) => format!("{} ({line})", case.reason),
        None => case.reason.clone(),
    };
    let verdict = match case.verdict {
        Verdict::NotAvailable => "n/a".to_owned(),
        other => other.to_string(),
    };
    format!("{verdict}, {}", text.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::SCHEMA;

    fn document(kernel: &str, layout: &str, verdict: Verdict, reason: &str) -> Document {
        Document {
            schema: SCHEMA,
            kernel: kernel.to_owned(),
            layout: layout.to_owned(),
            virtual_machine: None,
            started_at: "2026-11-21T12:00:00Z".to_owned(),
            command: "assay conform --json".to_owned(),
            patience: 1.0,
            restored: true,
            cases: vec![CaseRecord {
                controller: "pids".to_owned(),
                behaviour: "fork-above-the-limit-fails".to_owned(),
                verdict,
                reason: reason.to_owned(),
                evidence: vec!["8 children".to_owned()],
                seconds: 0.0,
            }],
        }
    }

    #[test]
    fn every_document_is_a_column_and_every_reason_is_given_once() {
        let text = merge(&[
            document("6.1.0-56-amd64", "v1", Verdict::Kept, ""),
            document("6.12.1", "v2", Verdict::Broken, "too many"),
            document("6.12.1", "v2", Verdict::Broken, "too many"),
        ]);
        assert!(text.contains("| behaviour | 6.1 v1 | 6.12 v2 | 6.12 v2 #2 |"), "{text}");
        assert!(text.contains("| kept | **BROKEN** | **BROKEN** |"), "{text}");
        let reason = "- `pids/fork-above-the-limit-fails` on 6.12 v2, 6.12 v2 #2: broken, too many \
                      (8 children)";
        assert_eq!(text.matches(reason).count(), 1, "{text}");
        assert!(!text.contains("`cpu/"), "what no document has is no row: {text}");
    }

    #[test]
    fn a_behaviour_that_only_a_document_knows_is_kept() {
        let mut one = document("6.1", "v2", Verdict::Kept, "");
        one.cases[0].controller = "dmem".to_owned();
        let other = document("6.2", "v2", Verdict::Kept, "");
        let text = merge(&[one, other]);
        assert!(text.contains("## dmem"), "{text}");
        assert!(text.contains("| kept | not run |"), "{text}");
    }
}
