//! Help texts: no line is wider than a terminal of 80 columns.

use crate::book::program::assay;

const WIDTH: usize = 80;
const MOST_LINES: usize = 60;

/// Above lists of commands.
const HEADINGS: [&str; 7] =
    ["Commands:", "Live hosts:", "Studies:", "Results:", "Kernels:", "Set-up:", "Elsewhere:"];

fn assert_narrow(words: &[&str], text: &str) {
    for line in text.lines() {
        let columns = line.chars().count();
        assert!(columns <= WIDTH, "{words:?} has {columns} columns: {line}");
    }
}

fn help(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ended = assay(folder.path(), words.iter().copied().chain(["--help"]));
    assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    let lines = ended.stdout.lines().count();
    assert!(lines <= MOST_LINES, "{words:?} --help has {lines} lines");
    ended.stdout
}

/// The commands that a help text lists.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(heading) = lines.next() {
        if !HEADINGS.contains(&heading) {
            continue;
        }
        for row in lines.by_ref().take_while(|line| line.starts_with("  ")) {
            assert!(!row.starts_with("   "), "a description is too long before: {row}");
            found.extend(row.split_whitespace().next().filter(|name| *name != "help"));
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_help_text_fits_80_columns() {
    let top = help(&[]);
    assert_narrow(&[], &top);
    let found = commands(&top);
    assert!(found.len() >= 20, "{found:?}");
    for command in &found {
        let text = help(&[command]);
        assert_narrow(&[command], &text);
        for below in commands(&text) {
            assert_narrow(&[command, &below], &help(&[command, &below]));
        }
    }
}
