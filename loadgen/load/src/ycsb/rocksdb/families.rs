//! Names of column families: those of the data directory, and the file `CF_NAMES` in which the Java
//! binding keeps them.

use std::io;
use std::path::Path;

use super::ffi::Api;
use crate::input;

const FILE: &str = "CF_NAMES";
/// The family that every database has.
pub(super) const DEFAULT: &str = "default";

/// The families of a directory: those of `CF_NAMES`, and those known to RocksDB, which a killed run
/// may not have recorded. Empty if there is no database yet.
pub(super) fn list(api: &'static Api, directory: &Path) -> Vec<String> {
    let written = input::text(&directory.join(FILE), input::MAX_BYTES).unwrap_or_default();
    // A directory without a database is not an error here: opening it reports that.
    let known = api.list_families(directory).unwrap_or_default();
    // The Java binding adds `default` again each time it closes.
    let mut names: Vec<String> = Vec::new();
    for name in known.into_iter().chain(written.lines().map(str::to_owned)) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Writes `CF_NAMES` atomically.
pub(super) fn write(directory: &Path, names: &[String]) -> io::Result<()> {
    let others = names.iter().filter(|name| *name != DEFAULT);
    let text: String = std::iter::once(DEFAULT)
        .chain(others.map(String::as_str))
        .map(|name| format!("{name}\n"))
        .collect();
    let new = directory.join("CF_NAMES.new");
    std::fs::write(&new, text)?;
    std::fs::rename(new, directory.join(FILE))
}
