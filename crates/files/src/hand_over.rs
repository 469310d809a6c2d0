//! A folder of the user who called sudo, while root works in it and afterwards.
//!
//! As long as root starts what lies in a folder, nobody else may change it: it is root's, and given
//! to the user when nothing in it is read or started any more.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, Dir as Listing, FileType, Mode, OFlags, Stat, chownat, fchmod, fchown, fremovexattr,
    fstat, openat,
};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use crate::dir::Dir;
use crate::error::Error;
use crate::owner::Caller;

/// Folders inside one another that are given away; what lies deeper no run of ours has made.
const DEEPEST: usize = 32;

/// Access lists, by which others could write although the mode says that they may not.
const ACCESS_LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

impl Dir {
    /// Makes it this process's own, where nobody else may write.
    pub fn take_over(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chown", self.path(), cause);
        let found = fstat(self).map_err(wrong)?;
        if found.st_uid != geteuid().as_raw() {
            fchown(self, Some(geteuid()), Some(getegid())).map_err(wrong)?;
        }
        for list in ACCESS_LISTS {
            match fremovexattr(self, list) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(cause) => return Err(wrong(cause)),
            }
        }
        fchmod(self, Mode::from_raw_mode(found.st_mode & 0o7777 & !0o022)).map_err(wrong)
    }

    /// Gives it to a user, with all in it that is this process's own; itself at last. What somebody
    /// else owns, or has another name elsewhere, stays whose it is.
    pub fn hand_over_tree(&self, to: Caller) -> Result<(), Error> {
        let wrong = |cause| Error::new("chown", self.path(), cause);
        let top = fstat(self).map_err(wrong)?;
        if top.st_uid == geteuid().as_raw() {
            give_inside(self, &top, to, 0).map_err(wrong)?;
            self.hand_over(to)?;
        }
        Ok(())
    }
}

fn give_inside(folder: impl AsFd, top: &Stat, to: Caller, depth: usize) -> rustix::io::Result<()> {
    for entry in Listing::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match openat(&folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        let what = fstat(&found)?;
        // Another file system was mounted there by somebody else.
        if what.st_uid != top.st_uid || what.st_dev != top.st_dev {
            continue;
        }
        match FileType::from_raw_mode(what.st_mode) {
            FileType::Directory if depth < DEEPEST => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let inner: OwnedFd = openat(&found, ".", flags, Mode::empty())?;
                give_inside(&inner, top, to, depth + 1)?;
            }
            FileType::Symlink => {}
            FileType::RegularFile | FileType::Fifo if what.st_nlink == 1 => {}
            _ => continue,
        }
        chownat(&found, "", Some(to.user()), Some(to.group()), AtFlags::EMPTY_PATH)?;
    }
    Ok(())
}
