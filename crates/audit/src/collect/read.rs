//! Reading files of a host, of which none has a size that is known beforehand.

use std::path::Path;
use std::str::FromStr;

use assay_host::facts::Available;
use assay_sys::kernel::{Root, counters};
use rustix::io::Errno;

use crate::snapshot::MAX_FILE;

/// A file's text.
pub fn text(root: &Root, path: impl AsRef<Path>) -> Option<String> {
    root.read_at_most(path, MAX_FILE).ok()
}

/// A file's text, or why it cannot be read; nothing if it does not exist, or belongs to a controller that this group cannot have.
pub fn present(root: &Root, path: impl AsRef<Path>) -> Option<Available<String>> {
    match root.read_at_most(path, MAX_FILE) {
        Err(error) if error.is(Errno::NOENT) || error.is(Errno::NODEV) => None,
        text => Some(text.into()),
    }
}

/// A file's text without blanks at its ends, or why there is none.
pub fn trimmed(root: &Root, path: impl AsRef<Path>) -> Available<String> {
    root.read_at_most(path, MAX_FILE).map(|text| text.trim().to_owned()).into()
}

/// The number in a file.
pub fn number<T: FromStr>(root: &Root, path: impl AsRef<Path>) -> Option<T> {
    text(root, path)?.trim().parse().ok()
}

/// The value of a line `key value`.
pub fn keyed(root: &Root, path: impl AsRef<Path>, key: &str) -> Option<u64> {
    counters::keyed(text(root, path)?.as_bytes(), key)
}

/// The number of such events, `low` or `max`, in this directory of a group: `memory.events` counts those of the groups below
/// too, where the other file exists (Linux 5.3).
pub fn own_memory_events(root: &Root, group: &Path, key: &str) -> Option<u64> {
    let own = || keyed(root, group.join("memory.events.local"), key);
    own().or_else(|| keyed(root, group.join("memory.events"), key))
}
