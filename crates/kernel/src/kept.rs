//! Files that are read many times over one descriptor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A kernel file kept open. A pread(2) at offset 0 makes the kernel produce the text anew, at a
/// fifth of the cost of open, read and close (`science.md` section 6).
#[derive(Debug)]
pub struct KeptFile(File);

impl KeptFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Reads the file from its beginning into `buffer` and returns what was read.
    ///
    /// A short read does not mean the end of a kernel file, so reading goes on until the kernel
    /// returns nothing; the buffer grows when the file outgrows it and is never shrunk.
    pub fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        const FIRST: usize = 4096;
        if buffer.len() < FIRST {
            buffer.resize(FIRST, 0);
        }
        let mut filled = 0;
        loop {
            let read = self.0.read_at(&mut buffer[filled..], filled as u64)?;
            if read == 0 {
                return Ok(&buffer[..filled]);
            }
            filled += read;
            if filled == buffer.len() {
                buffer.resize(filled * 2, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("stat");
        let text = "x".repeat(10_000);
        std::fs::write(&path, &text).unwrap();
        let kept = KeptFile::open(&path).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(kept.read(&mut buffer).unwrap(), text.as_bytes());
        std::fs::write(&path, "short").unwrap();
        assert_eq!(kept.read(&mut buffer).unwrap(), b"short");
    }
}
