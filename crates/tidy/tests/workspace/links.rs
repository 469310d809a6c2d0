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
    let is_of_crate = |span: &&str| span.starts_with("crates/") || span.starts_with("loadgen/");
    spans.filter(is_of_crate).filter(|span| !span.contains(['{', '<', ' '])).collect()
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

/// The two walks through the code are as long as they say.
#[test]
fn the_walks_of_the_architecture_name_as_many_files_as_they_say() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, walks) = text.split_once("## The path of a byte and of a line").unwrap();
    let walks = walks.split("\n## ").next().unwrap();
    let mut checked = 0;
    for walk in walks.split("\n\n").filter(|paragraph| paragraph.starts_with("**From")) {
        let (_, claimed) = walk.split_once(": ").unwrap();
        let claimed: usize = claimed.split(' ').next().unwrap().parse().unwrap();
        let named: BTreeSet<&str> = named_paths(walk).into_iter().collect();
        assert_eq!(named.len(), claimed, "{walk}");
        checked += 1;
    }
    assert_eq!(checked, 2);
}

fn beside(page: &Path, file: &str) -> PathBuf {
    page.parent().unwrap().join(file)
}

/// The pages of the mdBook: the chapters of docs/README.md and the first page of each row.
fn summary(contents: &str) -> String {
    let mut lines = vec!["# Summary".to_owned(), String::new(), "[The book](README.md)".to_owned()];
    for line in contents.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let chapter = heading.split(':').next().unwrap();
            lines.extend([String::new(), format!("# {chapter}"), String::new()]);
        } else if let Some(row) = line.strip_prefix("| [") {
            let (link, _) = row.split_once(") |").unwrap();
            lines.push(format!("- [{link})"));
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn every_page_of_the_docs_is_in_the_table_of_contents_and_in_the_book() {
    let docs = root().join("docs");
    let contents = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let expected = summary(&contents);
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(docs.join("SUMMARY.md"), &expected).unwrap();
    }
    let committed = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    assert!(
        committed == expected,
        "docs/SUMMARY.md differs from docs/README.md: ASSAY_BLESS=1 cargo test -p assay-tidy"
    );
    let linked: BTreeSet<String> = targets(&committed).into_iter().collect();
    for path in files(&docs, "md") {
        let name = path.strip_prefix(&docs).unwrap().display().to_string();
        let is_cover = ["README.md", "SUMMARY.md"].contains(&name.as_str());
        assert!(is_cover || linked.contains(&name), "docs/README.md does not list {name}");
    }
}

#[test]
fn the_summary_has_chapters_and_the_first_page_of_each_row() {
    let contents = "# Book\n## Guide: how?\n| page | for |\n|---|---|\n| [A](a.md) | [b](b.md) |\n";
    let text = summary(contents);
    assert_eq!(text, "# Summary\n\n[The book](README.md)\n\n# Guide\n\n- [A](a.md)\n");
}

#[test]
fn links_and_anchors_are_parsed() {
    assert_eq!(targets("[a](b.md#c) `[x](y)` ![i](j.png)"), ["b.md#c", "j.png"]);
    assert_eq!(targets("```\n[a](b)\n```\n"), Vec::<String>::new());
    let anchors = anchors("# `assay judge` on numbers: why?\n## Less than root\n");
    assert!(anchors.contains("assay-judge-on-numbers-why") && anchors.contains("less-than-root"));
}
