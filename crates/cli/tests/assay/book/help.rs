//! Help texts: no line is wider than a terminal of 80 columns.

use crate::book::program::assay;

const WIDTH: usize = 80;

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
    ended.stdout
}

/// The commands that a help text lists.
fn commands(text: &str) -> Vec<String> {
    let section = text.split("Commands:\n").nth(1).unwrap_or_default();
    let rows = section.lines().take_while(|line| line.starts_with("  "));
    rows.filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_help_text_fits_80_columns() {
    let top = help(&[]);
    assert_narrow(&[], &top);
    let found = commands(&top);
    assert!(found.len() >= 16, "{found:?}");
    for command in &found {
        let text = help(&[command]);
        assert_narrow(&[command], &text);
        for below in commands(&text) {
            assert_narrow(&[command, &below], &help(&[command, &below]));
        }
    }
}

#[test]
fn each_command_has_one_line_in_the_list() {
    let top = help(&[]);
    let section = top.split("Commands:\n").nth(1).unwrap();
    for line in section.lines().take_while(|line| !line.is_empty()) {
        assert!(!line.starts_with("    "), "a description is too long before: {line}");
    }
}

#[test]
fn the_list_of_studies_fits_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let ended = assay(folder.path(), ["studies"]);
    assert_narrow(&["studies"], &ended.stdout);
    assert!(ended.stdout.lines().count() >= 14);
}
