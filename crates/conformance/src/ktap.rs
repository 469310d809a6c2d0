//! Results as KTAP, version 1, the format of the kernel's own tests
//! (Documentation/dev-tools/ktap.rst): one subtest for each controller, one test for each case.

use std::collections::HashSet;
use std::fmt::Write;

use crate::document::{CaseRecord, Document};
use crate::outcome::Verdict;

/// The document as KTAP. A case that could show nothing, is unavailable or undecided is skipped, with the
/// reason: none of them is a failure of the kernel, or a success.
#[must_use]
pub fn ktap(document: &Document) -> String {
    let mut seen = HashSet::new();
    let controllers: Vec<&str> = document
        .cases
        .iter()
        .map(|case| case.controller.as_str())
        .filter(|name| seen.insert(*name))
        .collect();
    let mut text = format!(
        "KTAP version 1\n# Linux {}, cgroup layout {}\n1..{}\n",
        one_line(&document.kernel),
        one_line(&document.layout),
        controllers.len()
    );
    for (number, controller) in (1..).zip(controllers) {
        let cases: Vec<&CaseRecord> =
            document.cases.iter().filter(|case| case.controller == controller).collect();
        subtest(&mut text, controller, &cases);
        let verdicts: Vec<Verdict> = cases.iter().map(|case| case.verdict).collect();
        let (result, directive) = match () {
            () if verdicts.contains(&Verdict::Broken) => ("not ok", ""),
            () if verdicts.contains(&Verdict::Kept) => ("ok", ""),
            () => ("ok", " # SKIP no case could show anything"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{result} {number} {}{directive}", one_line(controller));
    }
    text.pop();
    text
}

fn subtest(text: &mut String, controller: &str, cases: &[&CaseRecord]) {
    let _ = write!(
        text,
        "  KTAP version 1\n  # Subtest: {}\n  1..{}\n",
        one_line(controller),
        cases.len()
    );
    for (number, case) in (1..).zip(cases) {
        for line in &case.evidence {
            let _ = writeln!(text, "  # {}", one_line(line));
        }
        let reason = one_line(&case.reason);
        let (result, directive) = match case.verdict {
            Verdict::Kept => ("ok", String::new()),
            Verdict::Broken => {
                let _ = writeln!(text, "  # {reason}");
                ("not ok", String::new())
            }
            other => ("ok", format!(" # SKIP {other}: {reason}")),
        };
        let _ = writeln!(text, "  {result} {number} {}{directive}", one_line(&case.behaviour));
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
