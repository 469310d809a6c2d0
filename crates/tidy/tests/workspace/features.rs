//! Dependencies that are slow to compile are compiled once, whichever crates are selected: cargo recompiles a
//! dependency for each set of features, and each selection of crates could have a different one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::tree::{root, workspaces};

/// The dependency that takes longest to compile.
const SLOW: &str = "parquet ";

/// What `cargo tree` prints of a workspace with every kind of dependency.
fn tree(workspace: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal,build,dev"])
        .args(words)
        .current_dir(workspace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The third-party packages of a selection, each with its features.
fn third_party(workspace: &Path, selection: &[&str]) -> BTreeSet<String> {
    let text =
        tree(workspace, &[selection, &["--prefix", "none", "--format", "{p} [{f}]"]].concat());
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
    lines.filter(|line| !line.starts_with("assay-")).collect()
}

/// The slow dependency and everything below it, each with its features, for this package.
fn below(package: &str) -> BTreeSet<String> {
    let words = ["--package", package, "--no-dedupe", "--prefix", "depth"];
    let text = tree(&root(), &[&words[..], &["--format", " {p} [{f}]"]].concat());
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
    let all = third_party(&root(), &["--workspace"]);
    // The smallest sets of features, sets with little in common, and the largest.
    for package in ["record", "judge", "study", "report", "cli"] {
        let own = below(&format!("assay-{package}"));
        let differ: Vec<_> = own.difference(&all).collect();
        assert!(own.len() > 20, "assay-{package} no longer uses parquet: {own:?}");
        assert!(differ.is_empty(), "assay-{package} recompiles parquet: {differ:?}");
    }
}

/// The product's build has compiled them already when `make test` builds the load generators. num-complex takes a
/// second, and the features that pulp needs of it would bring bytemuck into the product.
#[test]
fn the_load_generators_recompile_no_dependency_of_the_product() {
    let [product, generators] = workspaces().map(|folder| third_party(&folder, &["--workspace"]));
    let name = |line: &String| line.split(' ').next().unwrap().to_owned();
    let names: BTreeSet<String> = product.iter().map(name).collect();
    let twice = generators.difference(&product).filter(|line| names.contains(&name(line)));
    let twice: Vec<_> = twice.filter(|line| !line.starts_with("num-complex ")).collect();
    assert!(twice.is_empty(), "name these features in loadgen/load/Cargo.toml: {twice:?}");
}
