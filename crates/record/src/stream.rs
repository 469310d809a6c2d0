//! Samples on disk: an Arrow IPC stream while a trial runs, Parquet when it is done.
//!
//! The stream is append-only and each batch stands for itself, so a run that is killed loses at
//! most the batch it was writing.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

use crate::arrow::{Assembler, schema, to_batch};
use crate::error::Error;
use crate::ipc::BatchWriter;
use crate::rows::RowBuffer;
use crate::table::Table;

/// The stream of one source in one repeat.
pub struct SampleStream {
    writer: StreamWriter<File>,
    batches: BatchWriter,
    path: PathBuf,
}

impl SampleStream {
    /// Begins `<folder>/<source>.arrows`.
    pub fn create(folder: &Path, source: &str, columns: &[String]) -> Result<Self, Error> {
        let path = folder.join(format!("{source}.arrows"));
        let file = File::create_new(&path).map_err(|cause| Error::io("create", &path, &cause))?;
        let schema = schema(columns);
        let batches = BatchWriter::new(&schema).map_err(|cause| wrong("write", &path, &cause))?;
        let writer =
            StreamWriter::try_new(file, &schema).map_err(|cause| wrong("write", &path, &cause))?;
        Ok(Self { writer, batches, path })
    }

    /// Appends the rows of `table` as one batch.
    pub fn append(&mut self, table: &Table) -> Result<(), Error> {
        self.append_rows(&RowBuffer::from(table))
    }

    /// Appends these rows as one batch, in one write.
    pub fn append_rows(&mut self, rows: &RowBuffer) -> Result<(), Error> {
        let message = self.batches.encode(rows);
        let written = self.writer.get_mut().write_all(message);
        written.map_err(|cause| Error::io("write", &self.path, &cause))
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Result<(), Error> {
        self.writer.finish().map_err(|cause| wrong("write", &self.path, &cause))
    }
}

/// Turns every stream in `folder` into Parquet and removes it.
pub fn to_parquet(folder: &Path) -> Result<(), Error> {
    for path in files(folder, "arrows")? {
        let table = read_stream(&path)?;
        write_parquet(&path.with_extension("parquet"), &table)?;
        fs::remove_file(&path).map_err(|cause| Error::io("remove", &path, &cause))?;
    }
    Ok(())
}

/// Every table in `folder`, from Parquet where there is one and from the stream where the run
/// ended before it was turned into one.
pub fn read_tables(folder: &Path) -> Result<Vec<Table>, Error> {
    let mut tables = Vec::new();
    for path in files(folder, "parquet")? {
        tables.push(read_parquet(&path)?);
    }
    for path in files(folder, "arrows")? {
        // Both exist when the run was killed between writing the one and removing the other.
        let table = read_stream(&path)?;
        if !tables.iter().any(|known| known.source == table.source) {
            tables.push(table);
        }
    }
    Ok(tables)
}

/// The table of one source from a folder whose samples are still being written: every batch that
/// is whole. `None` where there is no such source.
pub fn read_growing(folder: &Path, source: &str) -> Result<Option<Table>, Error> {
    let path = folder.join(format!("{source}.arrows"));
    if path.is_file() { read_stream(&path).map(Some) } else { Ok(None) }
}

fn read_stream(path: &Path) -> Result<Table, Error> {
    let file = File::open(path).map_err(|cause| Error::io("read", path, &cause))?;
    let mut assembler = Assembler::new(&source_of(path));
    // A stream cut before the end of its schema holds no samples.
    if let Ok(reader) = StreamReader::try_new(BufReader::new(file), None) {
        for batch in reader.map_while(Result::ok) {
            assembler.append(&batch).map_err(|cause| Error::new("read", path, &cause))?;
        }
    }
    Ok(assembler.finish())
}

fn read_parquet(path: &Path) -> Result<Table, Error> {
    let damaged = |cause: &dyn std::fmt::Display| Error::new("read", path, cause);
    let file = File::open(path).map_err(|cause| Error::io("read", path, &cause))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(1 << 16).build())
        .map_err(|cause| damaged(&cause))?;
    let mut assembler = Assembler::new(&source_of(path));
    for batch in reader {
        let batch = batch.map_err(|cause| damaged(&cause))?;
        assembler.append(&batch).map_err(|cause| damaged(&cause))?;
    }
    Ok(assembler.finish())
}

/// Counters and times grow slowly, so their differences are stored; a draft is renamed when
/// whole, so that a half-written Parquet file is never taken for a whole one.
fn write_parquet(path: &Path, table: &Table) -> Result<(), Error> {
    let draft = path.with_extension("parquet.draft");
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let schema = schema(&names);
    let mut properties = WriterProperties::builder();
    for name in names.iter().map(String::as_str).chain(["time_ns"]) {
        let column = parquet::schema::types::ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    let file = File::create(&draft).map_err(|cause| Error::io("create", &draft, &cause))?;
    let failed = |cause: &dyn std::fmt::Display| Error::new("write", path, cause);
    let batch = to_batch(table, SchemaRef::clone(&schema)).map_err(|cause| failed(&cause))?;
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties.build()))
        .map_err(|cause| failed(&cause))?;
    writer.write(&batch).map_err(|cause| failed(&cause))?;
    let file = writer.into_inner().map_err(|cause| failed(&cause))?;
    file.sync_all()
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|cause| Error::io("write", path, &cause))
}

fn wrong(operation: &'static str, path: &Path, cause: &ArrowError) -> Error {
    match cause {
        ArrowError::IoError(_, cause) => Error::io(operation, path, cause),
        other => Error::new(operation, path, other),
    }
}

fn source_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let failed = |cause: &std::io::Error| Error::io("list", folder, cause);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|cause| failed(&cause))? {
        let path = entry.map_err(|cause| failed(&cause))?.path();
        if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table(from: u64) -> Table {
        Table {
            source: "io".to_owned(),
            time_ns: vec![from, from + 1, from + 2],
            subject: vec![0, 1, 0],
            subjects: vec!["task1".to_owned(), "task2".to_owned()],
            columns: vec![Column {
                name: "read_bytes".to_owned(),
                values: vec![Some(from * 10), None, Some(u64::MAX)],
            }],
        }
    }

    fn stream(folder: &Path) -> PathBuf {
        let mut stream = SampleStream::create(folder, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(1)).unwrap();
        stream.append(&table(4)).unwrap();
        stream.finish().unwrap();
        folder.join("io.arrows")
    }

    #[test]
    fn samples_survive_the_way_to_parquet_and_back() {
        let place = tempfile::tempdir().unwrap();
        let path = stream(place.path());
        let before = read_tables(place.path()).unwrap();
        to_parquet(place.path()).unwrap();
        assert!(!path.exists());
        let after = read_tables(place.path()).unwrap();
        assert_eq!(before, after);
        assert_eq!(after[0].time_ns, [1, 2, 3, 4, 5, 6]);
        let series: Vec<_> = after[0].series("task1", "read_bytes").collect();
        assert_eq!(series, [(1, 10), (3, u64::MAX), (4, 40), (6, u64::MAX)]);
        assert_eq!(after[0].series("task2", "read_bytes").count(), 0, "a null is no sample");
    }

    #[test]
    fn a_stream_cut_anywhere_keeps_its_whole_batches() {
        let place = tempfile::tempdir().unwrap();
        let path = stream(place.path());
        let whole = fs::read(&path).unwrap();
        let mut rows_seen = std::collections::BTreeSet::new();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let tables = read_tables(place.path()).unwrap();
            rows_seen.insert(tables[0].time_ns.len());
        }
        assert_eq!(rows_seen.into_iter().collect::<Vec<_>>(), [0, 3, 6]);
    }
}
