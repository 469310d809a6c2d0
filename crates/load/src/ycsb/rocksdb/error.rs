//! Errors of RocksDB with what a user can do about them. RocksDB reports text alone, so that the
//! text has to tell one from the other.

use std::path::Path;

use crate::failure::Failure;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Making,
    Opening,
    Naming,
    Reading,
}

impl Doing {
    fn words(self) -> &'static str {
        match self {
            Self::Making => "make the data directory",
            Self::Opening => "open the data directory",
            Self::Naming => "write CF_NAMES in",
            Self::Reading => "read",
        }
    }
}

/// The failure for an error text.
pub(super) fn wrong(doing: Doing, path: &Path, text: &str) -> Failure {
    Failure::Unable {
        what: format!("cannot {} {}: {text}", doing.words(), path.display()),
        remedy: remedy(text).to_owned(),
    }
}

/// What can be done about an error text.
pub(in crate::ycsb) fn remedy(text: &str) -> &'static str {
    let has = |part: &str| text.contains(part);
    if has("No space left on device") || has("Disk quota exceeded") {
        "the disk is full: free space, or load fewer or smaller records (1000000 of the default \
         size need 1.2 GB, and as much again while they are compacted)"
    } else if has("lock") || has("LOCK") {
        "another process has the directory open: wait for it, or name another `rocksdb.dir`"
    } else if has("Permission denied") || has("Read-only file system") {
        "choose a `rocksdb.dir` that this user may write"
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
        let refused = |text| wrong(Doing::Opening, Path::new("/d"), text).to_string();
        let lock = "IO error: While lock file: /d/LOCK: Resource temporarily unavailable";
        assert!(refused(lock).contains("another process has the directory open"));
        let full = "IO error: No space left on device: While appending to file: /d/000004.log";
        assert!(refused(full).contains("hint: the disk is full"));
    }
}
