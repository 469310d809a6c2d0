//! A file that the user names for output.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::dir::Dir;
use crate::error::Error;

/// Opens the file that the user named for output, as `>` of a shell does: it may be there, a FIFO
/// or a terminal. A link is followed only where it is root's or this user's (`/dev/stdout`).
pub fn output(path: &Path) -> Result<File, Error> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let opened = match openat(CWD, path, flags | OFlags::NOFOLLOW, mode) {
        Err(Errno::LOOP) if is_link_of_ours(path) => openat(CWD, path, flags, mode),
        Err(Errno::LOOP) => {
            let why = "it is a link that belongs to somebody else";
            return Err(Error::refused("write", path, why));
        }
        opened => opened,
    };
    opened.map(File::from).map_err(|cause| Error::new("write", path, cause))
}

fn is_link_of_ours(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::Symlink
            && (found.st_uid == 0 || found.st_uid == geteuid().as_raw())
    })
}

/// Replaces a file that the user named whole.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let Some(name) = path.file_name() else {
        return Err(Error::refused("write", path, "it names no file"));
    };
    Dir::open(path.parent().unwrap_or(Path::new("")))?.replace(name, bytes)
}
