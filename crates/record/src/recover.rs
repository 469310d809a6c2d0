//! Reading a stream that may be cut or damaged: every batch that can be read is kept, also behind
//! one that cannot.
//!
//! Messages of an Arrow stream begin with a mark at a multiple of 8 bytes and say how long they
//! are. What does not fit the file or is no message is passed over up to the next that is one. A
//! changed number within a batch nobody can tell from a right one: the format has no checksum.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::{Field, Message, Type, root_as_message};
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
    let mut messages = Messages { bytes, at: 0 };
    let schema = messages.find_map(|found| schema_of(found.message.header_as_schema()?));
    let length = schema.as_ref().and_then(|schema| BatchWriter::new(schema).ok());
    let length = length.map(|writer| writer.description());
    messages.filter_map(move |found| {
        // One that neither ends where another begins nor is described at the length that it has
        // here may be said to be longer or shorter than it is.
        let sound = found.is_followed || Some(found.length) == length;
        sound.then(|| batch(&found.message, found.body, schema.as_ref()?)).flatten()
    })
}

/// A stream that grows: what has come of it and is not whole yet.
#[derive(Default)]
pub(crate) struct Growing {
    bytes: Vec<u8>,
    /// Where the next message begins, which may be beyond what there is.
    at: usize,
    schema: Option<SchemaRef>,
    /// Bytes of the description of a batch.
    length: Option<usize>,
}

/// Bytes of a description, and of a body, that are waited for. One that says that it is longer is
/// damaged.
const LONGEST: (usize, i64) = (1 << 22, 1 << 30);

impl Growing {
    /// Takes what has come; the batches that are whole now.
    pub(crate) fn add(&mut self, fresh: &[u8]) -> Vec<RecordBatch> {
        self.bytes.extend_from_slice(fresh);
        let mut batches = Vec::new();
        let messages = Messages { bytes: &self.bytes, at: 0 };
        while self.at + PREFIX <= self.bytes.len() {
            let Some(found) = messages.message(self.at) else {
                if messages.comes(self.at) {
                    break;
                }
                self.at += 8;
                continue;
            };
            if self.schema.is_none() {
                self.schema = found.message.header_as_schema().and_then(schema_of);
                let writer = self.schema.as_ref().and_then(|schema| BatchWriter::new(schema).ok());
                self.length = writer.map(|writer| writer.description());
            } else if (found.is_followed || Some(found.length) == self.length)
                && let Some(schema) = &self.schema
            {
                batches.extend(batch(&found.message, found.body, schema));
            }
            self.at = found.next(self.at);
        }
        let done = self.at.min(self.bytes.len());
        self.bytes.drain(..done);
        self.at -= done;
        batches
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

/// The messages of a stream, in their order.
struct Messages<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Messages<'b> {
    fn message(&self, at: usize) -> Option<Found<'b>> {
        let prefix = self.bytes.get(at..at + PREFIX)?;
        let length = u32::from_le_bytes(prefix.get(4..)?.try_into().ok()?) as usize;
        if prefix[..4] != MARK || length == 0 || !length.is_multiple_of(8) {
            return None;
        }
        let begin = at + PREFIX + length;
        let message = root_as_message(self.bytes.get(at + PREFIX..begin)?).ok()?;
        let end = begin.checked_add(usize::try_from(message.bodyLength()).ok()?)?;
        let rest = self.bytes.get(end..)?;
        let is_followed = rest.iter().zip(MARK).all(|(byte, mark)| *byte == mark);
        Some(Found { message, length, body: &self.bytes[begin..end], is_followed })
    }
}

impl Messages<'_> {
    /// Whether what begins here may be a message of which a part is still to come.
    fn comes(&self, at: usize) -> bool {
        let rest = &self.bytes[at..];
        let Some(length) = rest.get(4..PREFIX).and_then(|length| length.try_into().ok()) else {
            return true;
        };
        let length = u32::from_le_bytes(length) as usize;
        if rest[..4] != MARK || length == 0 || !length.is_multiple_of(8) || length > LONGEST.0 {
            return false;
        }
        let Some(description) = rest.get(PREFIX..PREFIX + length) else { return true };
        let body = root_as_message(description).map_or(-1, |message| message.bodyLength());
        (0..=LONGEST.1).contains(&body) && (rest.len() - PREFIX - length) < body as usize
    }
}

impl Found<'_> {
    /// Where the message behind one at `at` begins.
    fn next(&self, at: usize) -> usize {
        let begin = at + PREFIX + self.length;
        if self.is_followed { (begin + self.body.len()).next_multiple_of(8) } else { begin }
    }
}

impl<'b> Iterator for Messages<'b> {
    type Item = Found<'b>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at + PREFIX <= self.bytes.len() {
            let Some(found) = self.message(self.at) else {
                self.at += 8;
                continue;
            };
            self.at = found.next(self.at);
            return Some(found);
        }
        None
    }
}
