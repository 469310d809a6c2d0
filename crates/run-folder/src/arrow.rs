//! Sample tables as Arrow: the one schema of both file formats of samples.
//!
//! Columns are `time_ns: uint64`, `subject: utf8`, then one nullable `uint64` per counter. A counter that
//! could not be read is null, never zero.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::{Message, Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::budget::Budget;
use crate::error::Error;
use crate::limit;
use crate::table::{Column, Table};

/// The schema of a source with these counters.
pub(crate) fn schema(columns: &[String]) -> SchemaRef {
    let fixed = [
        Field::new("time_ns", DataType::UInt64, false),
        Field::new("subject", DataType::Utf8, false),
    ];
    let counters = columns.iter().map(|name| Field::new(name, DataType::UInt64, true));
    Arc::new(Schema::new(fixed.into_iter().chain(counters).collect::<Vec<_>>()))
}

/// What to do about a file that does not hold samples.
const DAMAGED: &str = "it was damaged by a copy or a disk, or not written by Assay; copy it again";

/// What to do about a column of another type, which programs make of samples that they write again.
const RETYPED: &str = "write it with that type: a counter is a whole number or null, of which pandas makes a \
                       floating-point number unless it reads with `dtype_backend=\"pyarrow\"`";

/// Why a schema is not that of samples.
#[derive(Debug)]
pub(crate) struct Mismatch {
    why: String,
    hint: &'static str,
}

impl Mismatch {
    pub(crate) fn at(self, path: &Path) -> Error {
        Error::new("read", path, &self.why).with_hint(self.hint)
    }
}

impl From<String> for Mismatch {
    fn from(why: String) -> Self {
        Self { why, hint: DAMAGED }
    }
}

/// Whether this is the schema of samples; checked before the first row of any file is read.
pub(crate) fn check(schema: &Schema) -> Result<(), Mismatch> {
    let fields = schema.fields();
    if fields.len() > limit::COLUMNS {
        let why = format!("it has {} columns; the limit is {}", fields.len(), limit::COLUMNS);
        return Err(why.into());
    }
    let fixed = [("time_ns", DataType::UInt64), ("subject", DataType::Utf8)];
    let expected = fixed.iter().map(|(name, kind)| (Some(*name), kind));
    let expected = expected.chain(std::iter::repeat((None, &DataType::UInt64)));
    if fields.len() < fixed.len() {
        let why = "expected `time_ns`, `subject` and their counters";
        return Err(format!("it has {} columns, {why}", fields.len()).into());
    }
    let mut names = HashSet::new();
    for (index, (field, (name, kind))) in fields.iter().zip(expected).enumerate() {
        let actual = field.name();
        let kinds = || [field.data_type(), kind].map(|kind| kind.to_string().to_lowercase());
        if let Some(name) = name.filter(|name| name != actual) {
            let [found, kind] = kinds();
            let why =
                format!("column {index} is `{actual}` of {found}, expected `{name}` of {kind}");
            return Err(why.into());
        }
        if actual.len() > limit::NAME {
            return Err(format!("a counter's name has more than {} bytes", limit::NAME).into());
        }
        if field.data_type() != kind {
            let [found, kind] = kinds();
            let why = format!("its column `{actual}` is {found}, expected {kind}");
            return Err(Mismatch { why, hint: RETYPED });
        }
        if !names.insert(actual) {
            return Err(format!("it has two columns `{actual}`").into());
        }
    }
    Ok(())
}

/// Builds a schema of `time_ns`, `subject` and counters; `None` for any other. The library's own parser
/// panics on damaged schemas.
pub(crate) fn schema_of(parsed: arrow_ipc::Schema<'_>) -> Option<SchemaRef> {
    let fields = parsed.fields()?;
    if fields.len() > limit::COLUMNS {
        return None;
    }
    let is_number = |field: &arrow_ipc::Field<'_>| {
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
pub(crate) fn batch(message: &Message<'_>, body: &[u8], schema: &SchemaRef) -> Option<RecordBatch> {
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
pub(crate) fn names(ends: &[u8], text: &[u8], rows: usize) -> Option<StringArray> {
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

/// The subject of each row; names longer than the limit are refused.
pub(crate) fn subjects(batch: &RecordBatch) -> Result<&StringArray, String> {
    let names = batch.column(1).as_any().downcast_ref::<StringArray>();
    let names = names.ok_or("the second column is not text")?;
    let ends = names.value_offsets();
    match ends.windows(2).all(|ends| (ends[1] - ends[0]) as usize <= limit::NAME) {
        true => Ok(names),
        false => Err(format!("a subject's name has more than {} bytes", limit::NAME)),
    }
}

/// The source that a file of samples is named after.
pub(crate) fn source_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An error for a file that does not hold samples.
pub(crate) fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::new("read", path, why).with_hint(DAMAGED)
}

/// Builds one table from many batches.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    table: Table,
    known: HashMap<String, u32>,
    /// Memory cost of the names seen so far.
    names: u64,
    begun: bool,
    /// Rows for which there shall be space from the first batch on: a vector that grows takes twice its length, and what it has
    /// grown out of.
    rows: usize,
}

impl Assembler {
    pub(crate) fn new(source: &str) -> Self {
        let table = Table { source: source.to_owned(), ..Table::default() };
        Self { table, ..Self::default() }
    }

    /// How many rows all batches have, if that is known before the first.
    pub(crate) fn expect_rows(&mut self, rows: usize) {
        self.rows = rows;
    }

    /// The table of one batch.
    pub(crate) fn table(source: &str, batch: &RecordBatch, path: &Path) -> Result<Table, Error> {
        let mut assembler = Self::new(source);
        assembler.append(batch).map_err(|cause| damaged(path, &cause))?;
        Ok(assembler.finish())
    }

    /// Appends a batch; refuses one that does not have the schema of samples or differs from earlier batches.
    /// Returns the memory cost of names new in this batch ([`Budget::take_names`]).
    pub(crate) fn append(&mut self, batch: &RecordBatch) -> Result<u64, String> {
        let schema = batch.schema();
        if !self.begun {
            check(&schema).map_err(|mismatch| mismatch.why)?;
            let counters = schema.fields().iter().skip(2);
            let values = || Vec::with_capacity(self.rows);
            self.table.columns = counters
                .map(|field| Column { name: field.name().clone(), values: values() })
                .collect();
            self.table.time_ns.reserve_exact(self.rows);
            self.table.subject.reserve_exact(self.rows);
            self.begun = true;
        }
        let names = schema.fields().iter().skip(2).map(|field| field.name());
        if !names.eq(self.table.columns.iter().map(|column| &column.name)) {
            return Err("its batches have different columns".to_owned());
        }
        if [0, 1].iter().any(|index| batch.column(*index).null_count() > 0) {
            return Err("a row has no time or no subject".to_owned());
        }
        let numbers = |index: usize| {
            batch.column(index).as_any().downcast_ref::<UInt64Array>().ok_or_else(|| {
                format!("column {} is not uint64", batch.schema().field(index).name())
            })
        };
        let subjects = subjects(batch)?;
        let names_before = self.names;
        self.table.time_ns.extend(numbers(0)?.values());
        for row in 0..batch.num_rows() {
            let index = self.subject(subjects.value(row));
            self.table.subject.push(index);
        }
        for (index, column) in self.table.columns.iter_mut().enumerate() {
            column.values.extend(numbers(index + 2)?.iter());
        }
        Ok(self.names - names_before)
    }

    fn subject(&mut self, name: &str) -> u32 {
        if let Some(index) = self.known.get(name) {
            return *index;
        }
        let index = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        self.names += Budget::cost(name);
        self.known.insert(name.to_owned(), index);
        self.table.subjects.push(name.to_owned());
        index
    }

    /// The table, with no space for more rows.
    pub(crate) fn finish(mut self) -> Table {
        self.table.time_ns.shrink_to_fit();
        self.table.subject.shrink_to_fit();
        self.table.columns.iter_mut().for_each(|column| column.values.shrink_to_fit());
        self.table
    }
}
