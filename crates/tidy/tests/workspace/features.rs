//! Dependencies that are slow to compile are compiled once, whichever crates are selected: cargo recompiles a
//! dependency for each set of features, and each selection of crates could have a different one.

use std::collections::BTreeSet;
use std::process::Command;

use crate::tree::root;

/// The dependencies that take longest to compile.
const SLOW: [&str; 3] = ["arrow-array ", "arrow-ipc ", "parquet "];

/// The slow dependencies and everything below them, each with its features, for this selection.
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
    let mut packages = BTreeSet::new();
    // The depth of the slow dependency that the current line is below.
    let mut inside: Option<usize> = None;
    for (depth, package) in text.lines().filter_map(|line| line.split_once(' ')) {
        let Ok(depth) = depth.parse() else { continue };
        inside = inside.filter(|top| depth > *top);
        if inside.is_none() && SLOW.iter().any(|slow| package.starts_with(slow)) {
            inside = Some(depth);
        }
        if inside.is_some() {
            packages.insert(package.to_owned());
        }
    }
    packages
}

#[test]
fn arrow_and_parquet_are_compiled_once_whichever_crate_is_tested() {
    let all = below(&["--workspace"]);
    assert!(all.len() > 20, "{all:?}");
    // The smallest sets of features, sets with little in common, and the largest.
    for package in ["run-folder", "judge", "study", "export", "predict", "cli"] {
        let own = below(&["--package", &format!("assay-{package}")]);
        let differ: Vec<_> = own.difference(&all).collect();
        assert!(!own.is_empty(), "assay-{package} no longer uses arrow");
        assert!(differ.is_empty(), "assay-{package} recompiles arrow: {differ:?}");
    }
}
