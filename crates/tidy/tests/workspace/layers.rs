//! Crates depend on lower layers only, and pure crates stay pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::root;

/// The crates from the lowest layer up. A crate may only use those that precede it in this list.
const LAYERS: [&str; 33] = [
    "units",
    "escape",
    "files",
    "diagnostic",
    "facts",
    "knob",
    "kernel",
    "load",
    "run-folder",
    "stats",
    "verdict",
    "workload",
    "study",
    "plan",
    "host",
    "test-support",
    "cgroup",
    "exec",
    "conformance",
    "sample",
    "runner",
    "judge",
    "compare",
    "intervention",
    "predict",
    "report",
    "export",
    "lab",
    "fleet",
    "session",
    "cli",
    "fuzz",
    "bench",
];

/// Crates that perform no I/O on the host, including everything they depend on.
pub(crate) const PURE: [&str; 15] = [
    "units",
    "escape",
    "diagnostic",
    "facts",
    "knob",
    "stats",
    "verdict",
    "study",
    "workload",
    "plan",
    "judge",
    "compare",
    "intervention",
    "predict",
    "report",
];

/// Crates that access the host.
const ACCESS_THE_HOST: [&str; 11] = [
    "kernel",
    "host",
    "test-support",
    "cgroup",
    "exec",
    "conformance",
    "sample",
    "runner",
    "lab",
    "fleet",
    "session",
];

/// The workspace's crates that each crate depends on, without dev-dependencies.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
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
    for (name, dependencies) in dependencies() {
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
fn pure_crates_depend_on_no_crate_that_accesses_the_host() {
    let crates = dependencies();
    for pure in PURE {
        let mut reached = BTreeSet::from([pure.to_owned()]);
        let mut frontier = vec![pure.to_owned()];
        while let Some(name) = frontier.pop() {
            for used in &crates[&name] {
                if reached.insert(used.clone()) {
                    frontier.push(used.clone());
                }
            }
        }
        for forbidden in ACCESS_THE_HOST {
            assert!(!reached.contains(forbidden), "`{pure}` depends on `{forbidden}`");
        }
    }
}

#[test]
fn the_load_generators_depend_on_units_and_kernel_only() {
    let crates = dependencies();
    let allowed: BTreeSet<String> = ["units", "kernel"].map(str::to_owned).into();
    assert!(
        crates["load"].is_subset(&allowed),
        "generators are used without the rest of Assay: {:?}",
        crates["load"]
    );
}
