//! Tables as Parquet, in row groups of bounded size.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use assay_files::{Dir, Draft};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::cell::{Cell, Sink};
use crate::columns::{Kind, Shape};
use crate::error::Error;

/// Rows per record batch passed to the encoder.
const BATCH: usize = 1 << 14;

/// Rows per row group: bounds the encoded data that the writer holds in memory.
const GROUP: usize = 1 << 18;

/// A Parquet file, moved to its final path when complete.
pub(crate) struct Parquet {
    writer: ArrowWriter<Draft>,
    schema: SchemaRef,
    columns: Vec<Builder>,
    rows: usize,
    path: PathBuf,
}

enum Builder {
    Text(StringBuilder),
    Whole(UInt64Builder),
    Number(Float64Builder),
    Flag(BooleanBuilder),
}

impl Parquet {
    pub(crate) fn create(folder: &Dir, shape: &Shape) -> Result<Self, Error> {
        let draft = folder.draft(format!("{}.parquet", shape.name))?;
        let path = draft.path().to_owned();
        let schema = schema(shape);
        let properties =
            WriterProperties::builder().set_max_row_group_row_count(Some(GROUP)).build();
        let writer = ArrowWriter::try_new(draft, SchemaRef::clone(&schema), Some(properties))
            .map_err(|cause| Error::write(&path, &cause))?;
        let columns = shape.columns.iter().map(|column| Builder::new(column.kind)).collect();
        Ok(Self { writer, schema, columns, rows: 0, path })
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(Builder::take).collect();
        self.rows = 0;
        let batch = RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)
            .map_err(|cause| Error::write(&self.path, &cause))?;
        self.writer.write(&batch).map_err(|cause| Error::write(&self.path, &cause))
    }
}

impl Sink for Parquet {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(*cell);
        }
        self.rows += 1;
        if self.rows >= BATCH { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.flush()?;
        let Self { writer, path, .. } = *self;
        let draft = writer.into_inner().map_err(|cause| Error::write(&path, &cause))?;
        Ok(draft.commit()?)
    }
}

/// The schema, with units and descriptions as field metadata, which Polars, DuckDB and pyarrow
/// show.
fn schema(shape: &Shape) -> SchemaRef {
    let field = |column: &crate::columns::ShapeColumn| {
        let kind = match column.kind {
            Kind::Text => DataType::Utf8,
            Kind::Whole => DataType::UInt64,
            Kind::Number => DataType::Float64,
            Kind::Flag => DataType::Boolean,
        };
        let about = [("about", column.about), ("unit", column.unit)];
        let about = about.into_iter().filter(|(_, text)| !text.is_empty());
        Field::new(column.name, kind, true).with_metadata(
            about.map(|(key, text)| (key.to_owned(), text.to_owned())).collect::<HashMap<_, _>>(),
        )
    };
    Arc::new(Schema::new(shape.columns.iter().map(field).collect::<Vec<_>>()))
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Whole => Self::Whole(UInt64Builder::new()),
            Kind::Number => Self::Number(Float64Builder::new()),
            Kind::Flag => Self::Flag(BooleanBuilder::new()),
        }
    }

    /// Appends null if the kind of the cell differs from the column's: columns.rs and the rows are
    /// written together, and a test reads every column back.
    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            (Self::Text(column), _) => column.append_null(),
            (Self::Whole(column), Cell::Whole(value)) => column.append_value(value),
            (Self::Whole(column), _) => column.append_null(),
            (Self::Number(column), Cell::Number(value)) => column.append_value(value),
            (Self::Number(column), _) => column.append_null(),
            (Self::Flag(column), Cell::Flag(value)) => column.append_value(value),
            (Self::Flag(column), _) => column.append_null(),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Whole(column) => Arc::new(column.finish()),
            Self::Number(column) => Arc::new(column.finish()),
            Self::Flag(column) => Arc::new(column.finish()),
        }
    }
}
