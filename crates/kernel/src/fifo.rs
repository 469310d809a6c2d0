//! Named pipes.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use assay_files::Dir;

use crate::error::Error;

/// A FIFO that this process reads without ever waiting.
#[derive(Debug)]
pub struct Fifo {
    file: File,
    path: PathBuf,
    partial: String,
}

/// Reads of one call.
const MOST_READS: usize = 16;

/// Bytes of a line that is not at its end; longer ones are nobody's who speaks to us.
const LONGEST_LINE: usize = 4096;

impl Fifo {
    /// Makes the FIFO and opens it. It is opened for writing too, so that reading never ends
    /// just because no writer is there at the moment.
    pub fn make(folder: &Path, name: &str) -> Result<Self, Error> {
        Self::make_in(&Dir::open(folder)?, name)
    }

    /// The same in a folder that is open.
    pub fn make_in(folder: &Dir, name: &str) -> Result<Self, Error> {
        let file = folder.make_fifo(name)?;
        Ok(Self { file, path: folder.path().join(name), partial: String::new() })
    }

    /// Lets other users write into it.
    pub fn let_others_write(&self) -> Result<(), Error> {
        let mode = rustix::fs::Mode::from_raw_mode(0o622);
        rustix::fs::fchmod(&self.file, mode)
            .map_err(|errno| Error::new("chmod", &self.path, &errno.into()))
    }

    /// Whole lines that have come since the last call.
    pub fn lines(&mut self) -> Result<Vec<String>, Error> {
        let mut buffer = [0; 4096];
        // Whoever may write could keep one busy for ever.
        for _ in 0..MOST_READS {
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
        if self.partial.len() > LONGEST_LINE {
            self.partial.clear();
        }
        Ok(whole.lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_whole_lines_are_handed_out() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("gate");
        let mut fifo = Fifo::make(place.path(), "gate").unwrap();
        assert!(fifo.lines().unwrap().is_empty());
        let mut writer = File::options().write(true).open(&path).unwrap();
        writer.write_all(b"12\n34").unwrap();
        assert_eq!(fifo.lines().unwrap(), ["12"]);
        writer.write_all(b"5\n").unwrap();
        drop(writer);
        assert_eq!(fifo.lines().unwrap(), ["345"]);
    }
}
