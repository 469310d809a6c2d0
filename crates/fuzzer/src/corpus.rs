//! Corpora: files of this repository of the kinds that readers encounter.

use std::path::{Path, PathBuf};

use assay_sys::files::Dir;

/// Longer files are truncated to this length.
const LONGEST: usize = 1 << 16;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The contents of all files that match these patterns with this ending; `*` stands for any directory.
pub(crate) fn load(patterns: &[&str], ending: &str) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for pattern in patterns {
        let mut paths = vec![root()];
        for part in pattern.split('/') {
            paths = paths.iter().flat_map(|path| entries(path, part)).collect();
        }
        files.extend(paths.into_iter().flat_map(|path| match path.is_dir() {
            true => entries(&path, "*"),
            false => vec![path],
        }));
    }
    let whole = |path: PathBuf| {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let mut bytes = Dir::open(folder).ok()?.bytes(name, 1 << 24).ok()?;
        bytes.truncate(LONGEST);
        Some(bytes)
    };
    files.retain(|path| path.to_string_lossy().ends_with(ending));
    files.into_iter().filter_map(whole).collect()
}

fn entries(path: &Path, part: &str) -> Vec<PathBuf> {
    if part != "*" {
        return vec![path.join(part)];
    }
    let names = Dir::open(path).and_then(|dir| dir.names()).unwrap_or_default();
    names.into_iter().map(|name| path.join(name)).collect()
}
