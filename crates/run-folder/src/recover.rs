//! Reading a stream that may be cut or damaged: every batch that can be read is kept, also behind
//! one that cannot.
//!
//! Messages of an Arrow stream begin with a mark at a multiple of 8 bytes and say how long they
//! are. What does not fit the file or is no message is passed over up to the next that is one. A
//! changed number within a batch nobody can tell from a right one: the format has no checksum.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::{Field, Message, Type, root_as_message_with_opts};
use arrow_schema::SchemaRef;

use crate::arrow::{check, schema};
use crate::ipc::BatchWriter;
use crate::limit;

/// Stands before each message.
const MARK: [u8; 4] = [0xff; 4];

/// Bytes of the mark and of the length that follows it.
const PREFIX: usize = 8;

/// All batches of a stream that can be read, in their order. Without its schema there are none.
pub(crate) fn batches(bytes: &[u8]) -> impl Iterator<Item = RecordBatch> + '_ {
    let mut reader = Reader { come: bytes.len() as u64, ..Reader::default() };
    let mut at = 0;
    std::iter::from_fn(move || reader.next(bytes, &mut at, &|_| false))
}

/// A stream that grows: what has come of it and is not whole yet.
#[derive(Default)]
pub(crate) struct Growing {
    bytes: Vec<u8>,
    /// Where the next message begins, which may be beyond what there is.
    at: usize,
    reader: Reader,
}

/// Bytes of a description, and of a body, that are waited for. One that says that it is longer is
/// damaged.
const LONGEST: (usize, i64) = (1 << 22, 1 << 30);

impl Growing {
    /// Takes what has come; the batches that are whole now.
    pub(crate) fn add(&mut self, fresh: &[u8]) -> Vec<RecordBatch> {
        self.bytes.extend_from_slice(fresh);
        self.reader.come += fresh.len() as u64;
        let mut batches = Vec::new();
        while let Some(batch) = self.reader.next(&self.bytes, &mut self.at, &comes) {
            batches.push(batch);
        }
        let done = self.at.min(self.bytes.len());
        self.bytes.drain(..done);
        self.at -= done;
        batches
    }

    /// Bytes that are held.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len()
    }
}

/// What is known of a stream, and what it has cost. Whoever makes one up can let messages begin in one
/// another, as many as it has bytes, so that each is looked at, and handed over, with all that follows.
#[derive(Default)]
struct Reader {
    schema: Option<SchemaRef>,
    /// Bytes of the description of a batch.
    length: Option<usize>,
    /// Bytes of the stream so far,
    come: u64,
    /// of descriptions and rows that were none,
    in_vain: u64,
    /// and of the rows that were handed over.
    rows: u64,
}

/// Bytes that may be looked at in vain, for each byte of a stream and in any. Those of a stream that
/// was damaged do not lie in one another, but for some of which the length was.
const IN_VAIN: (u64, u64) = (16, 1 << 20);

/// Bytes of rows for each byte of a stream. No two batches share theirs, but for one whose place was
/// damaged.
const ROWS: u64 = 2;

impl Reader {
    /// The next batch from `at` on; none beyond what `comes` says is still to come.
    fn next(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        comes: &dyn Fn(&[u8]) -> bool,
    ) -> Option<RecordBatch> {
        while *at + PREFIX <= bytes.len() && self.is_worth_it() {
            let rest = &bytes[*at..];
            let Some(found) = message(rest) else {
                if comes(rest) {
                    return None;
                }
                self.in_vain += description(rest).map_or(0, |found| found.len() as u64);
                *at += 8;
                continue;
            };
            *at += found.next();
            if let Some(batch) = self.take(&found) {
                return Some(batch);
            }
        }
        None
    }

    fn is_worth_it(&self) -> bool {
        self.in_vain <= self.come * IN_VAIN.0 + IN_VAIN.1 && self.rows <= self.come * ROWS
    }

    fn take(&mut self, found: &Found<'_>) -> Option<RecordBatch> {
        let Some(schema) = &self.schema else {
            self.schema = found.message.header_as_schema().and_then(schema_of);
            let writer = self.schema.as_ref().and_then(|schema| BatchWriter::new(schema).ok());
            self.length = writer.map(|writer| writer.description());
            return None;
        };
        // One that neither ends where another begins nor is described at the length that it has
        // here may be said to be longer or shorter than it is.
        let sound = found.is_followed || Some(found.length) == self.length;
        let batch = sound.then(|| batch(&found.message, found.body, schema)).flatten();
        match &batch {
            Some(batch) => self.rows += (batch.num_rows() * batch.num_columns() * 8) as u64,
            None => self.in_vain += found.body.len() as u64,
        }
        batch
    }
}

/// A schema of `time_ns`, `subject` and counters; none for any other. The library's own reader of
/// schemas panics at one that is damaged.
fn schema_of(found: arrow_ipc::Schema<'_>) -> Option<SchemaRef> {
    let fields = found.fields()?;
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

/// The rows of a batch. They are taken from the bytes here, since the library panics at places and
/// lengths that no writer writes.
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
    // No two share bytes: a body is as long as all of them, so that rows cost what they take.
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
        let there = present.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
        value.try_into().ok().filter(|_| there).map(u64::from_le_bytes)
    });
    Some(values.collect())
}

/// `ends` has where each name begins, and where the last ends.
fn names(ends: &[u8], text: &[u8], rows: usize) -> Option<StringArray> {
    let ends = ends.get(..rows.checked_add(1)?.checked_mul(4)?)?;
    let ends: Vec<usize> = ends
        .chunks_exact(4)
        .filter_map(|end| Some(u32::from_le_bytes(end.try_into().ok()?) as usize))
        .collect();
    // More than Arrow counts makes it panic, and no name is as long: nothing of them is looked at.
    let is_name = |ends: &[usize]| ends[0] <= ends[1] && ends[1] - ends[0] <= limit::NAME;
    if *ends.last()? > i32::MAX as usize || !ends.windows(2).all(is_name) {
        return None;
    }
    let name = |ends: &[usize]| std::str::from_utf8(text.get(ends[0]..ends[1])?).ok();
    let names: Option<Vec<&str>> = ends.windows(2).map(name).collect();
    Some(StringArray::from_iter_values(names?))
}

/// One message.
struct Found<'b> {
    message: Message<'b>,
    /// Bytes of its description.
    length: usize,
    body: &'b [u8],
    /// Whether another follows, or the end.
    is_followed: bool,
}

/// The description of the message that a stream begins with, as far as it is all there.
fn description(stream: &[u8]) -> Option<&[u8]> {
    stream.get(PREFIX..PREFIX + said_length(stream)?)
}

/// Of how many bytes the message that a stream begins with says that its description is; none where it
/// begins with no message.
fn said_length(stream: &[u8]) -> Option<usize> {
    let prefix = stream.get(..PREFIX)?;
    let length = u32::from_le_bytes(prefix[4..].try_into().ok()?) as usize;
    let sound = length != 0 && length.is_multiple_of(8) && length <= LONGEST.0;
    (prefix[..4] == MARK && sound).then_some(length)
}

/// Reads a description. Its parts may be said to lie in one another, which nobody writes, and would
/// then be looked at as often as they can be combined.
fn read(description: &[u8]) -> Option<Message<'_>> {
    // The library does not show the name of this type; this use says which it is.
    let mut options = Default::default();
    let _ = root_as_message_with_opts(&options, &[]);
    // Every part, and for each the list of its fields, which many parts share.
    options.max_apparent_size = 1024 + 4 * description.len();
    root_as_message_with_opts(&options, description).ok()
}

/// The message that a stream begins with.
fn message(stream: &[u8]) -> Option<Found<'_>> {
    let description = description(stream)?;
    let message = read(description)?;
    let begin = PREFIX + description.len();
    let end = begin.checked_add(usize::try_from(message.bodyLength()).ok()?)?;
    let rest = stream.get(end..)?;
    let is_followed = rest.iter().zip(MARK).all(|(byte, mark)| *byte == mark);
    Some(Found { message, length: description.len(), body: &stream[begin..end], is_followed })
}

/// Whether what begins here may be a message of which a part is still to come.
fn comes(stream: &[u8]) -> bool {
    let Some(length) = said_length(stream) else { return false };
    let Some(description) = description(stream) else { return true };
    let body = read(description).map_or(-1, |message| message.bodyLength());
    (0..=LONGEST.1).contains(&body) && stream.len() - PREFIX - length < body as usize
}

impl Found<'_> {
    /// Where the next message begins, if this one does at 0.
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

    /// A stream with one batch, as it is written; `second` begins its second message.
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

    fn rows(batches: impl Iterator<Item = RecordBatch>) -> usize {
        batches.map(|batch| batch.num_rows()).sum()
    }

    /// Each header finds the rows of the next behind it, and takes what follows for its own.
    #[test]
    fn batches_that_lie_in_one_another_cost_no_more_than_the_file() {
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
        assert_eq!(rows(batches(&bytes)), ROWS);
        let most = 4 * forged.len() / (3 * 8);
        let found = rows(batches(&forged));
        assert!(found <= most, "{found} rows of {} bytes", forged.len());
        let found = rows(Growing::default().add(&forged).into_iter());
        assert!(found <= most, "{found} rows of {} bytes, growing", forged.len());
    }

    /// Marks every 16 bytes lead to one long description, whose damage shows at its end.
    #[test]
    fn marks_that_lead_to_the_same_description_cost_no_more_than_the_file() {
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
        assert_eq!(rows(batches(&forged)), 0);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    /// Arrow counts the bytes of all names of a batch in 31 bits, and panics where there are more.
    #[test]
    fn names_that_arrow_cannot_count_are_no_batch() {
        let bytes =
            |ends: &[u32]| -> Vec<u8> { ends.iter().flat_map(|end| end.to_le_bytes()).collect() };
        // Pages that nobody has looked at take no memory.
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
