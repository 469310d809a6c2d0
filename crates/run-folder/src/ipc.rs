//! Encodes batches of an Arrow stream without intermediate copies: rows go from their buffers into one
//! message that reuses its memory (Arrow columnar format, "Serialization and Interprocess Communication").
//!
//! All batches of a stream have the same shape, so the Arrow library builds the metadata in front of the rows
//! once, and the numbers in it are replaced for each batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
use arrow_ipc::{Message, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

use crate::rows::RowBuffer;

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
    pub(crate) fn encode(&mut self, rows: &RowBuffer) -> &[u8] {
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
            message.reserve(values.len() * 8);
            for value in values {
                message.extend_from_slice(&value.to_le_bytes());
            }
        });
    }

    /// The subjects' names: offsets, then the text.
    fn names(&mut self, rows: &RowBuffer) {
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
