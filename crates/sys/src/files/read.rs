//! Bounded reading of files and directories that someone else may have put there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::Dir as Listing;

use crate::files::dir::Dir;
use crate::files::error::Error;

/// Maximum number of names in one directory. No program of ours creates more.
const MAX_NAMES: usize = 1 << 20;

impl Dir {
    /// The contents of a regular file of at most `limit` bytes.
    pub fn bytes(&self, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, Error> {
        let file = self.read(name.as_ref())?;
        whole(file, &self.path().join(name.as_ref()), limit)
    }

    /// The same for a text file.
    pub fn text(&self, name: impl AsRef<Path>, limit: u64) -> Result<String, Error> {
        let bytes = self.bytes(name.as_ref(), limit)?;
        as_text(bytes, &self.path().join(name.as_ref()))
    }

    /// The names in it, sorted.
    pub fn names(&self) -> Result<Vec<OsString>, Error> {
        let wrong = |cause| Error::new("list", self.path(), cause);
        let mut names = Vec::new();
        for entry in Listing::read_from(self.as_fd()).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
            if names.len() > MAX_NAMES {
                let why = format!("it holds more than {MAX_NAMES} names");
                return Err(Error::refused("list", self.path(), why));
            }
        }
        names.sort();
        Ok(names)
    }
}

/// The contents of a file that the user named: a link is the user's own and followed, and a pipe is
/// read to its end, up to `limit` bytes.
pub fn input(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = File::open(path).map_err(|cause| Error::new("read", path, cause))?;
    whole(file, path, limit)
}

/// The same for a text file.
pub fn input_text(path: &Path, limit: u64) -> Result<String, Error> {
    as_text(input(path, limit)?, path)
}

fn as_text(bytes: Vec<u8>, path: &Path) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|cause| {
        let at = cause.utf8_error().valid_up_to();
        let why = format!("it is not text: byte {at} is not UTF-8");
        Error::new("read", path, io::Error::new(io::ErrorKind::InvalidData, why))
            .with_hint("it may have been damaged by a copy or a disk; copy it again")
    })
}

fn whole(file: impl Read, path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    // One extra byte shows whether the file is longer.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|cause| Error::new("read", path, cause))?;
    if bytes.len() as u64 > limit {
        let why = format!("it is longer than {limit} bytes, the limit for such a file");
        return Err(Error::refused("read", path, why)
            .with_hint("Assay never writes one this long: check where it comes from"));
    }
    Ok(bytes)
}
