//! What is slow to compile is compiled once, whichever crates are asked for together: cargo compiles a dependency anew
//! for each set of features, and each selection of crates would have its own.

use std::collections::BTreeSet;
use std::process::Command;

use crate::tree::root;

/// What takes longest of all dependencies.
const SLOW: [&str; 3] = ["arrow-array ", "arrow-ipc ", "parquet "];

/// Every dependency below the slow ones, and they themselves, each with its features, for this selection.
fn below(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--no-dedupe", "--prefix", "depth"])
        .args(["--edges", "normal,build,dev", "--format", " {p} [{f}]"])
        .args(selection)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found = BTreeSet::new();
    // The depth of the slow one that the lines stand below.
    let mut inside: Option<usize> = None;
    for (depth, package) in text.lines().filter_map(|line| line.split_once(' ')) {
        let Ok(depth) = depth.parse() else { continue };
        inside = inside.filter(|top| depth > *top);
        if inside.is_none() && SLOW.iter().any(|slow| package.starts_with(slow)) {
            inside = Some(depth);
        }
        if inside.is_some() {
            found.insert(package.to_owned());
        }
    }
    found
}

#[test]
fn arrow_and_parquet_are_compiled_once_whichever_crate_is_tested() {
    let all = below(&["--workspace"]);
    assert!(all.len() > 20, "{all:?}");
    // The smallest sets of features, those that share little with each other, and the largest.
    for package in ["record", "judge", "study", "share", "model", "cli"] {
        let own = below(&["--package", &format!("assay-{package}")]);
        let differ: Vec<_> = own.difference(&all).collect();
        assert!(!own.is_empty(), "assay-{package} uses no arrow any more");
        assert!(differ.is_empty(), "assay-{package} compiles arrow again: {differ:?}");
    }
}
