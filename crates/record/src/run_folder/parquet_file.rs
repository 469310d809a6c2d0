//! A Parquet file as the library reads it: its end is an error.
//!
//! The library skips unknown fields of a page's header by copying as many bytes as they declare (parquet 60,
//! `skip_till_depth`). At the end of a `File` it copies nothing and goes on with the next of up to 2^31 elements, so
//! that a damaged header of a few bytes keeps it busy for hours.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// An open file.
#[derive(Debug, Clone)]
pub(crate) struct ParquetFile {
    file: Arc<File>,
    length: u64,
}

impl ParquetFile {
    /// Remembers the length of the file: what is appended later is not read.
    pub(crate) fn new(file: &File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file.try_clone()?), length })
    }
}

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for ParquetFile {
    type T = BufReader<Remainder>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(Remainder { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.saturating_add(length as u64);
        if end > self.length {
            let size = self.length;
            return Err(ParquetError::EOF(format!("a part ends at {end}, the file at {size}")));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// The file from an offset on.
#[derive(Debug)]
pub(crate) struct Remainder {
    file: Arc<File>,
    at: u64,
}

impl Read for Remainder {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        if read == 0 && !buffer.is_empty() {
            return Err(Error::new(ErrorKind::UnexpectedEof, "the file ends within a page"));
        }
        self.at += read as u64;
        Ok(read)
    }
}
