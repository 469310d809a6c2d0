//! A tree of files that stands for a host, below a `Root` of its own.

use std::fs;
use std::path::Path;

/// Writes a file at `path` below `tree`, with the folders above it; one that is there is replaced.
pub fn put(tree: &Path, path: &str, text: &str) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
