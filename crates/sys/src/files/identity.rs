//! What a file is, whatever its name, and opening it where it is.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};
use rustix::io::Errno;

/// Device and inode: identifies a file regardless of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The device of its file system.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl Identity {
    pub(crate) fn from_fd(fd: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        fstat(fd).map(|stat| Self::from(&stat))
    }

    /// The identity of an open file.
    pub fn from_file(file: &std::fs::File) -> io::Result<Self> {
        Ok(Self::from_fd(file.as_fd())?)
    }
}

/// Opens an entry without following a link or entering a mount (EXDEV).
pub(crate) fn open_on_mount(
    above: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match openat2(above, name, flags, Mode::empty(), resolve) {
        // Before Linux 5.6, or where a seccomp filter does not know it.
        Err(Errno::NOSYS | Errno::PERM) => openat(above, name, flags, Mode::empty()),
        result => result,
    }
}
