//! Reads a stream that may be truncated or damaged: every readable batch is kept, including those after a
//! damaged one.
//!
//! Messages of an Arrow stream begin with a marker at a multiple of 8 bytes and state their length. Invalid
//! bytes are skipped up to the next message. Corruption inside a batch is undetectable: the format has no
//! checksum.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::{Field, Message, Type, root_as_message_with_opts};
use arrow_schema::SchemaRef;

use crate::arrow::{check, schema};
use crate::ipc::BatchWriter;
use crate::limit;

/// Marker before each message.
const MARK: [u8; 4] = [0xff; 4];

/// Bytes of the marker and of the length that follows it.
const PREFIX: usize = 8;

/// A stream received piece by piece: bytes that do not yet form a whole batch. Without its schema it has
/// none.
#[derive(Default)]
pub(crate) struct Growing {
    bytes: Vec<u8>,
    /// Offset of the next message, possibly beyond the bytes received.
    at: usize,
    reader: Reader,
}

/// Largest metadata and body to wait for. A message that claims to be longer is damaged.
const LONGEST: (usize, i64) = (1 << 22, 1 << 30);

impl Growing {
    /// Adds received bytes; returns the batches that are now complete.
    pub(crate) fn add(&mut self, fresh: &[u8]) -> Vec<RecordBatch> {
        self.bytes.extend_from_slice(fresh);
        self.reader.received += fresh.len() as u64;
        self.complete(&may_be_incomplete)
    }

    /// The batches behind an incomplete one, when the stream has ended.
    pub(crate) fn finish(&mut self) -> Vec<RecordBatch> {
        self.complete(&|_| false)
    }

    fn complete(&mut self, may_be_incomplete: &dyn Fn(&[u8]) -> bool) -> Vec<RecordBatch> {
        let mut batches = Vec::new();
        while let Some(batch) = self.reader.next(&self.bytes, &mut self.at, may_be_incomplete) {
            batches.push(batch);
        }
        let consumed = self.at.min(self.bytes.len());
        self.bytes.drain(..consumed);
        self.at -= consumed;
        batches
    }

    /// Bytes held back.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len()
    }
}

/// State of a stream and the work spent on it. A forged stream can nest as many messages within one another
/// as it has bytes, so that each would be parsed and returned with everything behind it; the counts below
/// limit this.
#[derive(Default)]
struct Reader {
    schema: Option<SchemaRef>,
    /// Bytes of the metadata of a batch.
    length: Option<usize>,
    /// Bytes of the stream so far,
    received: u64,
    /// bytes of metadata and rows parsed without a result,
    wasted: u64,
    /// and bytes of the rows returned.
    rows: u64,
}

/// Bytes that may be parsed without a result, per byte of the stream and in any stream. Messages of a
/// stream damaged by accident rarely overlap: only where a length was damaged.
const WASTED: (u64, u64) = (16, 1 << 20);

/// Bytes of rows returned, per byte of the stream. Batches do not share bytes, except one whose offsets were
/// damaged.
const ROWS: u64 = 2;

impl Reader {
    /// The next batch from `at` on; `None` if the rest may be an incomplete message (`may_be_incomplete`).
    fn next(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        may_be_incomplete: &dyn Fn(&[u8]) -> bool,
    ) -> Option<RecordBatch> {
        while *at + PREFIX <= bytes.len() && self.within_limits() {
            let rest = &bytes[*at..];
            let Some(parsed) = message(rest) else {
                if may_be_incomplete(rest) {
                    return None;
                }
                self.wasted += description(rest).map_or(0, |parsed| parsed.len() as u64);
                *at += 8 + to_next_mark(&rest[8..]);
                continue;
            };
            *at += parsed.next();
            if let Some(batch) = self.take(&parsed) {
                return Some(batch);
            }
        }
        None
    }

    fn within_limits(&self) -> bool {
        self.wasted <= self.received * WASTED.0 + WASTED.1 && self.rows <= self.received * ROWS
    }

    fn take(&mut self, parsed: &StreamMessage<'_>) -> Option<RecordBatch> {
        let Some(schema) = &self.schema else {
            self.schema = parsed.message.header_as_schema().and_then(schema_of);
            let writer = self.schema.as_ref().and_then(|schema| BatchWriter::new(schema).ok());
            self.length = writer.map(|writer| writer.description());
            return None;
        };
        // The declared length of a message that neither ends where another begins nor has metadata of the
        // expected length cannot be trusted.
        let sound = parsed.is_followed || Some(parsed.length) == self.length;
        let batch = sound.then(|| batch(&parsed.message, parsed.body, schema)).flatten();
        match &batch {
            Some(batch) => self.rows += (batch.num_rows() * batch.num_columns() * 8) as u64,
            None => self.wasted += parsed.body.len() as u64,
        }
        batch
    }
}

/// Builds a schema of `time_ns`, `subject` and counters; `None` for any other. The library's own parser
/// panics on damaged schemas.
fn schema_of(parsed: arrow_ipc::Schema<'_>) -> Option<SchemaRef> {
    let fields = parsed.fields()?;
    if fields.len() > limit::COLUMNS {
        return None;
    }
    let is_number = |field: &Field<'_>| {
        field.type_as_int().is_some_and(|int| int.bitWidth() == 64 && !int.is_signed())
    };
    let mut kinds = fields.iter();
    let is_ours = kinds.next().is_some_and(|field| is_number(&field))
        && kinds.next().is_some_and(|field| field.type_type() == Type::Utf8)
        && kinds.all(|field| is_number(&field));
    let names = fields.iter().skip(2).map(|field| field.name().map(str::to_owned));
    let names = is_ours.then(|| names.collect::<Option<Vec<_>>>()).flatten();
    names.map(|names| schema(&names)).filter(|schema| check(schema).is_ok())
}

/// The rows of a batch. They are decoded here, since the library panics on offsets and lengths that no writer
/// produces.
fn batch(message: &Message<'_>, body: &[u8], schema: &SchemaRef) -> Option<RecordBatch> {
    let batch = message.header_as_record_batch()?;
    let rows = usize::try_from(batch.length()).ok()?;
    let nodes = batch.nodes()?;
    let sound = nodes.len() == schema.fields().len()
        && nodes.iter().all(|node| usize::try_from(node.length()) == Ok(rows));
    if !sound || batch.compression().is_some() {
        return None;
    }
    let buffers = batch.buffers()?;
    // Buffers must not share bytes: the body is as long as all of them together, so that memory use is
    // bounded by the size of the file.
    let lengths = buffers
        .iter()
        .try_fold(0_u64, |sum, buffer| sum.checked_add(u64::try_from(buffer.length()).ok()?));
    if lengths? > body.len() as u64 {
        return None;
    }
    let mut buffers = buffers.iter().map(|buffer| {
        let offset = usize::try_from(buffer.offset()).ok()?;
        body.get(offset..offset.checked_add(usize::try_from(buffer.length()).ok()?)?)
    });
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(nodes.len());
    for (column, node) in nodes.iter().enumerate() {
        let present = buffers.next()??;
        let present = (node.null_count() != 0).then_some(present);
        let values = buffers.next()??;
        columns.push(match column {
            1 => Arc::new(names(values, buffers.next()??, rows)?),
            _ => Arc::new(numbers(present, values, rows)?),
        });
    }
    RecordBatch::try_new(SchemaRef::clone(schema), columns).ok()
}

fn numbers(present: Option<&[u8]>, values: &[u8], rows: usize) -> Option<UInt64Array> {
    let values = values.get(..rows.checked_mul(8)?)?;
    if present.is_some_and(|bits| bits.len() < rows.div_ceil(8)) {
        return None;
    }
    let values = values.chunks_exact(8).enumerate().map(|(row, value)| {
        let is_present = present.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
        value.try_into().ok().filter(|_| is_present).map(u64::from_le_bytes)
    });
    Some(values.collect())
}

/// Decodes names; `ends` holds the start of each name and the end of the last.
fn names(ends: &[u8], text: &[u8], rows: usize) -> Option<StringArray> {
    let ends = ends.get(..rows.checked_add(1)?.checked_mul(4)?)?;
    let ends: Vec<usize> = ends
        .chunks_exact(4)
        .filter_map(|end| Some(u32::from_le_bytes(end.try_into().ok()?) as usize))
        .collect();
    // Arrow panics if names exceed its 31-bit offsets, and longer names are invalid anyway, so lengths are
    // checked first.
    let is_name = |ends: &[usize]| ends[0] <= ends[1] && ends[1] - ends[0] <= limit::NAME;
    if *ends.last()? > i32::MAX as usize || !ends.windows(2).all(is_name) {
        return None;
    }
    let name = |ends: &[usize]| std::str::from_utf8(text.get(ends[0]..ends[1])?).ok();
    let names: Option<Vec<&str>> = ends.windows(2).map(name).collect();
    Some(StringArray::from_iter_values(names?))
}

/// Bytes up to the next marker, or to the last bytes that are too few for one.
fn to_next_mark(stream: &[u8]) -> usize {
    let (words, _) = stream.as_chunks::<8>();
    8 * words.iter().position(|word| word.starts_with(&MARK)).unwrap_or(words.len())
}

/// One message found in a stream.
struct StreamMessage<'b> {
    message: Message<'b>,
    /// Bytes of its metadata.
    length: usize,
    body: &'b [u8],
    /// Whether another message or the end of the stream follows.
    is_followed: bool,
}

/// The metadata of the message at the start of `stream`, if complete.
fn description(stream: &[u8]) -> Option<&[u8]> {
    stream.get(PREFIX..PREFIX + declared_length(stream)?)
}

/// The declared length of the metadata of the message at the start of `stream`; `None` if no message begins
/// there.
fn declared_length(stream: &[u8]) -> Option<usize> {
    let prefix = stream.get(..PREFIX)?;
    let length = u32::from_le_bytes(prefix[4..].try_into().ok()?) as usize;
    let sound = length != 0 && length.is_multiple_of(8) && length <= LONGEST.0;
    (prefix[..4] == MARK && sound).then_some(length)
}

/// Parses metadata. Forged metadata can declare parts nested in one another, which would then be verified in
/// every combination; the limit on the apparent size prevents this.
fn read(description: &[u8]) -> Option<Message<'_>> {
    // The library does not export the name of this type; the use below lets the compiler infer it.
    let mut options = Default::default();
    let _ = root_as_message_with_opts(&options, &[]);
    // Every part and its list of fields, which many parts share.
    options.max_apparent_size = 1024 + 4 * description.len();
    root_as_message_with_opts(&options, description).ok()
}

/// The message at the start of `stream`.
fn message(stream: &[u8]) -> Option<StreamMessage<'_>> {
    let description = description(stream)?;
    let message = read(description)?;
    let begin = PREFIX + description.len();
    let end = begin.checked_add(usize::try_from(message.bodyLength()).ok()?)?;
    let rest = stream.get(end..)?;
    let is_followed = rest.iter().zip(MARK).all(|(byte, mark)| *byte == mark);
    Some(StreamMessage {
        message,
        length: description.len(),
        body: &stream[begin..end],
        is_followed,
    })
}

/// Whether an incomplete message may begin here.
fn may_be_incomplete(stream: &[u8]) -> bool {
    let Some(length) = declared_length(stream) else { return false };
    let Some(description) = description(stream) else { return true };
    let body = read(description).map_or(-1, |message| message.bodyLength());
    (0..=LONGEST.1).contains(&body) && stream.len() - PREFIX - length < body as usize
}

impl StreamMessage<'_> {
    /// Offset of the next message relative to this one.
    fn next(&self) -> usize {
        let begin = PREFIX + self.length;
        if self.is_followed { begin + self.body.len().next_multiple_of(8) } else { begin }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::stream::SampleStream;
    use crate::table::{Column, Table};

    /// A stream with one batch, as written by [`SampleStream`], and the offset of its second message.
    fn stream(columns: usize, rows: usize) -> (Vec<u8>, usize) {
        let place = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..columns).map(|column| format!("counter_{column}")).collect();
        let mut stream = SampleStream::create(place.path(), "io", &names).unwrap();
        let columns = names.into_iter().map(|name| Column { name, values: vec![Some(0); rows] });
        let table = Table {
            source: "io".to_owned(),
            time_ns: vec![0; rows],
            subject: vec![0; rows],
            subjects: vec![String::new()],
            columns: columns.collect(),
        };
        stream.append(&table).unwrap();
        stream.finish().unwrap();
        let bytes = std::fs::read(place.path().join("io.arrows")).unwrap();
        let second = PREFIX + description(&bytes).unwrap().len();
        (bytes, second)
    }

    fn rows(batches: &[RecordBatch]) -> usize {
        batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows of a stream that has ended, and those that a program following it has read by then.
    fn rows_of(bytes: &[u8]) -> (usize, usize) {
        let mut growing = Growing::default();
        let followed = rows(&growing.add(bytes));
        (followed + rows(&growing.finish()), followed)
    }

    /// Each header finds the rows of the next one behind it, and takes what follows as its own.
    #[test]
    fn nested_batches_cost_no_more_than_the_file() {
        const ROWS: usize = 4096;
        const HEADERS: usize = 64;
        let (bytes, second) = stream(1, ROWS);
        let header = PREFIX + description(&bytes[second..]).unwrap().len();
        assert!(HEADERS * header < ROWS * 8, "they fit into the column of times");
        let mut forged = bytes[..second + header].to_vec();
        for _ in 1..HEADERS {
            forged.extend_from_slice(&bytes[second..second + header]);
        }
        forged.extend_from_slice(&bytes[second + header..]);
        assert_eq!(rows_of(&bytes).0, ROWS);
        let most = 4 * forged.len() / (3 * 8);
        let (whole, followed) = rows_of(&forged);
        assert!(whole <= most && followed <= most, "{whole} rows of {} bytes", forged.len());
    }

    /// Markers every 16 bytes lead to one long metadata block that is damaged at its end.
    #[test]
    fn markers_that_share_metadata_cost_no_more_than_the_file() {
        const MARKS: usize = 8192;
        let (bytes, _) = stream(2000, 1);
        let mut long = description(&bytes).unwrap().to_vec();
        let last = long.windows(13).position(|part| part == b"counter_1999\0").unwrap();
        long[last] = 0xff;
        let root = u32::from_le_bytes(long[..4].try_into().unwrap()) as usize;
        let whole = 16 * MARKS + long.len();
        let mut forged = Vec::new();
        for mark in 0..MARKS {
            let begin = 16 * mark + PREFIX;
            forged.extend_from_slice(&MARK);
            forged.extend_from_slice(&((whole - begin) as u32).to_le_bytes());
            forged.extend_from_slice(&((16 * MARKS + root - begin) as u32).to_le_bytes());
            forged.extend_from_slice(&[0; 4]);
        }
        forged.extend_from_slice(&long);
        assert!(read(&long).is_none());
        let begun = Instant::now();
        assert_eq!(rows_of(&forged).0, 0);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    /// Arrow counts the bytes of all names of a batch in 31 bits, and panics where there are more.
    #[test]
    fn names_beyond_arrows_offsets_are_refused() {
        let bytes =
            |ends: &[u32]| -> Vec<u8> { ends.iter().flat_map(|end| end.to_le_bytes()).collect() };
        // Untouched pages take no memory.
        let text = vec![0_u8; (1 << 31) + 1];
        assert!(names(&bytes(&[0, 1 << 31]), &text, 1).is_none());
        let rows = 1_u32 << 19;
        let ends: Vec<u32> = (0..=rows).map(|name| name * 4096).collect();
        assert!(names(&bytes(&ends), &text, rows as usize).is_none());
        assert!(names(&bytes(&[0, 4097]), &text, 1).is_none(), "a name that is too long");
        assert!(names(&bytes(&[8, 0]), &text, 1).is_none());
        assert_eq!(names(&bytes(&[0, 4096, 4096]), &text, 2).unwrap().value(0).len(), 4096);
    }
}
