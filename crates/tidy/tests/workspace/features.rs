//! Dependencies that are slow to compile are compiled once, whichever crates are selected: cargo recompiles a
//! dependency for each set of features, and each selection of crates could have a different one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::tree::{root, workspaces};

/// The dependency that takes longest to compile.
const SLOW: &str = "parquet ";

/// The slow dependency and everything below it, each with its features, for this selection.
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
        if inside.is_none() && package.starts_with(SLOW) {
            inside = Some(depth);
        }
        if inside.is_some() {
            packages.insert(package.to_owned());
        }
    }
    packages
}

#[test]
fn parquet_is_compiled_once_whichever_crate_is_tested() {
    let all = below(&["--workspace"]);
    assert!(all.len() > 20, "{all:?}");
    // The smallest sets of features, sets with little in common, and the largest.
    for package in ["record", "judge", "study", "report", "cli"] {
        let own = below(&["--package", &format!("assay-{package}")]);
        let differ: Vec<_> = own.difference(&all).collect();
        assert!(!own.is_empty(), "assay-{package} no longer uses parquet");
        assert!(differ.is_empty(), "assay-{package} recompiles parquet: {differ:?}");
    }
}

/// The third-party packages of a workspace, each with its features.
fn third_party(workspace: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--workspace", "--prefix", "none", "--format", "{p} [{f}]"])
        .args(["--edges", "normal,build,dev"])
        .current_dir(workspace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
    lines.filter(|line| !line.starts_with("assay-")).collect()
}

/// The product's build has compiled them already when `make test` builds the load generators. num-complex takes a
/// second, and the features that pulp needs of it would bring bytemuck into the product.
#[test]
fn the_load_generators_recompile_no_dependency_of_the_product() {
    let [product, generators] = workspaces().map(|folder| third_party(&folder));
    let name = |line: &String| line.split(' ').next().unwrap().to_owned();
    let names: BTreeSet<String> = product.iter().map(name).collect();
    let twice = generators.difference(&product).filter(|line| names.contains(&name(line)));
    let twice: Vec<_> = twice.filter(|line| !line.starts_with("num-complex ")).collect();
    assert!(twice.is_empty(), "name these features in loadgen/load/Cargo.toml: {twice:?}");
}
