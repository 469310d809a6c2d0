//! A file tree that acts as a host, below a `Root`.

use std::fs;
use std::path::Path;

/// Writes a file at `path` below `tree` and creates its parent folders; an existing file is replaced.
pub fn put(tree: &Path, path: &str, text: &str) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
