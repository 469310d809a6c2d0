//! Rules for the manifests of crates.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::tree::{crate_of, files, root, shown};

fn workspace() -> Table {
    std::fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap()
}

/// Manifests of all crates, with their paths.
fn crates() -> Vec<(std::path::PathBuf, Table)> {
    files(&root().join("crates"), "toml")
        .into_iter()
        .filter(|path| path.file_name().unwrap() == "Cargo.toml")
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text.parse().unwrap())
        })
        .collect()
}

#[test]
fn versions_are_in_the_workspace_manifest_only() {
    for (path, manifest) in crates() {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(Value::Table(dependencies)) = manifest.get(kind) else { continue };
            for (name, spec) in dependencies {
                assert!(
                    spec.get("workspace").is_some_and(|inherits| inherits.as_bool() == Some(true)),
                    "{}: `{name}` does not inherit from the workspace",
                    shown(&path)
                );
            }
        }
    }
}

#[test]
fn every_crate_inherits_the_lints_of_the_workspace() {
    for (path, manifest) in crates() {
        let inherits = manifest["lints"]["workspace"].as_bool();
        assert_eq!(inherits, Some(true), "{}", shown(&path));
    }
}

#[test]
fn default_features_are_off() {
    for (name, spec) in workspace()["workspace"]["dependencies"].as_table().unwrap() {
        if spec.get("path").is_none() {
            let off = spec.get("default-features").and_then(Value::as_bool) == Some(false);
            assert!(off, "`{name}` has its default features on");
        }
    }
}

#[test]
fn every_dependency_is_used_and_documented() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let used: BTreeSet<String> = crates()
        .iter()
        .flat_map(|(_, manifest)| {
            ["dependencies", "dev-dependencies"]
                .into_iter()
                .filter_map(|kind| manifest.get(kind)?.as_table())
                .flat_map(|table| table.keys().cloned())
                .collect::<Vec<_>>()
        })
        .collect();
    for (name, spec) in workspace()["workspace"]["dependencies"].as_table().unwrap() {
        assert!(used.contains(name), "`{name}` is used by no crate");
        if spec.get("path").is_none() {
            assert!(
                text.contains(&format!("| {name} |")),
                "`{name}` has no line in CONTRIBUTING.md"
            );
        }
    }
}

#[test]
fn every_crate_is_in_architecture_md() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (path, _) in crates() {
        let name = crate_of(&path);
        assert!(map.contains(&format!("`{name}`")), "`{name}` is not in ARCHITECTURE.md");
    }
}
