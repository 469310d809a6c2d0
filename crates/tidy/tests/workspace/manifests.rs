//! Rules for the manifests of crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use crate::tree::{crate_of, manifests, root, shown, workspaces};

fn parsed(path: &Path) -> Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Manifests of all crates, with their paths.
fn crates() -> Vec<(std::path::PathBuf, Table)> {
    let with_content = |path: std::path::PathBuf| {
        let manifest = parsed(&path);
        (path, manifest)
    };
    manifests().into_iter().map(with_content).collect()
}

/// The dependencies that a workspace names, with their versions.
fn dependencies(workspace: &Path) -> Table {
    let manifest = parsed(&workspace.join("Cargo.toml"));
    manifest["workspace"]["dependencies"].as_table().unwrap().clone()
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
    for (name, spec) in workspaces().iter().flat_map(|folder| dependencies(folder)) {
        if spec.get("path").is_none() {
            let off = spec.get("default-features").and_then(Value::as_bool) == Some(false);
            assert!(off, "`{name}` has its default features on");
        }
    }
}

#[test]
fn every_dependency_is_used_and_documented() {
    let text = std::fs::read_to_string(root().join("docs/supply-chain.md")).unwrap();
    for workspace in workspaces() {
        let used = used_in(&workspace);
        for (name, spec) in dependencies(&workspace) {
            assert!(used.contains(&name), "`{name}` is used by no crate");
            if spec.get("path").is_none() {
                let row = format!("| {name} |");
                assert!(text.contains(&row), "`{name}` has no line in docs/supply-chain.md");
            }
        }
    }
}

/// What the crates of a workspace depend on.
fn used_in(workspace: &Path) -> BTreeSet<String> {
    let is_member = |path: &Path| path.starts_with(root().join("loadgen")) == (workspace != root());
    let members = crates().into_iter().filter(|(path, _)| is_member(path));
    let tables = members.flat_map(|(_, manifest)| {
        let kinds = ["dependencies", "dev-dependencies"];
        kinds.into_iter().filter_map(move |kind| manifest.get(kind)?.as_table().cloned())
    });
    tables.flat_map(|table| table.keys().cloned().collect::<Vec<_>>()).collect()
}

/// What two workspaces name differently is compiled twice, or held to other rules.
#[test]
fn the_load_generators_have_the_versions_lints_and_profiles_of_the_product() {
    let [product, generators] = workspaces();
    let (ours, theirs) = (dependencies(&product), dependencies(&generators));
    let mut shared = 0;
    for (name, spec) in theirs.iter().filter(|(_, spec)| spec.get("path").is_none()) {
        let Some(own) = ours.get(name) else { continue };
        assert_eq!(own.get("version"), spec.get("version"), "`{name}`");
        shared += 1;
    }
    assert!(shared > 4, "only {shared} dependencies are shared");
    let [ours, theirs] = [product, generators].map(|folder| parsed(&folder.join("Cargo.toml")));
    for key in ["lints", "package"] {
        assert_eq!(ours["workspace"][key], theirs["workspace"][key], "{key}");
    }
    for profile in ["release", "shipped"] {
        assert_eq!(ours["profile"][profile], theirs["profile"][profile], "{profile}");
    }
    let (ours, theirs) = (&ours["profile"]["dev"], &theirs["profile"]["dev"]);
    assert_eq!(ours["debug"], theirs["debug"]);
    let ours = &ours["package"];
    for (name, profile) in theirs["package"].as_table().unwrap() {
        assert!(name.starts_with("assay-") || ours.get(name) == Some(profile), "{name}");
    }
}

/// Versions of third-party packages in the lock file of a workspace.
fn locked(workspace: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let lock = parsed(&workspace.join("Cargo.lock"));
    for package in lock["package"].as_array().unwrap() {
        let text = |key: &str| package[key].as_str().unwrap().to_owned();
        versions.entry(text("name")).or_default().insert(text("version"));
    }
    versions
}

#[test]
fn what_both_workspaces_use_of_third_parties_has_the_same_version() {
    let [product, generators] = workspaces().map(|folder| locked(&folder));
    for (name, versions) in generators {
        let Some(ours) = product.get(&name) else { continue };
        assert!(
            versions.is_subset(ours),
            "{name} is {versions:?} in loadgen/Cargo.lock and {ours:?} in Cargo.lock: \
             cd loadgen && cargo update {name} --precise VERSION"
        );
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
