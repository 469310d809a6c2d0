//! Samples on disk: an Arrow IPC stream during a repeat, Parquet afterwards.
//!
//! The stream is append-only and every batch is self-contained, so a killed run loses at most the batch being
//! written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use assay_files::Dir;
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

use crate::arrow::{Assembler, damaged, schema, to_batch};
use crate::budget::Budget;
use crate::error::Error;
use crate::ipc::BatchWriter;
use crate::parquet::Batches;
use crate::rows::RowBuffer;
use crate::table::Table;
use crate::tail::{Tail, sample_files, source_of};

/// The stream of one source in one repeat.
pub struct SampleStream {
    writer: StreamWriter<File>,
    batches: BatchWriter,
    path: PathBuf,
}

impl SampleStream {
    /// Creates `<folder>/<source>.arrows`.
    pub fn create(folder: &Path, source: &str, columns: &[String]) -> Result<Self, Error> {
        let path = folder.join(format!("{source}.arrows"));
        let file = Dir::open(folder)?.create(format!("{source}.arrows"))?;
        let schema = schema(columns);
        let batches =
            BatchWriter::new(&schema).map_err(|cause| error_from("write", &path, &cause))?;
        let writer = StreamWriter::try_new(file, &schema)
            .map_err(|cause| error_from("write", &path, &cause))?;
        Ok(Self { writer, batches, path })
    }

    /// Appends the rows of `table` as one batch.
    pub fn append(&mut self, table: &Table) -> Result<(), Error> {
        self.append_rows(&RowBuffer::from(table))
    }

    /// Appends these rows as one batch, with a single write.
    pub fn append_rows(&mut self, rows: &RowBuffer) -> Result<(), Error> {
        let message = self.batches.encode(rows);
        let written = self.writer.get_mut().write_all(message);
        written.map_err(|cause| Error::io("write", &self.path, &cause))
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Result<(), Error> {
        self.writer.finish().map_err(|cause| error_from("write", &self.path, &cause))
    }
}

/// Converts every stream in `folder` to Parquet and removes it.
pub fn to_parquet(folder: &Path) -> Result<(), Error> {
    let dir = Dir::open(folder)?;
    let names = dir.names()?.into_iter().map(PathBuf::from);
    let streams = names.filter(|name| name.extension().is_some_and(|end| end == "arrows"));
    for name in streams {
        let table = read_stream(&dir, &name, &mut Budget::default())?;
        write_parquet(&dir, &format!("{}.parquet", table.source), &table)?;
        dir.remove_file(&name)?;
    }
    Ok(())
}

/// Every table in `folder`, from Parquet if present, otherwise from the stream of a run that ended before the
/// conversion.
pub fn read_tables(folder: &Path) -> Result<Vec<Table>, Error> {
    tables_in(&Dir::open(folder)?, &mut Budget::default())
}

/// The same for an open folder, within a budget.
pub(crate) fn tables_in(dir: &Dir, budget: &mut Budget) -> Result<Vec<Table>, Error> {
    let files = sample_files(dir)?;
    let read = files.iter().map(|file| match file.is_stream {
        true => read_stream(dir, Path::new(&file.name), budget),
        false => read_parquet(dir, Path::new(&file.name), budget),
    });
    read.collect()
}

/// The complete batches of one source in a folder that is still being written; `None` if there is no such
/// source.
pub fn read_growing(folder: &Path, source: &str) -> Result<Option<Table>, Error> {
    let dir = Dir::open(folder)?;
    let name = PathBuf::from(format!("{source}.arrows"));
    let read = || read_stream(&dir, &name, &mut Budget::default());
    dir.has_file(&name).then(read).transpose()
}

/// Every readable batch of a stream.
fn read_stream(dir: &Dir, name: &Path, budget: &mut Budget) -> Result<Table, Error> {
    let path = dir.path().join(name);
    let mut assembler = Assembler::new(&source_of(name));
    let mut take = |batch: &RecordBatch| {
        append(&mut assembler, batch, budget, &path)?;
        Ok(true)
    };
    Tail::open(dir, name)?.each_batch(&mut take)?;
    Ok(assembler.finish())
}

/// Appends a batch of a file to its table, within the budget.
fn append(
    assembler: &mut Assembler,
    batch: &RecordBatch,
    budget: &mut Budget,
    path: &Path,
) -> Result<(), Error> {
    budget.take(batch.num_rows(), batch.num_columns(), path)?;
    let names = assembler.append(batch).map_err(|cause| damaged(path, &cause))?;
    budget.take_names(names, path)
}

/// Rows read at once.
const ROWS: usize = 1 << 16;

fn read_parquet(dir: &Dir, name: &Path, budget: &mut Budget) -> Result<Table, Error> {
    let path = dir.path().join(name);
    let mut assembler = Assembler::new(&source_of(name));
    for batch in Batches::open(&dir.read(name)?, &path, ROWS)? {
        append(&mut assembler, &batch?, budget, &path)?;
    }
    Ok(assembler.finish())
}

/// Writes a table as Parquet. Counters and times grow slowly, so their differences are stored. The file is
/// written as a draft and renamed when complete, so that an incomplete Parquet file is never mistaken for a
/// complete one.
fn write_parquet(folder: &Dir, name: &str, table: &Table) -> Result<(), Error> {
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let schema = schema(&names);
    let mut properties = WriterProperties::builder();
    for name in names.iter().map(String::as_str).chain(["time_ns"]) {
        let column = parquet::schema::types::ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    let path = folder.path().join(name);
    let failed = |cause: &dyn std::fmt::Display| Error::new("write", &path, cause);
    let draft = folder.draft(name)?;
    let batch = to_batch(table, SchemaRef::clone(&schema)).map_err(|cause| failed(&cause))?;
    let mut writer = ArrowWriter::try_new(draft, schema, Some(properties.build()))
        .map_err(|cause| failed(&cause))?;
    writer.write(&batch).map_err(|cause| failed(&cause))?;
    Ok(writer.into_inner().map_err(|cause| failed(&cause))?.commit()?)
}

fn error_from(operation: &'static str, path: &Path, cause: &ArrowError) -> Error {
    match cause {
        ArrowError::IoError(_, cause) => Error::io(operation, path, cause),
        other => Error::new(operation, path, other),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    fn whole_stream(path: &Path) -> Table {
        let dir = Dir::open(path.parent().unwrap()).unwrap();
        let name = Path::new(path.file_name().unwrap());
        read_stream(&dir, name, &mut Budget::default()).unwrap()
    }

    #[test]
    fn samples_survive_the_conversion_to_parquet() {
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

    /// Whatever the damage to a byte: batches that do not contain it are unchanged, and damage in front of
    /// the first batch costs samples only if it hides the schema.
    #[test]
    fn a_damaged_byte_costs_at_most_one_batch() {
        let place = tempfile::tempdir().unwrap();
        let path = stream(place.path());
        let whole = fs::read(&path).unwrap();
        let sound = whole_stream(&path);
        let second = whole.len() - 8 - (whole.len() - 8 - schema_ends(&whole)) / 2;
        for at in 0..whole.len() {
            for damage in [0x00, 0xff, whole[at] ^ 0x01, whole[at] ^ 0x80] {
                let mut bytes = whole.clone();
                bytes[at] = damage;
                fs::write(&path, &bytes).unwrap();
                let restored = whole_stream(&path);
                let has = |time_ns: u64| {
                    let row = restored.time_ns.iter().position(|time| *time == time_ns);
                    let old = sound.time_ns.iter().position(|sound| *sound == time_ns);
                    row.zip(old).is_some_and(|(row, old)| {
                        restored.columns[0].values[row] == sound.columns[0].values[old]
                    })
                };
                let first = [1, 2, 3].into_iter().all(has);
                let last = [4, 5, 6].into_iter().all(has);
                match at {
                    _ if damage == whole[at] => assert!(first && last),
                    _ if at < schema_ends(&whole) => {}
                    _ if at < second => assert!(last, "byte {at} as {damage:#x}: {restored:?}"),
                    _ => assert!(first, "byte {at} as {damage:#x}: {restored:?}"),
                }
            }
        }
    }

    /// Where the message of the schema ends.
    fn schema_ends(bytes: &[u8]) -> usize {
        8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize
    }

    /// The Arrow library reads streams written here, and its streams are read here.
    #[test]
    fn streams_are_compatible_with_the_arrow_library() {
        let place = tempfile::tempdir().unwrap();
        let path = stream(place.path());
        let file = File::open(&path).unwrap();
        let reader = arrow_ipc::reader::StreamReader::try_new(file, None).unwrap();
        let mut assembler = Assembler::new("io");
        for batch in reader {
            assembler.append(&batch.unwrap()).unwrap();
        }
        assert_eq!(assembler.finish(), whole_stream(&path));

        let names = ["read_bytes".to_owned()];
        let library_stream = place.path().join("library_stream.arrows");
        let mut writer =
            StreamWriter::try_new(File::create(&library_stream).unwrap(), &schema(&names)).unwrap();
        for from in [1, 4] {
            writer.write(&to_batch(&table(from), schema(&names)).unwrap()).unwrap();
        }
        writer.finish().unwrap();
        let restored = whole_stream(&library_stream);
        assert_eq!(Table { source: "io".to_owned(), ..restored }, whole_stream(&path));
    }
}
