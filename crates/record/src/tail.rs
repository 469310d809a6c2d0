//! Samples batch by batch: from a stream that is still being written, or from files that are too
//! many or too large to be in memory at once.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{StreamDecoder, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::arrow::Assembler;
use crate::error::Error;
use crate::table::Table;

/// Rows of one batch: with ten columns of eight bytes about a megabyte.
const ROWS: usize = 1 << 14;

/// The end of a stream that grows.
pub struct Tail {
    file: File,
    decoder: StreamDecoder,
    source: String,
    path: PathBuf,
}

impl Tail {
    /// Opens `<source>.arrows`. What is in it is read again from the beginning; the file may be
    /// removed while it is open.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|cause| Error::io("read", path, &cause))?;
        let source = source_of(path);
        Ok(Self { file, decoder: StreamDecoder::new(), source, path: path.to_owned() })
    }

    /// The source that it holds samples of.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What has become whole since the last call: one table a batch.
    pub fn read(&mut self) -> Result<Vec<Table>, Error> {
        let mut fresh = Vec::new();
        self.file.read_to_end(&mut fresh).map_err(|cause| Error::io("read", &self.path, &cause))?;
        let mut buffer = Buffer::from(fresh);
        let mut tables = Vec::new();
        while !buffer.is_empty() {
            let decoded = self.decoder.decode(&mut buffer);
            match decoded.map_err(|cause| Error::new("read", &self.path, &cause))? {
                Some(batch) => tables.push(table(&self.source, &batch, &self.path)?),
                None => break,
            }
        }
        Ok(tables)
    }
}

/// A file with the samples of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFile {
    /// The source.
    pub source: String,
    /// Its place.
    pub path: PathBuf,
    /// Whether it is a stream, and not Parquet.
    pub is_stream: bool,
}

/// The files of one repeat, a source each: Parquet where there is one, else the stream. A folder
/// that is not there has none.
pub fn sample_files(folder: &Path) -> Result<Vec<SampleFile>, Error> {
    let failed = |cause: &std::io::Error| Error::io("list", folder, cause);
    let mut found: Vec<SampleFile> = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(cause) => return Err(failed(&cause)),
    };
    for entry in entries {
        let path = entry.map_err(|cause| failed(&cause))?.path();
        let is_stream = match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => false,
            Some("arrows") => true,
            _ => continue,
        };
        found.push(SampleFile { source: source_of(&path), path, is_stream });
    }
    found.sort_by(|a, b| (&a.source, a.is_stream).cmp(&(&b.source, b.is_stream)));
    found.dedup_by(|later, first| later.source == first.source);
    Ok(found)
}

impl SampleFile {
    /// Hands over its samples in tables of at most some ten thousand rows, in the order of the file.
    /// `false` from `take` ends it early.
    pub fn each(&self, take: &mut dyn FnMut(Table) -> bool) -> Result<(), Error> {
        let damaged = |cause: &dyn std::fmt::Display| Error::new("read", &self.path, cause);
        let file = File::open(&self.path).map_err(|cause| Error::io("read", &self.path, &cause))?;
        if self.is_stream {
            // A stream that is cut holds what was whole.
            let Ok(reader) = StreamReader::try_new(BufReader::new(file), None) else {
                return Ok(());
            };
            for batch in reader.map_while(Result::ok) {
                if !take(table(&self.source, &batch, &self.path)?) {
                    break;
                }
            }
            return Ok(());
        }
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| builder.with_batch_size(ROWS).build())
            .map_err(|cause| damaged(&cause))?;
        for batch in reader {
            let batch = batch.map_err(|cause| damaged(&cause))?;
            if !take(table(&self.source, &batch, &self.path)?) {
                break;
            }
        }
        Ok(())
    }
}

fn table(source: &str, batch: &RecordBatch, path: &Path) -> Result<Table, Error> {
    let mut assembler = Assembler::new(source);
    assembler.append(batch).map_err(|cause| Error::new("read", path, &cause))?;
    Ok(assembler.finish())
}

/// The source that a file of samples is named after.
pub(crate) fn source_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::stream::{SampleStream, read_tables, to_parquet};
    use crate::table::Column;

    fn rows(from: u64) -> Table {
        Table {
            source: "io".to_owned(),
            time_ns: vec![from, from + 1],
            subject: vec![0, 1],
            subjects: vec!["a".to_owned(), "b".to_owned()],
            columns: vec![Column { name: "bytes".to_owned(), values: vec![Some(from), None] }],
        }
    }

    fn stream(folder: &Path) -> PathBuf {
        let mut stream = SampleStream::create(folder, "io", &["bytes".to_owned()]).unwrap();
        (0..5).for_each(|batch| stream.append(&rows(10 * batch)).unwrap());
        stream.finish().unwrap();
        folder.join("io.arrows")
    }

    #[test]
    fn a_tail_hands_over_each_batch_once_however_the_bytes_arrive() {
        let place = tempfile::tempdir().unwrap();
        let whole = fs::read(stream(place.path())).unwrap();
        let growing = place.path().join("growing.arrows");
        let mut file = File::create(&growing).unwrap();
        let mut tail = Tail::open(&growing).unwrap();
        let mut seen = Vec::new();
        for piece in whole.chunks(37) {
            file.write_all(piece).unwrap();
            seen.extend(tail.read().unwrap().into_iter().flat_map(|table| table.time_ns));
        }
        assert_eq!(seen, [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
        assert!(tail.read().unwrap().is_empty());
    }

    #[test]
    fn files_are_read_in_parts_and_parquet_before_streams() {
        let place = tempfile::tempdir().unwrap();
        stream(place.path());
        let whole = read_tables(place.path()).unwrap();
        for is_stream in [true, false] {
            let files = sample_files(place.path()).unwrap();
            assert_eq!((files.len(), files[0].is_stream), (1, is_stream));
            let mut times = Vec::new();
            let mut take = |table: Table| {
                times.extend(table.time_ns);
                true
            };
            files[0].each(&mut take).unwrap();
            assert_eq!(times, whole[0].time_ns);
            if is_stream {
                to_parquet(place.path()).unwrap();
            }
        }
        assert!(sample_files(&place.path().join("missing")).unwrap().is_empty());
    }
}
