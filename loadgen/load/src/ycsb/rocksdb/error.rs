//! Errors of RocksDB and their remedies. RocksDB reports only text, so that errors are
//! distinguished by their text.

use std::path::Path;

use crate::failure::Failure;

/// The attempted action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Open,
    WriteNames,
    Reading,
}

impl Action {
    fn words(self) -> &'static str {
        match self {
            Self::Create => "create the data directory",
            Self::Open => "open the data directory",
            Self::WriteNames => "write CF_NAMES in",
            Self::Reading => "read",
        }
    }
}

/// The failure for an error text.
pub(super) fn wrong(action: Action, path: &Path, text: &str) -> Failure {
    Failure::Unable {
        what: format!("cannot {} {}: {text}", action.words(), path.display()),
        remedy: remedy(text).to_owned(),
    }
}

/// The remedy for an error text.
pub(in crate::ycsb) fn remedy(text: &str) -> &'static str {
    let has = |part: &str| text.contains(part);
    if has("No space left on device") || has("Disk quota exceeded") {
        "the disk is full: free space, or load fewer or smaller records (1000000 of the default \
         size need 1.2 GB, and as much again while they are compacted)"
    } else if has("lock") || has("LOCK") {
        "another process has the directory open: wait for it, or choose another `rocksdb.dir`"
    } else if has("Permission denied") || has("Read-only file system") {
        "choose a `rocksdb.dir` that this user may write to"
    } else if has("Too many open files") {
        "RocksDB keeps every table open: raise `ulimit -n`"
    } else if has("Corruption") || has("checksum") || has("version") {
        "the directory is damaged, or was written by a newer RocksDB: load it again into an empty \
         one"
    } else if has("o such file") {
        "check the path"
    } else {
        "see the file LOG in the data directory"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_use_and_a_full_disk_have_their_remedies() {
        let refused = |text| wrong(Action::Open, Path::new("/d"), text).to_string();
        let lock = "IO error: While lock file: /d/LOCK: Resource temporarily unavailable";
        assert!(refused(lock).contains("another process has the directory open"));
        let full = "IO error: No space left on device: While appending to file: /d/000004.log";
        assert!(refused(full).contains("hint: the disk is full"));
    }
}
