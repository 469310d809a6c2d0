//! Rows in memory -> a Parquet file, in row groups of bounded size.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_sys::files::{Dir, Draft};
use bytes::Bytes;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::run_folder::error::Error;

/// Rows and bytes of a row group, which is in memory until it is written.
const ROWS: usize = 1 << 17;
const BYTES: usize = 64 << 20;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text (UTF8).
    Text,
    /// Unsigned integers (UINT64). Counters and times grow slowly, so their differences are stored.
    Whole,
    /// Floating-point numbers (DOUBLE).
    Number,
    /// Booleans (BOOLEAN).
    Flag,
}

impl Kind {
    /// Its name in documentation.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Whole => "uint64",
            Self::Number => "double",
            Self::Flag => "boolean",
        }
    }
}

/// A value of a row, borrowed from its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    None,
    /// A text.
    Text(&'a str),
    /// An unsigned integer.
    Whole(u64),
    /// A floating-point number.
    Number(f64),
    /// A boolean.
    Flag(bool),
}

impl<'a> Cell<'a> {
    /// A text, if there is one.
    #[must_use]
    pub fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::None, Self::Text)
    }

    /// A number; null if it is infinite or NaN, which many readers cannot handle (and JSON cannot
    /// express).
    #[must_use]
    pub fn number(value: impl Into<Option<f64>>) -> Self {
        match value.into() {
            Some(value) if value.is_finite() => Self::Number(value),
            _ => Self::None,
        }
    }

    /// A count.
    #[must_use]
    pub const fn whole(value: usize) -> Self {
        Self::Whole(value as u64)
    }

    /// A boolean, if there is one.
    #[must_use]
    pub fn flag(value: Option<bool>) -> Self {
        value.map_or(Self::None, Self::Flag)
    }
}

/// A Parquet file, moved to its path when it is complete, so that an incomplete one is never mistaken for it.
pub struct ParquetWriter {
    writer: SerializedFileWriter<Draft>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
    path: PathBuf,
}

/// One column of the rows that wait: of each row whether it has a value, and the values.
struct Column {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    /// All texts, and where each ends.
    Text(Vec<u8>, Vec<usize>),
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Flag(Vec<bool>),
}

impl ParquetWriter {
    /// Begins a file with these columns, all of which may lack values, and texts about it by their keys.
    pub fn create<'n>(
        dir: &Dir,
        name: &Path,
        columns: impl Iterator<Item = (&'n str, Kind)>,
        about: Vec<(String, String)>,
    ) -> Result<Self, Error> {
        let draft = dir.draft(name)?;
        let path = dir.path().join(name);
        let failed = |cause| Error::refused("write", &path, &cause);
        let about = about.into_iter().map(|(key, text)| KeyValue::new(key, text)).collect();
        let mut properties = WriterProperties::builder().set_key_value_metadata(Some(about));
        let (mut fields, mut buffers) = (Vec::new(), Vec::new());
        for (name, kind) in columns {
            fields.push(Arc::new(field(name, kind).map_err(failed)?));
            buffers.push(Column { levels: Vec::new(), values: Values::new(kind) });
            if kind == Kind::Whole {
                let column = ColumnPath::from(name);
                properties = properties
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
            }
        }
        let schema = Type::group_type_builder("schema").with_fields(fields).build();
        let schema = Arc::new(schema.map_err(failed)?);
        let writer = SerializedFileWriter::new(draft, schema, Arc::new(properties.build()));
        Ok(Self { writer: writer.map_err(failed)?, columns: buffers, rows: 0, bytes: 0, path })
    }

    /// Adds a row of one cell for each column. A cell of another kind than its column has is no value.
    pub fn row<'c>(&mut self, cells: impl IntoIterator<Item = Cell<'c>>) -> Result<(), Error> {
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            self.bytes += column.push(cells.next().unwrap_or(Cell::None));
        }
        self.rows += 1;
        if self.rows < ROWS && self.bytes < BYTES { Ok(()) } else { self.end_group() }
    }

    fn end_group(&mut self) -> Result<(), Error> {
        let mut write = || {
            let mut group = self.writer.next_row_group()?;
            for column in &mut self.columns {
                if let Some(mut writer) = group.next_column()? {
                    column.write(&mut writer)?;
                    writer.close()?;
                }
            }
            group.close()
        };
        write().map_err(|cause| Error::refused("write", &self.path, &cause))?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes the rest, and moves the file to its path.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let draft = self.writer.into_inner();
        let draft = draft.map_err(|cause| Error::refused("write", &self.path, &cause))?;
        draft.commit()
    }
}

fn field(name: &str, kind: Kind) -> ParquetResult<Type> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

impl Values {
    const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(Vec::new(), Vec::new()),
            Kind::Whole => Self::Whole(Vec::new()),
            Kind::Number => Self::Number(Vec::new()),
            Kind::Flag => Self::Flag(Vec::new()),
        }
    }
}

impl Column {
    /// Adds a cell; returns the bytes that it takes.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        const LEVEL: usize = size_of::<i16>();
        let bytes = match (&mut self.values, cell) {
            (Values::Text(texts, ends), Cell::Text(text)) => {
                texts.extend_from_slice(text.as_bytes());
                ends.push(texts.len());
                // Until it is written each is also a part of all texts.
                size_of::<usize>() + text.len() + size_of::<ByteArray>()
            }
            (Values::Whole(values), Cell::Whole(value)) => {
                values.push(value.cast_signed());
                size_of::<u64>()
            }
            (Values::Number(values), Cell::Number(value)) => {
                values.push(value);
                size_of::<f64>()
            }
            (Values::Flag(values), Cell::Flag(value)) => {
                values.push(value);
                size_of::<bool>()
            }
            _ => 0,
        };
        self.levels.push(i16::from(bytes > 0));
        LEVEL + bytes
    }

    /// Writes the column of a row group, and forgets it.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> ParquetResult<()> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Text(texts, ends) => {
                let texts = Bytes::from(std::mem::take(texts));
                let begins = std::iter::once(0).chain(ends.iter().copied());
                let parts = begins.zip(ends.iter()).map(|(begin, end)| texts.slice(begin..*end));
                let parts: Vec<ByteArray> = parts.map(ByteArray::from).collect();
                writer.typed::<ByteArrayType>().write_batch(&parts, levels, None)?;
                ends.clear();
            }
            Values::Whole(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Number(values) => {
                writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Flag(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    fn reader(dir: &Dir) -> SerializedFileReader<File> {
        SerializedFileReader::new(File::open(dir.path().join("t.parquet")).unwrap()).unwrap()
    }

    #[test]
    fn values_of_every_kind_and_texts_about_them_are_read_back() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let kinds = [("t", Kind::Text), ("w", Kind::Whole), ("n", Kind::Number), ("f", Kind::Flag)];
        let about = vec![("w.unit".to_owned(), "bytes".to_owned())];
        let (path, columns) = (Path::new("t.parquet"), kinds.into_iter());
        let mut writer = ParquetWriter::create(&dir, path, columns, about).unwrap();
        let full = [Cell::Text("a"), Cell::Whole(u64::MAX), Cell::Number(0.5), Cell::Flag(true)];
        writer.row(full).unwrap();
        writer.row([Cell::Text(""), Cell::Text("no number")]).unwrap();
        assert!(!dir.has_file(path), "not before it is complete");
        writer.finish().unwrap();
        let reader = reader(&dir);
        let rows: Vec<_> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let full = "{t: \"a\", w: 18446744073709551615, n: 0.5, f: true}";
        assert_eq!(rows, [full, "{t: \"\", w: null, n: null, f: null}"]);
        let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
        assert_eq!(about, &[KeyValue::new("w.unit".to_owned(), "bytes".to_owned())]);
    }

    #[test]
    fn a_row_group_is_of_bounded_size() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let columns = [("t", Kind::Text)].into_iter();
        let mut writer =
            ParquetWriter::create(&dir, Path::new("t.parquet"), columns, Vec::new()).unwrap();
        let long = "x".repeat(BYTES / 2);
        for text in [&long[..], &long, "a"].into_iter().chain(std::iter::repeat_n("b", ROWS)) {
            writer.row([Cell::Text(text)]).unwrap();
        }
        writer.finish().unwrap();
        let reader = reader(&dir);
        let groups: Vec<i64> =
            reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
        assert_eq!(groups, [2, ROWS as i64, 1]);
    }
}
