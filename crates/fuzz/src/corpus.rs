//! Where inputs come from: files of this repository, those that readers meet in real life.

use std::path::{Path, PathBuf};

use assay_files::Dir;

/// Files that are longer are only changed where they begin.
const LONGEST: usize = 1 << 16;

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is in all files of these places that end so; `*` stands for any directory.
pub(crate) fn load(places: &[&str], ending: &str) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for place in places {
        let mut found = vec![root()];
        for part in place.split('/') {
            found = found.iter().flat_map(|path| entries(path, part)).collect();
        }
        files.extend(found.into_iter().flat_map(|path| match path.is_dir() {
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
