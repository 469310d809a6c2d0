//! Ownership of a folder of the user who called sudo, while root works in it and afterwards.
//!
//! While root starts programs from a folder, nobody else may change it: it belongs to root, and is
//! given to the user when nothing in it is read or started any more.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, Dir as Listing, FileType, Mode, OFlags, Stat, chownat, fchmod, fchown, fremovexattr,
    fstat, openat,
};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use crate::files::caller::Caller;
use crate::files::dir::Dir;
use crate::files::error::Error;
use crate::files::identity::open_on_mount;

/// Maximum nesting depth of folders given away. No run of ours nests deeper.
const MAX_DEPTH: usize = 32;

/// Access lists, by which others could write although the mode forbids it.
const ACCESS_LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

impl Dir {
    /// Makes this process its owner, and removes write permission for everyone else.
    pub fn take_over(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chown", self.path(), cause);
        let stat = fstat(self).map_err(wrong)?;
        if stat.st_uid != geteuid().as_raw() {
            fchown(self, Some(geteuid()), Some(getegid())).map_err(wrong)?;
        }
        for list in ACCESS_LISTS {
            match fremovexattr(self, list) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(cause) => return Err(wrong(cause)),
            }
        }
        fchmod(self, Mode::from_raw_mode(stat.st_mode & 0o7777 & !0o022)).map_err(wrong)
    }

    /// Gives it to a user, with everything in it that this process owns, the top folder last. What
    /// someone else owns, or has a hard link elsewhere, keeps its owner.
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
        let entry_fd = match open_on_mount(folder.as_fd(), name, OFlags::PATH) {
            // Another file system, mounted there by someone else, which might never answer.
            Err(Errno::NOENT | Errno::XDEV) => continue,
            result => result?,
        };
        let stat = fstat(&entry_fd)?;
        if stat.st_uid != top.st_uid || stat.st_dev != top.st_dev {
            continue;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth < MAX_DEPTH => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let inner: OwnedFd = openat(&entry_fd, ".", flags, Mode::empty())?;
                give_inside(&inner, top, to, depth + 1)?;
            }
            FileType::Symlink => {}
            FileType::RegularFile | FileType::Fifo if stat.st_nlink == 1 => {}
            _ => continue,
        }
        chownat(&entry_fd, "", Some(to.user()), Some(to.group()), AtFlags::EMPTY_PATH)?;
    }
    Ok(())
}
