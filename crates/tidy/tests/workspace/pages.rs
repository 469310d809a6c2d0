//! Pages stay short enough to be read, and all together short enough to be checked; so do their sentences.

use std::fs::read_to_string;

use crate::tree::{files, root, shown};

/// Words of a page.
const MOST: usize = 1_000;

/// Pages with a limit of their own: what is complete by its nature, and the first page. A page that has become shorter gets a lower number.
const OTHER: [(&str, usize); 11] = [
    ("ARCHITECTURE.md", 1_050),
    ("README.md", 700),
    ("docs/checks.md", 2_000),
    ("docs/judging.md", 1_700),
    ("docs/reference/audit-rules.md", 1_250),
    ("docs/reference/causes.md", 2_050),
    ("docs/reference/diagnostics.md", 2_150),
    ("docs/reference/knobs.md", 3_100),
    ("docs/reference/sources.md", 1_100),
    ("docs/safety.md", 1_700),
    ("docs/study-file.md", 1_850),
];

/// Words of all pages.
const ALL: usize = 45_000;

/// Words of the sentence in the middle of a page, and of the one that nine in ten do not exceed.
const SENTENCE: (usize, usize) = (16, 28);

#[test]
fn pages_stay_short() {
    let mut all = 0;
    let mut long = Vec::new();
    for (name, text) in pages() {
        let count = count(&text);
        let most = OTHER.iter().find(|(page, _)| *page == name).map_or(MOST, |(_, most)| *most);
        if count > most {
            long.push(format!("{name}: {count} words, at most {most}"));
        }
        all += count;
    }
    assert!(long.is_empty(), "shorten what is longer:\n{}", long.join("\n"));
    assert!((20_000..=ALL).contains(&all), "{all} words, at most {ALL}");
}

#[test]
fn sentences_stay_short() {
    let mut long = Vec::new();
    for (name, text) in pages() {
        let mut lengths = sentences(&text);
        lengths.sort_unstable();
        let Some(last) = lengths.len().checked_sub(1) else { continue };
        let found = (lengths[last / 2], lengths[last * 9 / 10]);
        if found.0 > SENTENCE.0 || found.1 > SENTENCE.1 {
            long.push(format!("{name}: {found:?}, at most {SENTENCE:?}"));
        }
    }
    assert!(long.is_empty(), "median and 90th percentile of words:\n{}", long.join("\n"));
}

/// Words of a finding: a mail that a maintainer reads in three minutes.
const FINDING: usize = 400;

/// Each finding is a mail, and a script that shows it without Assay.
#[test]
fn findings_are_short_and_have_a_reproducer() {
    let findings = root().join("docs/findings");
    for (name, text) in pages() {
        let path = root().join(&name);
        if !path.starts_with(&findings) || path.file_name().is_none_or(|name| name != "README.md") {
            continue;
        }
        let count = count(&text);
        assert!(count <= FINDING, "{name}: {count} words, at most {FINDING}");
        let folder = path.parent().unwrap();
        assert!(
            text.contains("](reproducer.sh)") && folder.join("reproducer.sh").is_file(),
            "{name} has no reproducer.sh"
        );
        assert!(folder.join("numbers.txt").is_file(), "{name} has no numbers.txt");
    }
}

#[test]
fn what_a_reader_reads_is_counted() {
    let text = "# A page\n\nRead [the manual](a/b.md), or *not*. One\nmore:\n\n- an item - short\n- two\n\n\
                ```\ncode. here\n```\n\n| a | b |\n|---|---|\n| 1 | two words |\n";
    assert_eq!(count(text), 18);
    assert_eq!(sentences(text), [5, 2, 3, 1]);
}

/// Names and texts of all pages.
fn pages() -> impl Iterator<Item = (String, String)> {
    files(&root(), "md").into_iter().map(|path| (shown(&path), read_to_string(&path).unwrap()))
}

/// Words outside of fenced code.
fn count(text: &str) -> usize {
    lines(text).map(|line| words(&line).count()).sum()
}

/// The lines outside of fenced code, with links by their text.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_fence && !is_code).then(|| without_targets(line))
    })
}

fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "]" + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Words, without the marks of tables and lists.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric))
}

/// The lengths of the sentences in paragraphs and lists.
fn sentences(text: &str) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut length = 0;
    for line in lines(text) {
        let is_prose = !line.is_empty() && !line.starts_with(['|', '#', '<', '!']);
        if !is_prose || line.trim_start().starts_with("- ") {
            lengths.push(std::mem::take(&mut length));
        }
        for word in line.split_whitespace().filter(|_| is_prose) {
            length += words(word).count();
            if word.trim_end_matches([')', '*', '_', '"', '`']).ends_with(['.', '!', '?']) {
                lengths.push(std::mem::take(&mut length));
            }
        }
    }
    lengths.push(length);
    lengths.retain(|length| *length > 0);
    lengths
}
