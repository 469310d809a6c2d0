//! Files that are read many times over one descriptor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A kernel file kept open. A pread(2) at offset 0 makes the kernel produce the text anew, at a
/// fifth of the cost of open, read and close.
#[derive(Debug)]
pub struct KeptFile(File);

/// Room for the first read; most counter files are far shorter.
const FIRST: usize = 4096;

impl KeptFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Reads a file that the kernel produces as one record: counters of control groups,
    /// attributes of sysfs, /proc/stat and /proc/pressure. seq_file(9) grows its own buffer until
    /// a record fits (fs/seq_file.c, `seq_read_iter`), so a read that leaves room in `buffer` has
    /// seen the end, and the second read(2) that [`KeptFile::read`] needs to be told so is saved.
    /// Files of many records, such as /proc/self/mountinfo, are not for this.
    pub fn read_record<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        if buffer.len() < FIRST {
            buffer.resize(FIRST, 0);
        }
        loop {
            let read = self.0.read_at(buffer, 0)?;
            if read < buffer.len() {
                return Ok(&buffer[..read]);
            }
            buffer.resize(read * 2, 0);
        }
    }

    /// Reads the file from its beginning into `buffer` and returns what was read.
    ///
    /// A short read does not mean the end of a kernel file, so reading goes on until the kernel
    /// returns nothing; the buffer grows when the file outgrows it and is never shrunk.
    pub fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
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

    #[test]
    fn a_record_longer_than_the_buffer_is_read_whole() {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("stat");
        for length in [0, 1, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST] {
            let text: Vec<u8> = (0..length).map(|at| b'a' + (at % 23) as u8).collect();
            std::fs::write(&path, &text).unwrap();
            let kept = KeptFile::open(&path).unwrap();
            assert_eq!(kept.read_record(&mut Vec::new()).unwrap(), text, "{length} bytes");
        }
    }

    #[test]
    fn the_kernel_gives_a_record_in_one_read() {
        let kept = KeptFile::open(Path::new("/proc/stat")).unwrap();
        let (mut one, mut all) = (Vec::new(), Vec::new());
        let labels = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(text).into_owned();
            text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
        };
        let at_once = labels(kept.read_record(&mut one).unwrap());
        assert_eq!(at_once, labels(kept.read(&mut all).unwrap()));
        assert!(at_once.contains(&"procs_running".to_owned()), "{at_once:?}");
    }
}
