//! The source of points: random, or a file of rows.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use super::points::Points;
use crate::failure::Failure;
use crate::input::open;
use crate::parsec::lrand48::Lrand48;

/// The source of points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// Coordinates drawn between 0 and 1.
    Drawn {
        /// How many points.
        points: u64,
    },
    /// Rows of little-endian single-precision numbers.
    File(PathBuf),
}

impl Source {
    /// Checks that the file can be read and holds whole rows.
    pub(super) fn check(&self, dimension: usize) -> Result<(), Failure> {
        let Self::File(path) = self else { return Ok(()) };
        let size = open(path)
            .and_then(|file| file.metadata())
            .map_err(|error| input(path, format!("cannot be read: {error}")))?;
        let row = dimension as u64 * 4;
        if size.len() == 0 || size.len() % row != 0 {
            let bytes = size.len();
            return Err(input(path, format!("{bytes} bytes are not rows of {row} bytes")));
        }
        Ok(())
    }

    pub(super) fn open(&self) -> Result<Stream, Failure> {
        Ok(match self {
            Self::Drawn { points } => Stream::Drawn { remaining: *points },
            Self::File(path) => {
                let file =
                    open(path).map_err(|error| input(path, format!("cannot be read: {error}")))?;
                Stream::File { path: path.clone(), file: BufReader::with_capacity(1 << 20, file) }
            }
        })
    }
}

/// A stream of points.
pub(super) enum Stream {
    Drawn { remaining: u64 },
    File { path: PathBuf, file: BufReader<File> },
}

impl Stream {
    /// Reads up to `most` points into `points`, each with a weight of one.
    pub(super) fn read(
        &mut self,
        points: &mut Points,
        limit: usize,
        random: &mut Lrand48,
    ) -> Result<(), Failure> {
        points.clear();
        let mut row = vec![0.0; points.dimension()];
        while points.len() < limit && self.next(&mut row, random)? {
            points.push(&row, 1.0);
        }
        Ok(())
    }

    fn next(&mut self, row: &mut [f32], random: &mut Lrand48) -> Result<bool, Failure> {
        match self {
            Self::Drawn { remaining: 0 } => Ok(false),
            Self::Drawn { remaining } => {
                *remaining -= 1;
                row.iter_mut().for_each(|value| *value = random.unit());
                Ok(true)
            }
            Self::File { path, file } => {
                let mut bytes = vec![0; row.len() * 4];
                let got = fill(file, &mut bytes).map_err(|error| Failure::Ended {
                    what: format!("read {}: {error}", path.display()),
                    remedy: "check the disk that holds it".to_owned(),
                })?;
                for (value, bytes) in row.iter_mut().zip(bytes.chunks_exact(4)) {
                    *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
                match got {
                    0 => Ok(false),
                    all if all == bytes.len() => Ok(true),
                    some => Err(input(path, format!("ends {some} bytes into a row"))),
                }
            }
        }
    }

    /// Whether everything was read.
    pub(super) fn is_at_end(&mut self) -> bool {
        use std::io::BufRead;
        match self {
            Self::Drawn { remaining } => *remaining == 0,
            Self::File { file, .. } => file.fill_buf().is_ok_and(<[u8]>::is_empty),
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match file.read(&mut bytes[got..])? {
            0 => break,
            some => got += some,
        }
    }
    Ok(got)
}

fn input(path: &std::path::Path, what: String) -> Failure {
    Failure::Input {
        path: path.to_owned(),
        place: None,
        what,
        remedy: "INFILE holds D single-precision numbers per point; with N above 0 points are \
                 drawn and no file is read"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_sys::kernel::anonymous_memory::HugePages;

    #[test]
    fn rows_of_a_file_are_read_and_a_broken_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.bin");
        let bytes: Vec<u8> = (0..6).flat_map(|n| (n as f32).to_le_bytes()).collect();
        std::fs::write(&path, &bytes).unwrap();
        let source = Source::File(path.clone());
        source.check(2).unwrap();
        assert!(source.check(4).unwrap_err().to_string().contains("24 bytes are not rows of 16"));
        let mut stream = source.open().unwrap();
        let mut points = Points::allocate(4, 2, HugePages::System).unwrap();
        let mut random = Lrand48::seeded(1);
        stream.read(&mut points, 2, &mut random).unwrap();
        assert!(!stream.is_at_end());
        let mut row = [0.0; 2];
        points.row(1, &mut row);
        assert_eq!((points.len(), row), (2, [2.0, 3.0]));
        stream.read(&mut points, 2, &mut random).unwrap();
        assert!(stream.is_at_end());
        assert_eq!(points.len(), 1);
    }
}
