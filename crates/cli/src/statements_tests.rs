//! docs/reference/sources-of-statements.md: what each statement about the kernel rests on. A test makes it, and refuses one without a source.

use std::collections::BTreeMap;
use std::fmt::Write;

use assay_sys::escape::markdown_cell;

/// A statement by its code, where it is from, and what of Assay shows it.
type Statement = (String, String, String);

/// The statements whose sources `assay explain` prints: the page need not repeat them.
fn explained() -> Vec<Statement> {
    let rules = assay_audit::all();
    let rules = rules.map(|one| (one.code.into(), one.source.into(), String::new()));
    let causes = assay_cause::causes::catalogue();
    rules.chain(causes.map(|one| (one.code.into(), one.source.into(), String::new()))).collect()
}

/// The statements on the page.
fn statements() -> [(&'static str, Vec<Statement>); 2] {
    let known = assay_audit::KNOWN.iter();
    let known = known.map(|one| (one.code.into(), one.source.into(), one.shown_by.into()));
    let mut by_source: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for knob in assay_host::knob::all() {
        let controllers = by_source.entry(knob.source).or_default();
        if !controllers.contains(&knob.controller) {
            controllers.push(knob.controller);
        }
    }
    let knobs = by_source
        .into_iter()
        .map(|(source, controllers)| (controllers.join(", "), source.into(), String::new()));
    [("Known of kernels", known.collect()), ("Interface files, by controller", knobs.collect())]
}

fn page() -> String {
    let mut page = String::from(
        "# Sources of statements about the kernel\n\n\
         Every statement that Assay makes about the kernel names source files, commits, documents, reports, or a case that shows it.\n\
         `assay explain CODE` prints the sources of a rule or a cause.\n\
         Documents are those below `Documentation/`. A kernel with three numbers (6.12.117) was read as Debian's source package of it.\n",
    );
    for (heading, statements) in statements() {
        let is_shown = statements.iter().any(|(.., shown)| !shown.is_empty());
        let head = if is_shown {
            "| | source | shown by |\n|---|---|---|"
        } else {
            "| | source |\n|---|---|"
        };
        let _ = writeln!(page, "\n## {heading}\n\n{head}");
        for (code, source, shown) in statements {
            let shown = if is_shown { format!(" {shown} |") } else { String::new() };
            let _ = writeln!(page, "| {code} | {} |{shown}", markdown_cell(&source));
        }
    }
    page
}

/// Causes that rest on a paper, on arithmetic, or on what the run itself recorded: they say nothing of the kernel.
const NOT_OF_THE_KERNEL: [&str; 9] = [
    "C-ALONE",
    "C-CPU",
    "C-INFEASIBLE",
    "C-LATE-START",
    "C-NEVER-BOUND",
    "C-SETTING-DRIFT",
    "C-SHORT-RUN",
    "C-UNKNOWN",
    "C-WORKLOAD",
];

/// How names of files end.
const FILES: [&str; 6] = [".c", ".cc", ".go", ".h", ".md", ".rst"];

/// Whether a text names a file of the kernel or of another program, a commit, a manual page, a report or a page of these docs.
fn names_a_source(text: &str) -> bool {
    let around = |c: char| ".,;:()\"`".contains(c);
    text.split_whitespace().map(|word| word.trim_matches(around)).any(|word| {
        let is_file = FILES.iter().any(|end| word.ends_with(end)) || word.starts_with("/proc/");
        let is_commit = word.len() >= 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_manual = word.split_once('(').is_some_and(|(name, section)| {
            !name.is_empty() && section.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        });
        let number = word.rsplit_once('#').map(|(_, number)| number);
        let is_report = number.is_some_and(|number| number.parse::<u32>().is_ok());
        is_file || is_commit || is_manual || is_report
    })
}

#[test]
fn every_statement_has_a_source() {
    let without: Vec<Statement> = statements()
        .into_iter()
        .flat_map(|(_, statements)| statements)
        .chain(explained())
        .filter(|(code, source, _)| {
            !names_a_source(source) && !NOT_OF_THE_KERNEL.contains(&code.as_str())
        })
        .collect();
    assert!(without.is_empty(), "name a file, commit or document: {without:#?}");
}

#[test]
fn what_names_nothing_is_no_source() {
    for text in [
        "mm/vmscan.c (shrink_one)",
        "6d71a9c61604 (6.13)",
        "sched(7)",
        "kubernetes#139790",
        "cgroup-v2.rst, \"Limits\"",
    ] {
        assert!(names_a_source(text), "{text}");
    }
    for text in
        ["", "seen here", "the kernel (all versions)", "6.12.117", "its documentation", "abcdef"]
    {
        assert!(!names_a_source(text), "{text}");
    }
}

#[test]
fn the_page_is_up_to_date() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/sources-of-statements.md");
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let present = std::fs::read_to_string(path).unwrap_or_default();
    assert!(present == page(), "ASSAY_BLESS=1 cargo test -p assay-cli statements writes {path}");
}
