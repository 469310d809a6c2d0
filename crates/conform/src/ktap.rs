//! Results as KTAP, version 1, the format of the kernel's own tests
//! (Documentation/dev-tools/ktap.rst): groups of tests as subtests, one test for each case.

use std::collections::HashSet;
use std::fmt::Write;

use crate::document::{CaseRecord, Document};
use crate::outcome::Verdict;

/// The tests of a controller.
struct Group<'k> {
    name: &'k str,
    tests: Vec<&'k CaseRecord>,
}

/// The document as KTAP: a group for each controller. A case that could show nothing, is unavailable or undecided is
/// skipped, with the reason.
#[must_use]
pub fn ktap(document: &Document) -> String {
    let mut seen = HashSet::new();
    let names = document.cases.iter().map(|case| case.controller.as_str());
    let groups = names.filter(|name| seen.insert(*name)).map(|name| Group {
        name,
        tests: document.cases.iter().filter(|case| case.controller == name).collect(),
    });
    let groups: Vec<Group<'_>> = groups.collect();
    let head = format!("Linux {}, cgroup layout {}", document.kernel, document.layout);
    let mut text = format!("KTAP version 1\n# {}\n1..{}\n", one_line(&head), groups.len());
    for (number, group) in (1..).zip(&groups) {
        subtests(&mut text, group);
        let has = |verdict| group.tests.iter().any(|case| case.verdict == verdict);
        let (result, directive) = if has(Verdict::Broken) {
            ("not ok", "")
        } else if has(Verdict::Kept) {
            ("ok", "")
        } else {
            ("ok", " # SKIP no case could show anything")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{result} {number} {}{directive}", one_line(group.name));
    }
    text.pop();
    text
}

fn subtests(text: &mut String, group: &Group<'_>) {
    let (name, count) = (one_line(group.name), group.tests.len());
    let _ = write!(text, "  KTAP version 1\n  # Subtest: {name}\n  1..{count}\n");
    for (number, case) in (1..).zip(&group.tests) {
        comments(text, &case.evidence);
        let (result, directive) = match case.verdict {
            Verdict::Kept => ("ok", String::new()),
            Verdict::Broken => {
                comments(text, std::slice::from_ref(&case.reason));
                ("not ok", String::new())
            }
            other => ("ok", format!(" # SKIP {other}: {}", one_line(&case.reason))),
        };
        let _ = writeln!(text, "  {result} {number} {}{directive}", one_line(&case.behaviour));
    }
}

fn comments(text: &mut String, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "  # {}", one_line(line));
    }
}

/// A text as part of a line: a `#` begins a directive, a line break a result.
fn one_line(text: &str) -> String {
    let printable = |c: char| if c.is_control() || c == '#' { ' ' } else { c };
    text.chars().map(printable).collect::<String>().trim().to_owned()
}

#[cfg(test)]
#[path = "ktap/tests.rs"]
mod tests;
