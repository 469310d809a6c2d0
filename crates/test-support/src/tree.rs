//! A file tree that acts as a host, below a `Root`.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes a file at `path` below `tree` and creates its parent folders; an existing file is replaced.
pub fn put(tree: &Path, path: &str, text: &str) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Contents of a directory, in order; empty if it does not exist.
#[must_use]
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(directory) else { return Vec::new() };
    // A device may disappear between listing and reading.
    let mut paths: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}
