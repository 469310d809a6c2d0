//! The files of the workspace.

use std::path::{Path, PathBuf};

/// The root of the workspace.
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

/// The path relative to the root of the workspace.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The crate that a source file belongs to, by its directory.
pub(crate) fn crate_of(path: &Path) -> String {
    let crates = root().join("crates");
    let below = path.strip_prefix(crates).unwrap();
    below.components().next().unwrap().as_os_str().to_string_lossy().into_owned()
}

/// Whether the file is a test or an example rather than part of the program.
pub(crate) fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let name = path.file_stem().unwrap().to_string_lossy();
    text.contains("/tests/")
        || text.contains("/examples/")
        || name.ends_with("tests")
        || name == "crash_injector"
}

/// The program's part of a source file: the text before its tests.
pub(crate) fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}
