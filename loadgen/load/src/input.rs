//! Reads files named by the user: regular files only, so that a read never blocks as on a pipe, and
//! with a size limit if the whole file is read.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Size limit of files that describe a load: scripts, properties, database options. The shipped
/// ones have a few thousand bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> Result<File> {
    let at_once = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::other("not a regular file")),
    }
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One extra byte shows whether the file is longer.
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        false => Ok(bytes),
        true => Err(Error::other(format!("longer than {limit} bytes"))),
    }
}

/// The same for a text file.
pub(crate) fn text(path: &Path, limit: u64) -> Result<String> {
    let bytes = read(path, limit)?;
    String::from_utf8(bytes).map_err(|cause| Error::new(ErrorKind::InvalidData, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_a_limit_and_pipes_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        assert_eq!(read(&at("file"), 4).unwrap(), b"text");
        assert_eq!(text(&at("file"), 4).unwrap(), "text");
        let why = |error: Error| error.to_string();
        assert_eq!(why(read(&at("file"), 3).unwrap_err()), "longer than 3 bytes");
        std::fs::write(at("bytes"), b"a\xff").unwrap();
        assert_eq!(text(&at("bytes"), 9).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(read(&at("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(why(read(place.path(), 9).unwrap_err()), "not a regular file");
        let fifo = assay_sys::kernel::fifo::Fifo::make(place.path(), "fifo").unwrap();
        drop(fifo);
        assert_eq!(why(open(&at("fifo")).unwrap_err()), "not a regular file");
        assert_eq!(why(open(Path::new("/dev/zero")).unwrap_err()), "not a regular file");
    }
}
