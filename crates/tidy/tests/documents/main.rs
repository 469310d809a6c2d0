//! The published JSON schemas of documents are those of the types that are written.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]
#![allow(clippy::panic, reason = "a type that is not understood fails the test")]

mod attributes;
mod schema;
mod source;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use source::Source;
use table::DOCUMENTS;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_published_schemas_are_those_of_the_types() {
    let source = Source::read(&root().join("crates"));
    let folder = root().join("docs/schema");
    for document in &DOCUMENTS {
        let current = format!("{:#}\n", schema::of(&source, document));
        let path = folder.join(document.file());
        if std::env::var_os("ASSAY_BLESS").is_some() {
            fs::write(&path, &current).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        let hint = "ASSAY_BLESS=1 cargo test -p assay-tidy writes it";
        assert!(written == current, "{} differs from its type: {hint}", path.display());
    }
}

#[test]
fn every_schema_is_in_the_table_of_its_page_and_no_other() {
    let folder = root().join("docs/schema");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    for document in &DOCUMENTS {
        assert!(page.contains(&document.row()), "the page lacks {}", document.row());
    }
    let expected: BTreeSet<String> = DOCUMENTS.iter().map(table::Document::file).collect();
    let found: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    assert_eq!(found, expected);
}

/// A command that prints JSON and has no schema would be a promise without its terms.
#[test]
fn every_command_that_prints_json_has_a_schema() {
    let commands = root().join("crates/cli/src/command");
    for entry in fs::read_dir(commands).unwrap() {
        let path = entry.unwrap().path();
        let Some("rs") = path.extension().and_then(|extension| extension.to_str()) else {
            continue;
        };
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if !fs::read_to_string(&path).unwrap().contains("    json: bool") {
            continue;
        }
        let is_named = DOCUMENTS.iter().any(|one| {
            one.from.contains(&format!("`assay {name}")) || one.from.contains(&format!(", `{name}"))
        });
        assert!(is_named, "no row of the table names `assay {name}`");
    }
}
