//! The files of the repository: of the product's workspace, and of the load generators'.

use std::path::{Path, PathBuf};

/// The folders that have the crates, one for each workspace.
const WORKSPACES: [&str; 2] = ["crates", "loadgen"];

/// Every file of a crate with this extension.
pub(crate) fn files_of_crates(extension: &str) -> Vec<PathBuf> {
    WORKSPACES.iter().flat_map(|folder| files(&root().join(folder), extension)).collect()
}

/// The manifests of all crates.
pub(crate) fn manifests() -> Vec<PathBuf> {
    let mut paths = files_of_crates("toml");
    paths.retain(|path| path.ends_with("Cargo.toml") && *path != root().join("loadgen/Cargo.toml"));
    paths
}

/// The folders with a workspace's manifest.
pub(crate) fn workspaces() -> [PathBuf; 2] {
    [root(), root().join("loadgen")]
}

/// The root of the repository, which is that of the product's workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below `folder` with this extension, without build outputs.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", ".git", "vendor", "runs"].contains(&name.as_str()) {
            paths.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// The path relative to the root of the repository.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The crate that a source file belongs to, by its directory: `judge`, `loadgen/load`.
pub(crate) fn crate_of(path: &Path) -> String {
    let shown = shown(path);
    let mut parts = shown.split('/');
    let (workspace, name) = (parts.next().unwrap(), parts.next().unwrap());
    if workspace == "crates" { name.to_owned() } else { format!("{workspace}/{name}") }
}

/// Whether the file is a test or an example rather than part of the program.
pub(crate) fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let name = path.file_stem().unwrap().to_string_lossy();
    text.contains("/tests/") || text.contains("/examples/") || name.ends_with("tests")
}

/// The program's part of a source file: the text before its tests.
pub(crate) fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}
