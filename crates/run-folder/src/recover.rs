//! Reads a stream that may still grow, be truncated or damaged: every readable batch is kept, including those after a
//! damaged one.
//!
//! Messages of an Arrow stream begin with a marker at a multiple of 8 bytes and state their length. Invalid
//! bytes are skipped up to the next message. Corruption inside a batch is undetectable: the format has no
//! checksum.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::{Message, root_as_message_with_opts};
use arrow_schema::SchemaRef;
use assay_files::Dir;

use crate::arrow::{Assembler, batch, schema_of, source_of};
use crate::budget::Budget;
use crate::error::Error;
use crate::limit;
use crate::stream::BatchWriter;
use crate::table::Table;

/// Marker before each message.
const MARK: [u8; 4] = [0xff; 4];

/// Bytes of the marker and of the length that follows it.
const PREFIX: usize = 8;

/// Bytes read at once from a growing stream.
const PIECE: u64 = 16 << 20;

/// Reads a stream piece by piece, also while it grows.
pub struct Tail {
    file: File,
    growing: Growing,
    source: String,
    path: PathBuf,
    /// Bytes read so far.
    bytes: u64,
}

impl Tail {
    /// Opens `<source>.arrows` at its beginning. The file may be removed while it is open.
    pub fn open(dir: &Dir, name: &Path) -> Result<Self, Error> {
        let file = dir.read(name)?;
        let path = dir.path().join(name);
        Ok(Self { file, growing: Growing::default(), source: source_of(name), path, bytes: 0 })
    }

    /// The source of its samples.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Passes every batch completed since the last call to `take`, one table each. Damaged batches are
    /// skipped. If `take` returns `false`, reading ends for good. The values are charged to the budget of the
    /// run.
    pub fn read(
        &mut self,
        budget: &mut Budget,
        take: &mut dyn FnMut(Table) -> bool,
    ) -> Result<(), Error> {
        loop {
            let fresh = self.piece()?;
            if fresh.is_empty() {
                return Ok(());
            }
            for batch in self.growing.add(&fresh) {
                budget.take(batch.num_rows(), batch.num_columns(), &self.path)?;
                if !take(Assembler::table(&self.source, &batch, &self.path)?) {
                    return Ok(());
                }
            }
        }
    }

    /// Passes every readable batch of a stream that has ended to `take`, in order, until that returns
    /// `false`. No more of the file is in memory than one piece and one batch.
    pub(crate) fn each_batch(
        mut self,
        take: &mut dyn FnMut(&RecordBatch) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        loop {
            let fresh = self.piece()?;
            let is_end = fresh.is_empty();
            let batches = if is_end { self.growing.finish() } else { self.growing.add(&fresh) };
            for batch in batches {
                if !take(&batch)? {
                    return Ok(());
                }
            }
            if is_end {
                return Ok(());
            }
        }
    }

    /// The next bytes of the file; none at its end.
    fn piece(&mut self) -> Result<Vec<u8>, Error> {
        let mut fresh = Vec::new();
        let read = Read::by_ref(&mut self.file).take(PIECE).read_to_end(&mut fresh);
        read.map_err(|cause| Error::io("read", &self.path, &cause))?;
        // A sparse file can be of any length without using disk space.
        self.bytes += fresh.len() as u64;
        if self.bytes > limit::stream() {
            let why = format!("it is longer than {} bytes", limit::stream());
            return Err(Error::new("read", &self.path, &why).with_hint(limit::HOW_TO_LIFT));
        }
        Ok(fresh)
    }

    /// Bytes held back until the rest of their batch arrives.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.growing.bytes.len()
    }
}

/// A stream received piece by piece: bytes that do not yet form a whole batch. Without its schema it has
/// none.
#[derive(Default)]
struct Growing {
    bytes: Vec<u8>,
    /// Offset of the next message, possibly beyond the bytes received.
    at: usize,
    reader: Reader,
}

/// Largest metadata and body to wait for. A message that claims to be longer is damaged.
const LONGEST: (usize, i64) = (1 << 22, 1 << 30);

impl Growing {
    /// Adds received bytes; returns the batches that are now complete.
    fn add(&mut self, fresh: &[u8]) -> Vec<RecordBatch> {
        self.bytes.extend_from_slice(fresh);
        self.reader.received += fresh.len() as u64;
        self.complete(&may_be_incomplete)
    }

    /// The batches behind an incomplete one, when the stream has ended.
    fn finish(&mut self) -> Vec<RecordBatch> {
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
mod tests;
