//! Reading files that somebody names: regular files, never waited for as one waits for a pipe, and to a
//! limit where the whole of one is wanted.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Bytes of a file that says what a load is: scripts, properties, options of a database. Those that are
/// shipped have a few thousand.
pub(crate) const MOST: u64 = 64 << 20;

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> Result<File> {
    let at_once = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::other("it is no regular file")),
    }
}

/// What is in a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more tells whether there are more.
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        false => Ok(bytes),
        true => Err(Error::other(format!("it is longer than {limit} bytes"))),
    }
}

/// The same of a file that holds text.
pub(crate) fn text(path: &Path, limit: u64) -> Result<String> {
    let bytes = read(path, limit)?;
    String::from_utf8(bytes).map_err(|cause| Error::new(ErrorKind::InvalidData, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_a_limit_and_what_is_none_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("file"), "said").unwrap();
        assert_eq!(read(&at("file"), 4).unwrap(), b"said");
        assert_eq!(text(&at("file"), 4).unwrap(), "said");
        let why = |error: Error| error.to_string();
        assert_eq!(why(read(&at("file"), 3).unwrap_err()), "it is longer than 3 bytes");
        std::fs::write(at("bytes"), b"a\xff").unwrap();
        assert_eq!(text(&at("bytes"), 9).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(read(&at("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(why(read(place.path(), 9).unwrap_err()), "it is no regular file");
        let fifo = assay_kernel::fifo::Fifo::make(place.path(), "fifo").unwrap();
        drop(fifo);
        assert_eq!(why(open(&at("fifo")).unwrap_err()), "it is no regular file");
        assert_eq!(why(open(Path::new("/dev/zero")).unwrap_err()), "it is no regular file");
    }
}
