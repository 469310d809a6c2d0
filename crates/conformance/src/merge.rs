//! Documents of several kernels and layouts, merged into one page of Markdown.

use std::collections::BTreeMap;

use crate::cases::all;
use crate::document::{CaseRecord, Document};
use crate::outcome::Verdict;

/// A controller and a behaviour.
type Name = (String, String);

/// The page docs/results/conformance.md: where the cases ran, a table of verdicts for each controller
/// with a column for each document, and the reason for every verdict that is not `kept`.
#[must_use]
pub fn merge(documents: &[Document]) -> String {
    let documents = &join(documents)[..];
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
docs/results/conformance/ with `assay conform --merge`; not to be edited. What each case does stands in
`crates/conformance/src/cases/`; figures behind each verdict stand in the documents.

**kept**: the kernel did what its document says. **BROKEN**: it did not, by more than noise explains. *undecided*: the
figures allow both. *void*: the test could not have shown it. n/a: this host lacks what the case needs. Reasons for all
that is not kept are at the end. Guests without KVM are emulated: placement and logic hold there, times do not.

How to read a row: one behaviour that the kernel documents, put to the test by its effect, with the name that runs it
alone (`assay conform NAME`; `assay conform --list` tells where it is documented). Beside an effect stands its twin, the
case that must show none: a row of the first kind alone would be kept by a kernel that does it to everybody. Two
columns of one kernel differ where its hierarchies do; on a hybrid layout a case runs on the hierarchy that has the
controller. CONTRIBUTING.md says how to add a case.

";

/// Documents of one kernel, layout and machine become one, in which a case that was run again
/// stands as it was found last. A single case need not cost a run of all.
fn join(documents: &[Document]) -> Vec<Document> {
    let mut joined: Vec<Document> = Vec::new();
    for document in documents {
        let same = joined.iter_mut().find(|known| {
            (&known.kernel, &known.layout, &known.virtual_machine)
                == (&document.kernel, &document.layout, &document.virtual_machine)
        });
        match same {
            None => joined.push(document.clone()),
            Some(known) if known.started_at <= document.started_at => add(known, document.clone()),
            Some(known) => {
                let later = std::mem::replace(known, document.clone());
                add(known, later);
            }
        }
    }
    joined
}

fn add(known: &mut Document, later: Document) {
    known.command = format!("{}`, then `{}", known.command, later.command);
    known.started_at = format!("{}, {}", known.started_at, later.started_at);
    for case in later.cases {
        let name = (case.controller.clone(), case.behaviour.clone());
        known.cases.retain(|old| (&old.controller, &old.behaviour) != (&name.0, &name.1));
        known.cases.push(case);
    }
}

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

/// For each behaviour and each distinct reason the columns where it stands; then what was not
/// available, by the reason, for one reason often stands behind a whole controller.
fn reasons(documents: &[Document], columns: &[String], rows: &[Name], lines: &mut Vec<String>) {
    lines.extend(["", "## Broken, undecided or void", ""].map(str::to_owned));
    let before = lines.len();
    for name in rows {
        let run = |verdict| ![Verdict::Kept, Verdict::NotAvailable].contains(&verdict);
        for (reason, columns) in by_reason(documents, columns, name, run) {
            lines.push(format!("- `{}/{}` on {columns}: {reason}", name.0, name.1));
        }
    }
    if lines.len() == before {
        lines.push("None.".to_owned());
    }
    lines.extend(["", "## Not available", ""].map(str::to_owned));
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for name in rows {
        let lacking = |verdict| verdict == Verdict::NotAvailable;
        for (reason, columns) in by_reason(documents, columns, name, lacking) {
            let head = format!("`{}` on {columns}: {reason}", name.0);
            match groups.iter_mut().find(|(known, _)| *known == head) {
                Some((_, names)) => names.push(&name.1),
                None => groups.push((head, vec![&name.1])),
            }
        }
    }
    for (head, names) in groups {
        lines.push(format!("- {head} (`{}`)", names.join("`, `")));
    }
}

/// The distinct reasons of a behaviour's verdicts of some kind, each with its columns.
fn by_reason(
    documents: &[Document],
    columns: &[String],
    name: &Name,
    wanted: impl Fn(Verdict) -> bool,
) -> Vec<(String, String)> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (document, column) in documents.iter().zip(columns) {
        if let Some(case) = find(document, name).filter(|case| wanted(case.verdict)) {
            found.entry(reason(case)).or_default().push(column);
        }
    }
    found.into_iter().map(|(reason, columns)| (reason, columns.join(", "))).collect()
}

/// The reason, and of what was run the most telling line.
fn reason(case: &CaseRecord) -> String {
    let seen = case.evidence.first().filter(|line| **line != case.reason);
    let text = match seen {
        Some(line) => format!("{} ({line})", case.reason),
        None => case.reason.clone(),
    };
    let text = text.replace('\n', " ");
    match case.verdict {
        Verdict::NotAvailable => text,
        other => format!("{other}, {text}"),
    }
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
            document("6.12.2", "v2", Verdict::Broken, "too many"),
        ]);
        assert!(text.contains("| behaviour | 6.1 v1 | 6.12 v2 | 6.12 v2 #2 |"), "{text}");
        assert!(text.contains("| kept | **BROKEN** | **BROKEN** |"), "{text}");
        let reason = "- `pids/fork-above-the-limit-fails` on 6.12 v2, 6.12 v2 #2: broken, too many \
                      (8 children)";
        assert_eq!(text.matches(reason).count(), 1, "{text}");
        assert!(!text.contains("`cpu/"), "what no document has is no row: {text}");
    }

    #[test]
    fn a_case_that_was_run_again_stands_as_it_was_found_last() {
        let mut first = document("6.1", "v2", Verdict::Broken, "too many");
        let mut other = first.cases[0].clone();
        other.behaviour = "peak-holds-the-maximum".to_owned();
        first.cases.push(other);
        let mut again = document("6.1", "v2", Verdict::Kept, "");
        again.started_at = "2026-11-21T13:00:00Z".to_owned();
        for documents in [[first.clone(), again.clone()], [again.clone(), first.clone()]] {
            let text = merge(&documents);
            assert!(text.contains("(`fork-above-the-limit-fails`) | kept |"), "{text}");
            assert!(text.contains("(`peak-holds-the-maximum`) | **BROKEN** |"), "{text}");
            assert!(text.contains("12:00:00Z, 2026-11-21T13:00:00Z"), "{text}");
        }
    }

    #[test]
    fn what_is_not_available_stands_together_by_its_reason() {
        let mut one = document("6.1", "v1", Verdict::NotAvailable, "no cgroup2 is mounted");
        let mut second = one.cases[0].clone();
        second.behaviour = "peak-holds-the-maximum".to_owned();
        for case in [&mut one.cases[0], &mut second] {
            case.evidence.clear();
        }
        one.cases.push(second);
        let text = merge(&[one]);
        let line = "- `pids` on 6.1 v1: no cgroup2 is mounted (`fork-above-the-limit-fails`, \
                    `peak-holds-the-maximum`)";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("## Broken, undecided or void\n\nNone.\n"), "{text}");
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
