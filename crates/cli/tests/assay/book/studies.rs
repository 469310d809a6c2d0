//! Checks every complete study in the docs.

use std::fs;

use crate::book::extract::blocks;
use crate::book::program::assay;

#[test]
fn every_study_of_the_docs_passes() {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for block in blocks() {
        // Other blocks are parts of studies. Examples of mistakes have their own tests.
        let is_whole = block.language == "toml"
            && block.text.contains("[[groups]]")
            && block.text.lines().any(|line| line.starts_with("title"));
        if !is_whole || block.page.ends_with("diagnostics.md") {
            continue;
        }
        let path = folder.path().join("study.toml");
        fs::write(&path, &block.text).unwrap();
        let ended = assay(folder.path(), ["check", "study.toml"]);
        let place = format!("{}:{}", block.page, block.line);
        assert!(matches!(ended.code, Some(0 | 4)), "{place}: {}", ended.stderr);
        assert!(ended.stdout.contains("changes of the host"), "{place}: {}", ended.stdout);
        checked += 1;
    }
    assert!(checked >= 3, "only {checked} studies were found");
}
