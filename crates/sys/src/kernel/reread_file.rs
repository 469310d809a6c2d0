//! Files that are read repeatedly through one descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

/// A kernel file kept open. A pread(2) at offset 0 makes the kernel produce the text anew, at a fifth
/// of the cost of open, read and close.
#[derive(Debug)]
pub struct RereadFile(File);

impl AsFd for RereadFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Initial buffer size; most counter files are far shorter.
const INITIAL_SIZE: usize = 4096;

impl RereadFile {
    pub(crate) fn new(file: File) -> Self {
        Self(file)
    }

    /// Reads a file that the kernel produces as one record: counters of control groups, attributes of
    /// sysfs, /proc/stat and /proc/pressure. seq_file(9) grows its own buffer until a record fits
    /// (fs/seq_file.c, `seq_read_iter`), so a read that leaves room in `buffer` has reached the end,
    /// and the second read(2) that [`RereadFile::read`] needs to detect that is saved. Not for files of
    /// many records, such as /proc/self/mountinfo.
    pub fn read_record<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        if buffer.len() < INITIAL_SIZE {
            buffer.resize(INITIAL_SIZE, 0);
        }
        loop {
            let read = self.0.read_at(buffer, 0)?;
            if read < buffer.len() {
                return Ok(&buffer[..read]);
            }
            buffer.resize(read * 2, 0);
        }
    }

    /// Reads the file from its start into `buffer` and returns the contents.
    ///
    /// A short read does not mean the end of a kernel file, so reading continues until the kernel
    /// returns nothing; the buffer grows as needed and is never shrunk.
    pub fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        if buffer.len() < INITIAL_SIZE {
            buffer.resize(INITIAL_SIZE, 0);
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
    fn a_file_longer_than_the_buffer_is_read_completely() {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("stat");
        let text = "x".repeat(10_000);
        std::fs::write(&path, &text).unwrap();
        let file = RereadFile::new(File::open(&path).unwrap());
        let mut buffer = Vec::new();
        assert_eq!(file.read(&mut buffer).unwrap(), text.as_bytes());
        std::fs::write(&path, "short").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), b"short");
    }

    #[test]
    fn a_record_longer_than_the_buffer_is_read_completely() {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("stat");
        for length in [0, 1, INITIAL_SIZE - 1, INITIAL_SIZE, INITIAL_SIZE + 1, 3 * INITIAL_SIZE] {
            let text: Vec<u8> = (0..length).map(|at| b'a' + (at % 23) as u8).collect();
            std::fs::write(&path, &text).unwrap();
            let file = RereadFile::new(File::open(&path).unwrap());
            assert_eq!(file.read_record(&mut Vec::new()).unwrap(), text, "{length} bytes");
        }
    }

    #[test]
    fn the_kernel_returns_a_record_in_one_read() {
        let file = RereadFile::new(File::open("/proc/stat").unwrap());
        let (mut one, mut all) = (Vec::new(), Vec::new());
        let labels = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(text).into_owned();
            text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
        };
        let from_record = labels(file.read_record(&mut one).unwrap());
        assert_eq!(from_record, labels(file.read(&mut all).unwrap()));
        assert!(from_record.contains(&"procs_running".to_owned()), "{from_record:?}");
    }
}
