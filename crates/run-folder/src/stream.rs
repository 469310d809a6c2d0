//! Samples while a repeat runs: an Arrow IPC stream, append-only, in which every batch is self-contained, so
//! that a killed run loses at most the batch being written.
//!
//! Rows go from their buffers into one message that reuses its memory, without intermediate copies (Arrow
//! columnar format, "Serialization and Interprocess Communication"). All batches of a stream have the same
//! shape, so the Arrow library builds the metadata in front of the rows once, and the numbers in it are
//! replaced for each batch.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, StreamWriter,
};
use arrow_ipc::{Message, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use assay_files::Dir;

use crate::arrow::schema;
use crate::error::Error;
use crate::table::Rows;
use crate::table::Table;

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
        self.append_rows(&Rows::from(table))
    }

    /// Appends these rows as one batch, with a single write.
    pub fn append_rows(&mut self, rows: &Rows) -> Result<(), Error> {
        let message = self.batches.encode(rows);
        let written = self.writer.get_mut().write_all(message);
        written.map_err(|cause| Error::io("write", &self.path, &cause))
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Result<(), Error> {
        self.writer.finish().map_err(|cause| error_from("write", &self.path, &cause))
    }
}

fn error_from(operation: &'static str, path: &Path, cause: &ArrowError) -> Error {
    match cause {
        ArrowError::IoError(_, cause) => Error::io(operation, path, cause),
        other => Error::new(operation, path, other),
    }
}

/// Alignment of buffers, as the library lays them out.
const ALIGNMENT: usize = 64;

/// Marker before each message, followed by the length of its metadata.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes of the marker and the length.
const PREFIX: usize = 8;

/// The message of the last batch, and the offsets at which numbers of the next batch are patched in.
pub(crate) struct BatchWriter {
    /// Prefix and description, then the rows.
    message: Vec<u8>,
    /// Offset of the rows.
    body: usize,
    /// Offsets of the number of rows, of the length of the body, of the first node and of the first buffer.
    rows_at: usize,
    body_at: usize,
    nodes_at: usize,
    buffers_at: usize,
    nodes: usize,
    buffers: usize,
}

impl BatchWriter {
    /// A writer for batches of this schema.
    pub(crate) fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let description = description(schema)?;
        let malformed =
            || ArrowError::IpcError("the metadata of a batch does not describe a batch".to_owned());
        let message = root_as_message(&description).map_err(|_| malformed())?;
        let batch = message.header_as_record_batch().ok_or_else(malformed)?;
        let (nodes, buffers) =
            (batch.nodes().ok_or_else(malformed)?, batch.buffers().ok_or_else(malformed)?);
        let offset = |bytes: &[u8]| bytes.as_ptr() as usize - description.as_ptr() as usize;
        let body_at =
            message._tab.loc() + usize::from(message._tab.vtable().get(Message::VT_BODYLENGTH));
        let rows_field = batch._tab.vtable().get(arrow_ipc::RecordBatch::VT_LENGTH);
        let mut writer = Self {
            rows_at: PREFIX + batch._tab.loc() + usize::from(rows_field),
            body_at: PREFIX + body_at,
            nodes_at: PREFIX + offset(nodes.bytes()),
            buffers_at: PREFIX + offset(buffers.bytes()),
            nodes: 0,
            buffers: 0,
            message: Vec::new(),
            body: (PREFIX + description.len()).next_multiple_of(ALIGNMENT),
        };
        writer.message.extend(CONTINUATION);
        writer.message.extend(((writer.body - PREFIX) as u32).to_le_bytes());
        writer.message.extend(&description);
        writer.message.resize(writer.body, 0);
        Ok(writer)
    }

    /// Bytes of the metadata between the prefix and the rows, the same in every batch.
    pub(crate) const fn description(&self) -> usize {
        self.body - PREFIX
    }

    /// The whole message of these rows. Allocates only if no earlier batch was as large.
    pub(crate) fn encode(&mut self, rows: &Rows) -> &[u8] {
        self.message.truncate(self.body);
        (self.nodes, self.buffers) = (0, 0);
        let count = rows.len();
        self.node(count, 0);
        self.buffer(|_| {});
        self.numbers(&rows.time_ns);
        self.node(count, 0);
        self.buffer(|_| {});
        self.names(rows);
        for counter in &rows.counters {
            self.node(count, counter.missing);
            // Without a validity bitmap every row has a value.
            self.buffer(|message| {
                if counter.missing > 0 {
                    message.extend_from_slice(&counter.present);
                }
            });
            self.numbers(&counter.values);
        }
        self.put(self.rows_at, count);
        self.put(self.body_at, self.message.len() - self.body);
        &self.message
    }

    fn numbers(&mut self, values: &[u64]) {
        self.buffer(|message| {
            let begin = message.len();
            message.resize(begin + values.len() * 8, 0);
            // Without a check of the capacity for each, which costs more than the copy.
            let (all_bytes, _) = message[begin..].as_chunks_mut::<8>();
            for (bytes, value) in all_bytes.iter_mut().zip(values) {
                *bytes = value.to_le_bytes();
            }
        });
    }

    /// The subjects' names: offsets, then the text.
    fn names(&mut self, rows: &Rows) {
        self.buffer(|message| {
            let mut end = 0_u32;
            message.extend_from_slice(&end.to_le_bytes());
            for subject in &rows.subject {
                end += rows.name(*subject).len() as u32;
                message.extend_from_slice(&end.to_le_bytes());
            }
        });
        self.buffer(|message| {
            for subject in &rows.subject {
                message.extend_from_slice(rows.name(*subject).as_bytes());
            }
        });
    }

    fn node(&mut self, rows: usize, missing: usize) {
        let at = self.nodes_at + self.nodes * 16;
        self.put(at, rows);
        self.put(at + 8, missing);
        self.nodes += 1;
    }

    fn buffer(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.message.len();
        fill(&mut self.message);
        let at = self.buffers_at + self.buffers * 16;
        self.put(at, begin - self.body);
        self.put(at + 8, self.message.len() - begin);
        self.buffers += 1;
        self.message
            .resize(self.body + (self.message.len() - self.body).next_multiple_of(ALIGNMENT), 0);
    }

    fn put(&mut self, at: usize, value: usize) {
        if let Some(field) = self.message.get_mut(at..at + 8) {
            field.copy_from_slice(&(value as u64).to_le_bytes());
        }
    }
}

/// The metadata in front of the rows of a batch of this schema, built for one row.
fn description(schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
    let number = || -> ArrayRef { Arc::new(UInt64Array::from(vec![1])) };
    let mut columns: Vec<ArrayRef> = vec![number(), Arc::new(StringArray::from(vec!["x"]))];
    columns.extend((2..schema.fields().len()).map(|_| number()));
    let batch = RecordBatch::try_new(SchemaRef::clone(schema), columns)?;
    let (_, encoded) = IpcDataGenerator::default().encode(
        &batch,
        &mut DictionaryTracker::new(false),
        &IpcWriteOptions::default(),
        &mut IpcWriteContext::default(),
    )?;
    Ok(encoded.ipc_message)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::arrow::Assembler;
    use crate::parquet::to_parquet;
    use crate::run::{read_growing, read_tables};
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
        let source = path.file_stem().unwrap().to_str().unwrap();
        read_growing(path.parent().unwrap(), source).unwrap().unwrap()
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
        let library_stream = place.path().join("library_stream.arrows");
        let schema = schema(&["read_bytes".to_owned()]);
        let mut writer =
            StreamWriter::try_new(File::create(&library_stream).unwrap(), &schema).unwrap();
        let file = File::open(&path).unwrap();
        let mut assembler = Assembler::new("io");
        for batch in arrow_ipc::reader::StreamReader::try_new(file, None).unwrap() {
            let batch = batch.unwrap();
            assembler.append(&batch).unwrap();
            writer.write(&batch).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(assembler.finish(), whole_stream(&path));
        let restored = whole_stream(&library_stream);
        assert_eq!(Table { source: "io".to_owned(), ..restored }, whole_stream(&path));
    }
}
