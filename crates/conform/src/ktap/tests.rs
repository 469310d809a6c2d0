//! A parser by the rules of Documentation/dev-tools/ktap.rst, and what it reads in our results.

use super::ktap;
use crate::document::{CaseRecord, Document, SCHEMA};
use crate::outcome::Verdict;

/// A result line and the subtests before it.
#[derive(Debug, PartialEq)]
struct Test {
    passed: bool,
    name: String,
    /// The directive and its reason: `SKIP void: nothing to see`.
    directive: Option<String>,
    subtests: Vec<Test>,
}

/// Parses a whole result: version line, plan, one result line for each test, in order. Subtests are
/// indented by two spaces, begin with a version line of their own, and stand before their result.
fn parse(lines: &[&str], depth: usize) -> Result<Vec<Test>, String> {
    let indent = "  ".repeat(depth);
    let mut own = lines.iter().map(|line| line.strip_prefix(&indent).unwrap_or("")).enumerate();
    let (_, version) = own.next().ok_or("empty")?;
    if version != "KTAP version 1" {
        return Err(format!("no version line: `{version}`"));
    }
    let (mut plan, mut tests, mut inner): (Option<usize>, Vec<Test>, Vec<&str>) =
        (None, vec![], vec![]);
    for (index, line) in own {
        if line.starts_with("  ") {
            inner.push(lines[index]);
        } else if let Some(count) = line.strip_prefix("1..") {
            let count = count.parse().map_err(|_| format!("bad plan `{line}`"))?;
            if plan.replace(count).is_some() || !tests.is_empty() {
                return Err(format!("a second or late plan `{line}`"));
            }
        } else if !line.starts_with('#') {
            let subtests = if inner.is_empty() { vec![] } else { parse(&inner, depth + 1)? };
            inner.clear();
            tests.push(result(line, tests.len() + 1, subtests)?);
        }
    }
    match plan {
        Some(count) if count == tests.len() && inner.is_empty() => Ok(tests),
        _ => Err(format!("plan {plan:?}, {} results, rest {inner:?}", tests.len())),
    }
}

fn result(line: &str, number: usize, subtests: Vec<Test>) -> Result<Test, String> {
    let (test, directive) = match line.split_once(" # ") {
        Some((test, directive)) => (test, Some(directive.to_owned())),
        None => (line, None),
    };
    let (passed, rest) = match (test.strip_prefix("ok "), test.strip_prefix("not ok ")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Err(format!("no result line: `{line}`")),
    };
    let (given, name) = rest.split_once(' ').ok_or(format!("no name: `{line}`"))?;
    if given.parse() != Ok(number) {
        return Err(format!("number {given} instead of {number}"));
    }
    if name.contains('#') || directive.as_deref().is_some_and(|text| !text.starts_with("SKIP ")) {
        return Err(format!("unknown directive: `{line}`"));
    }
    Ok(Test { passed, name: name.to_owned(), directive, subtests })
}

fn read(text: &str) -> Result<Vec<Test>, String> {
    parse(&text.lines().collect::<Vec<_>>(), 0)
}

fn case(controller: &str, behaviour: &str, verdict: Verdict, reason: &str) -> CaseRecord {
    CaseRecord {
        controller: controller.to_owned(),
        behaviour: behaviour.to_owned(),
        verdict,
        reason: reason.to_owned(),
        evidence: vec!["share 3 %\nok 7 forged # SKIP".to_owned()],
        seconds: 0.1,
    }
}

fn document(cases: Vec<CaseRecord>) -> Document {
    Document {
        schema: SCHEMA,
        kernel: "6.18.44\nok 1 forged".to_owned(),
        layout: "hybrid".to_owned(),
        virtual_machine: None,
        started_at: String::new(),
        command: String::new(),
        patience: 1.0,
        restored: true,
        cases,
    }
}

#[test]
fn every_verdict_is_read_back_and_nothing_is_forged() {
    let text = ktap(&document(vec![
        case("cpu", "a", Verdict::Kept, ""),
        case("cpu", "b", Verdict::Broken, "too # little"),
        case("io", "c", Verdict::Void, "no contention\nok 2 x"),
        case("cpu", "d", Verdict::NotAvailable, "needs 2 CPUs"),
        case("cpu", "e", Verdict::Undecided, "it varies"),
    ]));
    let tests = read(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let names: Vec<(&str, bool)> = tests.iter().map(|t| (t.name.as_str(), t.passed)).collect();
    assert_eq!(names, [("cpu", false), ("io", true)]);
    assert_eq!(tests[1].directive.as_deref(), Some("SKIP no case could show anything"));
    let cpu: Vec<_> = tests[0]
        .subtests
        .iter()
        .map(|t| (t.name.as_str(), t.passed, t.directive.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(
        cpu,
        [
            ("a", true, ""),
            ("b", false, ""),
            ("d", true, "SKIP not available: needs 2 CPUs"),
            ("e", true, "SKIP undecided: it varies"),
        ]
    );
    assert_eq!(tests[1].subtests[0].directive.as_deref(), Some("SKIP void: no contention ok 2 x"));
}

#[test]
fn no_case_at_all_is_an_empty_plan() {
    assert_eq!(read(&ktap(&document(vec![]))), Ok(vec![]));
}

#[test]
fn the_parser_refuses_what_the_format_forbids() {
    for wrong in [
        "1..1\nok 1 a",
        "KTAP version 1\n1..2\nok 1 a",
        "KTAP version 1\n1..1\nok 2 a",
        "KTAP version 1\n1..1\nfine 1 a",
        "KTAP version 1\n1..1\nok 1 a # SLOW",
        "KTAP version 1\n1..1\n  1..1\n  ok 1 a\nok 1 b",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
