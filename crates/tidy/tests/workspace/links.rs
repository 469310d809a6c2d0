//! The docs as a book: links are valid, and every page is included.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::tree::{files, root, shown};

/// Every page of the documentation.
fn pages() -> Vec<(PathBuf, String)> {
    let inside = files(&root().join("docs"), "md");
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let top = top.iter().map(|name| root().join(name));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    inside.into_iter().chain(top).map(read).collect()
}

/// The text outside blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// The targets of links and images, `](target)`, outside code spans.
fn targets(text: &str) -> Vec<String> {
    let spans: String = prose(text).split('`').step_by(2).collect::<Vec<_>>().join("code");
    let parts = spans.split("](").skip(1);
    parts.filter_map(|part| part.split(')').next().map(str::to_owned)).collect()
}

/// The anchors of a page, as GitHub and mdBook derive them from headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept = text.chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
            kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
        })
        .collect()
}

#[test]
fn every_link_between_pages_is_valid() {
    let mut checked = 0;
    for (path, text) in pages() {
        for target in targets(&text) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let linked = if file.is_empty() { path.clone() } else { beside(&path, file) };
            assert!(linked.exists(), "{}: `{target}` does not exist", shown(&path));
            if !anchor.is_empty() {
                let anchors = anchors(&std::fs::read_to_string(&linked).unwrap());
                assert!(anchors.contains(anchor), "{}: no heading for `{target}`", shown(&path));
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} links were found");
}

/// The files and folders named in code spans, relative to the root of the repository.
fn named_paths(text: &str) -> Vec<&str> {
    let spans = text.split('`').skip(1).step_by(2);
    let folders = ["crates/", "loadgen/", "docs/", "CHANGELOG.md"];
    let is_path = |span: &&str| folders.iter().any(|folder| span.starts_with(folder));
    spans.filter(is_path).filter(|span| !span.contains(['{', '<', ' '])).collect()
}

#[test]
fn every_file_named_in_the_architecture_exists() {
    let mut checked = 0;
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for path in named_paths(&text) {
            assert!(root().join(path).exists(), "{page}: `{path}` does not exist");
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} files were found");
}

/// What is said to take some files names as many, and no more than it may take.
fn takes(paragraph: &str, begins: &str, most: usize) {
    let (_, claimed) = paragraph.split_once(begins).unwrap();
    let claimed: usize = claimed.split(' ').next().unwrap().parse().unwrap();
    let named: BTreeSet<&str> = named_paths(paragraph).into_iter().collect();
    assert_eq!(named.len(), claimed, "{paragraph}");
    assert!(claimed <= most, "{begins}{claimed} files, more than {most}");
}

#[test]
fn the_walks_and_a_new_promise_take_as_many_files_as_they_say() {
    let walks = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let kinds = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let claims = [
        (&walks, "**From a completed request to a pixel: ", 14),
        (&walks, "**From a line of the study file to a knob: ", 10),
        (&kinds, "**a promise: ", 10),
    ];
    for (text, begins, most) in claims {
        let paragraph = text.split("\n\n").find(|paragraph| paragraph.starts_with(begins));
        takes(paragraph.unwrap(), begins, most);
    }
}

fn beside(page: &Path, file: &str) -> PathBuf {
    page.parent().unwrap().join(file)
}

#[test]
fn every_page_of_the_docs_is_linked_by_the_table_of_contents() {
    let docs = root().join("docs");
    let contents = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let mut linked = BTreeSet::new();
    for target in targets(&contents) {
        assert!(linked.insert(target.clone()), "docs/README.md links {target} twice");
    }
    for path in files(&docs, "md") {
        let name = path.strip_prefix(&docs).unwrap().display().to_string();
        // `make book` makes SUMMARY.md, with a chapter for each link.
        let is_cover = ["README.md", "SUMMARY.md"].contains(&name.as_str());
        assert!(is_cover || linked.contains(&name), "docs/README.md does not list {name}");
    }
}

#[test]
fn links_and_anchors_are_parsed() {
    assert_eq!(targets("[a](b.md#c) `[x](y)` ![i](j.png)"), ["b.md#c", "j.png"]);
    assert_eq!(targets("```\n[a](b)\n```\n"), Vec::<String>::new());
    let anchors = anchors("# `assay judge` on numbers: why?\n## Less than root\n");
    assert!(anchors.contains("assay-judge-on-numbers-why") && anchors.contains("less-than-root"));
}
