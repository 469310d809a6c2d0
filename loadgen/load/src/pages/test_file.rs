//! The file: creation, open modes, and removal.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::failure::Failure;

/// How the file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// through the page cache
    Buffered,
    /// bypassing it (O_DIRECT)
    Direct,
    /// through it, and each write waits for the disk (O_SYNC)
    Synchronous,
}

impl OpenMode {
    /// Flags besides those for reading and writing.
    fn flags(self) -> i32 {
        let flags = match self {
            Self::Buffered => OFlags::empty(),
            Self::Direct => OFlags::DIRECT,
            Self::Synchronous => OFlags::SYNC,
        };
        flags.bits().cast_signed()
    }
}

/// The file of a run, removed when dropped.
#[derive(Debug)]
pub(super) struct TestFile {
    pub(super) path: PathBuf,
}

impl TestFile {
    /// Creates an empty file in a directory.
    pub(super) fn in_directory(directory: &Path) -> Result<Self, Failure> {
        let path = directory.join(format!("assay-pages-{}", std::process::id()));
        let created = OpenOptions::new().write(true).create_new(true).open(&path);
        created.map_err(|cause| Failure::Unable {
            what: format!("cannot create {}: {cause}", path.display()),
            remedy: "choose a --directory that this user may write to".to_owned(),
        })?;
        Ok(Self { path })
    }

    /// Opens it for reading and writing.
    pub(super) fn open(&self, mode: OpenMode) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).custom_flags(mode.flags()).open(&self.path)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        // Another process may have removed it already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A failed operation while the load runs, with what to check.
pub(super) fn ended(what: &str, path: &Path, cause: &io::Error) -> Failure {
    let remedy = match cause.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOSPC) => "the disk is full: choose a smaller --size",
        Some(rustix::io::Errno::DQUOT) => "the quota is used up: choose a smaller --size",
        _ => "check the disk (dmesg)",
    };
    Failure::Ended {
        what: format!("cannot {what} {}: {cause}", path.display()),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_removed_on_drop_and_an_existing_one_is_never_used() {
        let directory = tempfile::tempdir().unwrap();
        let test_file = TestFile::in_directory(directory.path()).unwrap();
        let path = test_file.path.clone();
        assert!(path.is_file());
        let failure = TestFile::in_directory(directory.path()).unwrap_err();
        assert_eq!(failure.exit_code(), 4, "{failure}");
        drop(test_file);
        assert!(!path.exists());
    }

    #[test]
    fn a_full_disk_is_reported() {
        let cause = io::Error::from_raw_os_error(28);
        let failure = ended("write", Path::new("/x"), &cause);
        assert!(failure.to_string().contains("the disk is full"), "{failure}");
        assert_eq!(failure.exit_code(), 5);
    }
}
