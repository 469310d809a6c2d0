//! Third-party code matches docs/supply-chain.md. Licences are checked by cargo-deny (`make audit`).

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::tree::root;

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

fn parsed(name: &str) -> Table {
    read(name).parse().unwrap()
}

/// `(path, sha256)` of each row of the document with a file.
fn listed() -> Vec<(String, String)> {
    let text = read("docs/supply-chain.md");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        (cells[1].to_owned(), cells[cells.len() - 2].to_owned())
    });
    cells.filter(|(_, hash)| hash.len() == 64).collect()
}

#[test]
fn supply_every_vendored_file_has_its_documented_hash() {
    let listed = listed();
    assert!(listed.len() > 9, "only {} rows", listed.len());
    for (path, hash) in listed {
        let bytes = std::fs::read(root().join(&path)).unwrap_or_else(|_| panic!("no {path}"));
        let actual: String =
            Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(actual, hash, "{path}");
    }
}

/// Every file of the tree without build outputs and runs, relative to the root of the repository.
fn tree(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", ".git", "runs"].contains(&name.as_str()) {
            paths.extend(tree(&path));
        } else if path.is_file() && !name.starts_with(".tmp") {
            // What a test of another crate has there for a moment is none of the tree.
            paths.push(path.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    paths
}

#[test]
fn supply_every_third_party_file_is_documented() {
    let listed: BTreeSet<String> = listed().into_iter().map(|(path, _)| path).collect();
    // Our own kinds of file, including the recorded binary ones: samples and images.
    let own_kinds =
        ["rs", "toml", "md", "html", "css", "snap", "json", "csv", "fio", "parquet", "png"];
    for path in tree(&root()) {
        let is_third_party = ["/vendor/", "/captured/"].iter().any(|part| path.contains(part));
        let bytes = std::fs::read(root().join(&path)).unwrap();
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_text = !bytes.contains(&0) && bytes.is_ascii();
        // An object beside its source, which a test of `bpf` compiles again.
        let is_object = path.ends_with(".bpf.o") && root().join(&path).with_extension("c").exists();
        let own = !is_third_party && (own_kinds.contains(&extension) || is_text || is_object);
        let is_readme = path.ends_with("/vendor/README.md");
        assert!(own || is_readme || listed.contains(&path), "{path} has no row");
    }
}

#[test]
fn supply_every_crate_comes_from_the_registry_with_a_checksum() {
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
    let locked = ["Cargo.lock", "loadgen/Cargo.lock"].map(parsed);
    for package in locked.iter().flat_map(|file| file["package"].as_array().unwrap()) {
        let name = package["name"].as_str().unwrap();
        match package.get("source").and_then(Value::as_str) {
            None => assert!(name.starts_with("assay-"), "{name} comes from a path"),
            Some(source) => {
                let checksum = package.get("checksum").and_then(Value::as_str).unwrap_or_default();
                assert_eq!(source, REGISTRY, "{name}");
                assert_eq!(checksum.len(), 64, "{name} has no checksum");
            }
        }
    }
}

/// An ignored advisory is documented with its reason.
#[test]
fn supply_every_ignored_advisory_is_documented() {
    let (settings, text) = (parsed("deny.toml"), read("docs/supply-chain.md"));
    for one in settings["advisories"]["ignore"].as_array().unwrap() {
        let id = one["id"].as_str().unwrap();
        assert!(text.contains(id), "docs/supply-chain.md does not name {id}");
        assert!(one["reason"].as_str().is_some_and(|reason| reason.len() > 20), "{id}: no reason");
    }
}
