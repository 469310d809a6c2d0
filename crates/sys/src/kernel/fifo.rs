//! Named pipes.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::files::Dir;
use rustix::fs::{Mode, Uid};

use crate::kernel::error::Error;

/// A FIFO that this process reads without blocking.
#[derive(Debug)]
pub struct Fifo {
    file: File,
    path: PathBuf,
    partial: String,
}

/// Maximum number of reads per call.
const MAX_READS: usize = 16;

/// Maximum length of an unfinished line; our peers send no longer ones.
const MAX_LINE: usize = 4096;

/// What is kept of such a line: its end may be the start of a message from a peer.
const KEPT_TAIL: usize = 64;

impl Fifo {
    /// Creates the FIFO and opens it. It is opened for writing too, so that it never reaches end of
    /// file just because there is no writer at the moment.
    pub fn make(folder: &Path, name: &str) -> Result<Self, Error> {
        Self::make_in(&Dir::open(folder)?, name)
    }

    /// The same in an open folder.
    pub fn make_in(folder: &Dir, name: &str) -> Result<Self, Error> {
        let file = folder.make_fifo(name)?;
        Ok(Self { file, path: folder.path().join(name), partial: String::new() })
    }

    /// Makes this user its owner, who is then, besides root, the only one who can write to it.
    pub fn give_to(&self, uid: u32) -> Result<(), Error> {
        let result = rustix::fs::fchmod(&self.file, Mode::RUSR | Mode::WUSR);
        result
            .and_then(|()| rustix::fs::fchown(&self.file, Some(Uid::from_raw(uid)), None))
            .map_err(|errno| Error::new("chown", &self.path, &errno.into()))
    }

    /// Complete lines received since the last call.
    pub fn lines(&mut self) -> Result<Vec<String>, Error> {
        let mut buffer = [0; 4096];
        // A writer could keep us busy for ever.
        for _ in 0..MAX_READS {
            match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.partial.push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::new("read", &self.path, &cause)),
            }
        }
        let end = self.partial.rfind('\n').map_or(0, |at| at + 1);
        let rest = self.partial.split_off(end);
        let whole = std::mem::replace(&mut self.partial, rest);
        if self.partial.len() > MAX_LINE {
            let mut from = self.partial.len() - KEPT_TAIL;
            while !self.partial.is_char_boundary(from) {
                from += 1;
            }
            self.partial.drain(..from);
        }
        Ok(whole.lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_complete_lines_are_returned() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("barrier");
        let mut fifo = Fifo::make(temp.path(), "barrier").unwrap();
        assert!(fifo.lines().unwrap().is_empty());
        let mut writer = File::options().write(true).open(&path).unwrap();
        writer.write_all(b"12\n34").unwrap();
        assert_eq!(fifo.lines().unwrap(), ["12"]);
        writer.write_all(b"5\n").unwrap();
        drop(writer);
        assert_eq!(fifo.lines().unwrap(), ["345"]);
    }

    #[test]
    fn the_end_of_an_unfinished_line_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let mut fifo = Fifo::make(temp.path(), "barrier").unwrap();
        let path = temp.path().join("barrier");
        let mut writer = File::options().write(true).open(path).unwrap();
        for _ in 0..5 {
            writer.write_all("\u{e4}x\u{20ac}".repeat(1000).as_bytes()).unwrap();
            assert!(fifo.lines().unwrap().is_empty());
            assert!(fifo.partial.len() <= KEPT_TAIL, "{}", fifo.partial.len());
        }
        // A message of a peer arrives in two parts.
        writer.write_all(&b"x".repeat(MAX_LINE)).unwrap();
        writer.write_all(b"at 12").unwrap();
        assert!(fifo.lines().unwrap().is_empty());
        writer.write_all(b"3\n").unwrap();
        let lines = fifo.lines().unwrap();
        assert!(lines.len() == 1 && lines[0].ends_with("at 123"), "{lines:?}");
    }
}
