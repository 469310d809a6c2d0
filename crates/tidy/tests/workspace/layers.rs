//! Crates depend on lower layers only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tree::root;

/// The crates from the lowest layer up. A crate may only use those that precede it in this list.
const LAYERS: [&str; 22] = [
    "sys",
    "fuzzer",
    "stats",
    "bpf",
    "host",
    "test-support",
    "blame",
    "record",
    "study",
    "judge",
    "report",
    "run",
    "cause",
    "audit",
    "lab",
    "conform",
    "live",
    "fleet",
    "cli",
    "fuzz",
    "bench",
    "tidy",
];

/// Crates of the product: at most this many.
const MOST_CRATES: usize = 17;

/// The crates that each crate of a workspace depends on, without dev-dependencies.
fn dependencies(workspace: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace)
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let short =
        |name: &serde_json::Value| name.as_str().unwrap().strip_prefix("assay-").map(str::to_owned);
    let mut crates = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let dependencies = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| short(&dependency["name"]))
            .collect();
        crates.insert(short(&package["name"]).unwrap(), dependencies);
    }
    crates
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let layer = |name: &str| LAYERS.iter().position(|other| *other == name);
    for (name, dependencies) in dependencies(&root()) {
        if name == "tidy" {
            continue;
        }
        let own = layer(&name).unwrap_or_else(|| panic!("`{name}` is missing in LAYERS"));
        for used in dependencies {
            assert!(
                layer(&used).is_some_and(|other| other < own),
                "`{name}` must not use `{used}`, which is not in a lower layer"
            );
        }
    }
}

#[test]
fn the_product_has_few_crates() {
    let beside = ["fuzzer", "test-support", "fuzz", "bench", "tidy"];
    let product: Vec<_> = LAYERS.iter().filter(|name| !beside.contains(name)).collect();
    assert!(product.len() <= MOST_CRATES, "{product:?}");
}

#[test]
fn the_load_generators_depend_on_sys_only() {
    let crates = dependencies(&root().join("loadgen"));
    let allowed: BTreeSet<String> = ["sys", "load-memory"].map(str::to_owned).into();
    for name in ["load", "load-memory"] {
        let used = &crates[name];
        assert!(
            used.is_subset(&allowed),
            "generators are used without the rest of Assay: {used:?}"
        );
    }
}

/// The product starts `assay-load` and is built without it. That also holds for its tests.
#[test]
fn no_crate_of_the_product_depends_on_the_load_generators() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    assert!(lock.contains("\"assay-sys\"") && !lock.contains("\"assay-load"), "{lock}");
}
