//! Sample tables as Arrow: the one schema of both file formats of samples.
//!
//! Columns are `time_ns: uint64`, `subject: utf8`, then one nullable `uint64` per counter. A counter that
//! could not be read is null, never zero.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

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

/// The rows of `table` as one batch.
pub(crate) fn to_batch(table: &Table, schema: SchemaRef) -> Result<RecordBatch, ArrowError> {
    let subjects = table.subject.iter().map(|index| table.subjects[*index as usize].as_str());
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(table.time_ns.iter().copied())),
        Arc::new(StringArray::from_iter_values(subjects)),
    ];
    for column in &table.columns {
        columns.push(Arc::new(UInt64Array::from_iter(column.values.iter().copied())));
    }
    RecordBatch::try_new(schema, columns)
}

/// Whether this is the schema of samples; checked before the first row of any file is read.
pub(crate) fn check(schema: &Schema) -> Result<(), String> {
    let fields = schema.fields();
    if fields.len() > limit::COLUMNS {
        return Err(format!("it has {} columns; the limit is {}", fields.len(), limit::COLUMNS));
    }
    let fixed = [("time_ns", DataType::UInt64), ("subject", DataType::Utf8)];
    let expected = fixed.iter().map(|(name, kind)| (Some(*name), kind));
    let expected = expected.chain(std::iter::repeat((None, &DataType::UInt64)));
    if fields.len() < fixed.len() {
        return Err(format!(
            "it has {} columns, expected `time_ns`, `subject` and their counters",
            fields.len()
        ));
    }
    let mut names = HashSet::new();
    for (index, (field, (name, kind))) in fields.iter().zip(expected).enumerate() {
        let actual = field.name();
        if field.data_type() != kind || name.is_some_and(|name| name != actual) {
            let name = name.unwrap_or(actual);
            let kind = kind.to_string().to_lowercase();
            return Err(format!(
                "column {index} is `{actual}` of {}, expected `{name}` of {kind}",
                field.data_type().to_string().to_lowercase()
            ));
        }
        if !names.insert(actual) {
            return Err(format!("it has two columns `{actual}`"));
        }
        if actual.len() > limit::NAME {
            return Err(format!("a counter's name has more than {} bytes", limit::NAME));
        }
    }
    Ok(())
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

/// An error for a file that does not hold samples.
pub(crate) fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::new("read", path, why)
        .with_hint("it was damaged by a copy or a disk, or not written by Assay; copy it again")
}

/// Builds one table from many batches.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    table: Table,
    known: HashMap<String, u32>,
    /// Memory cost of the names seen so far.
    names: u64,
    begun: bool,
}

impl Assembler {
    pub(crate) fn new(source: &str) -> Self {
        Self {
            table: Table { source: source.to_owned(), ..Table::default() },
            known: HashMap::new(),
            names: 0,
            begun: false,
        }
    }

    /// Appends a batch; refuses one that does not have the schema of samples or differs from earlier batches.
    /// Returns the memory cost of names new in this batch ([`Budget::take_names`]).
    pub(crate) fn append(&mut self, batch: &RecordBatch) -> Result<u64, String> {
        let schema = batch.schema();
        if !self.begun {
            check(&schema)?;
            let counters = schema.fields().iter().skip(2);
            self.table.columns = counters
                .map(|field| Column { name: field.name().clone(), values: Vec::new() })
                .collect();
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

    pub(crate) fn finish(self) -> Table {
        self.table
    }
}
