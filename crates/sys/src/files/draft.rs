//! A file that appears under its name only once it is complete.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, Stat, Uid, fchmod, fchown, fstat, fsync, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::files::dir::{Dir, unguessable};
use crate::files::error::Error;
use crate::files::identity::Identity;

/// A file being written under a random name. [`Draft::commit`] renames it; otherwise it is removed when
/// dropped.
#[derive(Debug)]
pub struct Draft {
    file: File,
    above: OwnedFd,
    /// Its temporary name.
    draft: OsString,
    name: OsString,
    path: PathBuf,
    committed: bool,
}

impl Draft {
    pub(crate) fn begin(
        dir: &Dir,
        above: OwnedFd,
        name: OsString,
        path: PathBuf,
    ) -> Result<Self, Error> {
        const TRIES: usize = 8;
        let mut cause = Errno::EXIST;
        for _ in 0..TRIES {
            let draft = unguessable(&name);
            match dir.create_in(&above, &draft) {
                Ok(file) => {
                    return Ok(Self { file, above, draft, name, path, committed: false });
                }
                Err(errno) => cause = errno,
            }
            if cause != Errno::EXIST {
                break;
            }
        }
        Err(Error::new("write", &path, cause))
    }

    /// Its final path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the permissions of the file that it will replace and, where root may, its owner.
    pub(crate) fn resemble(&self, old: &Stat) -> Result<(), Error> {
        let wrong = |cause| Error::new("chmod", &self.path, cause);
        if fstat(&self.file).map_err(wrong)?.st_uid != old.st_uid {
            let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            fchown(&self.file, Some(user), Some(group)).map_err(wrong)?;
        }
        fchmod(&self.file, Mode::from_raw_mode(old.st_mode & 0o777)).map_err(wrong)
    }

    /// Renames the file, and returns once it is on disk.
    pub fn commit(mut self) -> Result<(), Error> {
        let wrong = |cause: io::Error| Error::new("write", &self.path, cause);
        self.file.sync_all().map_err(wrong)?;
        if !self.is_mine() {
            return Err(Error::refused(
                "write",
                &self.path,
                "its draft was replaced by someone else",
            ));
        }
        renameat(&self.above, &self.draft, &self.above, &self.name)
            .map_err(|cause| wrong(cause.into()))?;
        self.committed = true;
        fsync(&self.above).map_err(|cause| wrong(cause.into()))
    }

    /// Whether the temporary name still refers to the file that was created.
    fn is_mine(&self) -> bool {
        let named = statat(&self.above, &self.draft, AtFlags::SYMLINK_NOFOLLOW);
        named.ok().map(|stat| Identity::from(&stat)) == Identity::from_fd(self.file.as_fd()).ok()
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    /// An abandoned draft would only fill a full disk further.
    fn drop(&mut self) {
        if !self.committed && self.is_mine() {
            let _ = unlinkat(&self.above, &self.draft, AtFlags::empty());
        }
    }
}

impl Dir {
    /// Begins a file that replaces `name` once it is complete.
    pub fn draft(&self, name: impl AsRef<Path>) -> Result<Draft, Error> {
        let whole = self.path().join(name.as_ref());
        let (above, name) = self.above("write", name.as_ref())?;
        Draft::begin(self, above, name.to_owned(), whole)
    }

    /// Replaces a whole file: readers see the old bytes or the new ones, never a mixture, and after a
    /// crash one of the two exists.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
        let mut draft = self.draft(name.as_ref())?;
        let whole = self.path().join(name.as_ref());
        draft.write_all(bytes).map_err(|cause| Error::new("write", &whole, cause))?;
        draft.commit()
    }
}
