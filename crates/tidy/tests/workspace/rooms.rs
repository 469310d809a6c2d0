//! Dependencies run downwards only, and the pure rooms stay pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::root;

/// The rooms from the ground up. A room may use those above it in this list and no others.
const FLOORS: [&str; 29] = [
    "units",
    "escape",
    "files",
    "diagnostic",
    "facts",
    "knob",
    "kernel",
    "load",
    "record",
    "workload",
    "study",
    "plan",
    "host",
    "testbed",
    "cgroup",
    "exec",
    "conform",
    "sample",
    "engine",
    "judge",
    "intervention",
    "model",
    "report",
    "share",
    "lab",
    "fleet",
    "cli",
    "fuzz",
    "bench",
];

/// Rooms that perform no I/O on the host, with everything they use.
pub(crate) const PURE: [&str; 12] = [
    "units",
    "escape",
    "diagnostic",
    "facts",
    "knob",
    "study",
    "workload",
    "plan",
    "judge",
    "intervention",
    "model",
    "report",
];

/// Rooms that touch the host.
const TOUCHES_THE_HOST: [&str; 10] =
    ["kernel", "host", "testbed", "cgroup", "exec", "conform", "sample", "engine", "lab", "fleet"];

/// Own dependencies of each room, those for tests left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let room =
        |name: &serde_json::Value| name.as_str().unwrap().strip_prefix("assay-").map(str::to_owned);
    let mut rooms = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let uses = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| room(&dependency["name"]))
            .collect();
        rooms.insert(room(&package["name"]).unwrap(), uses);
    }
    rooms
}

#[test]
fn dependencies_run_downwards_only() {
    let floor = |room: &str| FLOORS.iter().position(|known| *known == room);
    for (room, uses) in dependencies() {
        if room == "house" {
            continue;
        }
        let own = floor(&room).unwrap_or_else(|| panic!("`{room}` has no place in FLOORS"));
        for used in uses {
            assert!(
                floor(&used).is_some_and(|below| below < own),
                "`{room}` must not use `{used}`, which is not below it"
            );
        }
    }
}

#[test]
fn the_pure_rooms_reach_no_room_that_touches_the_host() {
    let rooms = dependencies();
    for pure in PURE {
        let mut reached = BTreeSet::from([pure.to_owned()]);
        let mut frontier = vec![pure.to_owned()];
        while let Some(room) = frontier.pop() {
            for used in &rooms[&room] {
                if reached.insert(used.clone()) {
                    frontier.push(used.clone());
                }
            }
        }
        for forbidden in TOUCHES_THE_HOST {
            assert!(!reached.contains(forbidden), "`{pure}` reaches `{forbidden}`");
        }
    }
}

#[test]
fn the_load_generators_stand_on_units_and_kernel_alone() {
    let rooms = dependencies();
    let may: BTreeSet<String> = ["units", "kernel"].map(str::to_owned).into();
    assert!(
        rooms["load"].is_subset(&may),
        "a generator is used without Assay: {:?}",
        rooms["load"]
    );
}
