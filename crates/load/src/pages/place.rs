//! The file: where it is, how it is opened, and that it goes away.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::failure::Failure;

/// How the file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// through the page cache
    Buffered,
    /// past it (O_DIRECT)
    Direct,
    /// through it, and each write waits for the disk (O_SYNC)
    Synchronous,
}

impl Way {
    /// Flags beside those for reading and writing.
    fn flags(self) -> i32 {
        let flags = match self {
            Self::Buffered => OFlags::empty(),
            Self::Direct => OFlags::DIRECT,
            Self::Synchronous => OFlags::SYNC,
        };
        flags.bits().cast_signed()
    }
}

/// A file of our own, removed when this goes away.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
}

impl Place {
    /// Makes an empty file in a directory.
    pub(super) fn in_directory(directory: &Path) -> Result<Self, Failure> {
        let path = directory.join(format!("assay-pages-{}", std::process::id()));
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.map_err(|cause| Failure::Unable {
            what: format!("cannot make {}: {cause}", path.display()),
            remedy: "name a --directory that this user may write to".to_owned(),
        })?;
        Ok(Self { path })
    }

    /// Opens it for reading and writing.
    pub(super) fn open(&self, way: Way) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).custom_flags(way.flags()).open(&self.path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It is gone already where somebody else has cleared the directory.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What has failed while the load ran, with what to look at.
pub(super) fn ended(what: &str, path: &Path, cause: &io::Error) -> Failure {
    let remedy = match cause.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOSPC) => "the disk is full: choose a smaller --size",
        Some(rustix::io::Errno::DQUOT) => "the quota is used up: choose a smaller --size",
        _ => "look at the disk (dmesg)",
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
    fn the_file_goes_away_with_its_place_and_is_never_one_that_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::in_directory(directory.path()).unwrap();
        let path = place.path.clone();
        assert!(path.is_file());
        let failure = Place::in_directory(directory.path()).unwrap_err();
        assert_eq!(failure.exit_code(), 4, "{failure}");
        drop(place);
        assert!(!path.exists());
    }

    #[test]
    fn a_full_disk_is_said() {
        let cause = io::Error::from_raw_os_error(28);
        let failure = ended("write", Path::new("/x"), &cause);
        assert!(failure.to_string().contains("the disk is full"), "{failure}");
        assert_eq!(failure.exit_code(), 5);
    }
}
