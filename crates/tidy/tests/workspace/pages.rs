//! Pages stay short enough to be read, and all together short enough to be checked.

use crate::tree::{files, root, shown};

/// Words of a page, code and tables included.
const MOST: usize = 1_300;

/// Pages that may be longer, with their words: what is complete by its nature. A page that has become shorter gets a lower number.
const LONGER: [(&str, usize); 12] = [
    ("ARCHITECTURE.md", 1_900),
    ("docs/checks.md", 2_300),
    ("docs/judging.md", 2_200),
    ("docs/reference/audit-rules.md", 2_000),
    ("docs/reference/causes.md", 2_700),
    ("docs/reference/diagnostics.md", 2_600),
    ("docs/reference/knobs.md", 6_200),
    ("docs/reference/sources.md", 1_800),
    ("docs/reference/sources-of-statements.md", 1_900),
    ("docs/results/conformance.md", 1_600),
    ("docs/safety.md", 1_900),
    ("docs/study-file.md", 2_300),
];

/// Of all pages.
const ALL: usize = 62_500;

#[test]
fn pages_stay_short() {
    let mut all = 0;
    let mut long = Vec::new();
    for path in files(&root(), "md") {
        let words = std::fs::read_to_string(&path).unwrap().split_whitespace().count();
        let name = shown(&path);
        let longer = LONGER.iter().find(|(page, _)| *page == name);
        let most = longer.map_or(MOST, |(_, most)| *most);
        if words > most {
            long.push(format!("{name}: {words} words, at most {most}"));
        }
        all += words;
    }
    assert!(long.is_empty(), "shorten what is longer:\n{}", long.join("\n"));
    assert!((20_000..=ALL).contains(&all), "{all} words, at most {ALL}");
}
