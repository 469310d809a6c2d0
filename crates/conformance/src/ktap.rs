//! Results as KTAP, version 1, the format of the kernel's own tests
//! (Documentation/dev-tools/ktap.rst): groups of tests as subtests, one test for each case.

use std::collections::HashSet;
use std::fmt::Write;

use crate::document::{CaseRecord, Document};
use crate::outcome::Verdict;

/// Tests that are the subtests of one: those of a controller, or of a kernel.
#[derive(Debug)]
pub struct KtapGroup<'k> {
    /// Its name.
    pub name: String,
    /// Its tests.
    pub tests: Vec<KtapTest<'k>>,
    /// Why none of its tests ran, if so: it fails then.
    pub lost: &'k [String],
}

/// A test.
#[derive(Debug)]
pub struct KtapTest<'k> {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub result: KtapResult,
    /// Observations.
    pub evidence: &'k [String],
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KtapResult {
    /// `ok`.
    Passed,
    /// `not ok`, and why.
    Failed(String),
    /// `ok ... # SKIP`, and why: neither a failure of the kernel nor a success.
    Skipped(String),
}

/// The document as KTAP: a group for each controller. A case that could show nothing, is unavailable or undecided is
/// skipped, with the reason.
#[must_use]
pub fn ktap(document: &Document) -> String {
    let mut seen = HashSet::new();
    let names = document.cases.iter().map(|case| case.controller.as_str());
    let groups = names.filter(|name| seen.insert(*name)).map(|controller| KtapGroup {
        name: controller.to_owned(),
        tests: document
            .cases
            .iter()
            .filter(|case| case.controller == controller)
            .map(test)
            .collect(),
        lost: &[],
    });
    let head = format!("Linux {}, cgroup layout {}", document.kernel, document.layout);
    ktap_of(&head, &groups.collect::<Vec<_>>())
}

fn test(case: &CaseRecord) -> KtapTest<'_> {
    let result = match case.verdict {
        Verdict::Kept => KtapResult::Passed,
        Verdict::Broken => KtapResult::Failed(case.reason.clone()),
        other => KtapResult::Skipped(format!("{other}: {}", case.reason)),
    };
    KtapTest { name: case.behaviour.clone(), result, evidence: &case.evidence }
}

/// Groups of tests as KTAP.
#[must_use]
pub fn ktap_of(head: &str, groups: &[KtapGroup<'_>]) -> String {
    let mut text = format!("KTAP version 1\n# {}\n1..{}\n", one_line(head), groups.len());
    for (number, group) in (1..).zip(groups) {
        subtests(&mut text, group);
        let name = one_line(&group.name);
        let has =
            |wanted: fn(&KtapResult) -> bool| group.tests.iter().any(|test| wanted(&test.result));
        let (result, directive) = match () {
            () if has(|one| matches!(one, KtapResult::Failed(_))) => ("not ok", ""),
            () if has(|one| *one == KtapResult::Passed) => ("ok", ""),
            () if !group.lost.is_empty() => ("not ok", ""),
            () => ("ok", " # SKIP no case could show anything"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{result} {number} {name}{directive}");
    }
    text.pop();
    text
}

fn subtests(text: &mut String, group: &KtapGroup<'_>) {
    let (name, count) = (one_line(&group.name), group.tests.len());
    let _ = write!(text, "  KTAP version 1\n  # Subtest: {name}\n  1..{count}\n");
    for (number, test) in (1..).zip(&group.tests) {
        comments(text, test.evidence);
        let (result, directive) = match &test.result {
            KtapResult::Passed => ("ok", String::new()),
            KtapResult::Failed(why) => {
                comments(text, std::slice::from_ref(why));
                ("not ok", String::new())
            }
            KtapResult::Skipped(why) => ("ok", format!(" # SKIP {}", one_line(why))),
        };
        let _ = writeln!(text, "  {result} {number} {}{directive}", one_line(&test.name));
    }
    comments(text, group.lost);
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
