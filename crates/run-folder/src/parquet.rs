//! Samples as Parquet: a stream is converted when its repeat is over. Files may be of untrusted origin: the
//! schema is checked before the first row is read, and the number of values is limited.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use assay_files::Dir;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Encoding;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::Length;
use parquet::schema::types::ColumnPath;

use crate::arrow::{damaged, schema};
use crate::error::Error;
use crate::footer;
use crate::guard::guarded;
use crate::limit;
use crate::pages;
use crate::parquet_file::ParquetFile;
use crate::recover::Tail;

/// Converts every stream in `folder` to Parquet and removes it.
pub fn to_parquet(folder: &Path) -> Result<(), Error> {
    let dir = Dir::open(folder)?;
    let names = dir.names()?.into_iter().map(PathBuf::from);
    for stream in names.filter(|name| name.extension().is_some_and(|actual| actual == "arrows")) {
        convert(&dir, &stream)?;
        dir.remove_file(&stream)?;
    }
    Ok(())
}

/// Writes a stream as Parquet. The file is a draft that is renamed when it is complete, so that an incomplete
/// Parquet file is never mistaken for a complete one.
fn convert(dir: &Dir, stream: &Path) -> Result<(), Error> {
    let name = stream.with_extension("parquet");
    let path = dir.path().join(&name);
    let failed = |cause: &dyn std::fmt::Display| Error::new("write", &path, cause);
    let begin = |schema: SchemaRef| {
        let draft = dir.draft(&name)?;
        let properties = Some(properties(&schema));
        ArrowWriter::try_new(draft, schema, properties).map_err(|cause| failed(&cause))
    };
    let mut writer = None;
    Tail::open(dir, stream)?.each_batch(&mut |batch| {
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(begin(batch.schema())?),
        };
        writer.write(batch).map_err(|cause| failed(&cause))?;
        Ok(true)
    })?;
    let writer = writer.map_or_else(|| begin(schema(&[])), Ok)?;
    Ok(writer.into_inner().map_err(|cause| failed(&cause))?.commit()?)
}

/// Counters and times grow slowly, so their differences are stored.
fn properties(schema: &Schema) -> WriterProperties {
    let numbers = schema.fields().iter().filter(|field| field.data_type() == &DataType::UInt64);
    let columns = numbers.map(|field| ColumnPath::from(field.name().as_str()));
    let delta = |properties: WriterPropertiesBuilder, column: ColumnPath| {
        properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
    };
    columns.fold(WriterProperties::builder(), delta).build()
}

/// The batches of one file.
pub(crate) struct Batches {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    path: PathBuf,
    rows: usize,
    /// Values that may still be read.
    cells: u64,
    /// A reader that has failed is not called again.
    failed: bool,
}

impl Batches {
    /// Opens a file, to be read in batches of at most `rows`; one that does not hold samples is refused.
    pub(crate) fn open(file: &File, path: &Path, rows: usize) -> Result<Self, Error> {
        let same = ParquetFile::new(file).map_err(|cause| Error::io("read", path, &cause))?;
        let cells = limit::cells(same.len());
        let footer = footer::load(file, &same, path)?;
        let schema = SchemaRef::clone(footer.schema());
        let (reader, rows) = guarded(path, || {
            let declared = footer.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
            let declared = declared.fold(0_u64, |sum, rows| {
                sum.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX))
            });
            if declared.saturating_mul(schema.fields().len() as u64) > cells {
                return Err(too_much(path));
            }
            let longest = pages::check(&same, footer.metadata(), path)?;
            let declared = usize::try_from(declared).unwrap_or(usize::MAX);
            let names = limit::BATCH_NAMES / longest.max(1);
            let values = limit::BATCH_VALUES / schema.fields().len();
            let rows = rows.min(names).min(values).min(declared).max(1);
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(same, footer)
                .with_batch_size(rows)
                .build()
                .map_err(|cause| damaged(path, &cause))?;
            Ok((reader, declared))
        })?;
        Ok(Self { reader, schema, path: path.to_owned(), rows, cells, failed: false })
    }

    /// Rows that it says it has, and its columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.rows, self.schema.fields().len())
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, Error> {
        let path = self.path.as_path();
        let Some(batch) = guarded(path, || {
            self.reader.next().transpose().map_err(|cause| damaged(path, &cause))
        })?
        else {
            return Ok(None);
        };
        let cells = (batch.num_rows() as u64).saturating_mul(batch.num_columns() as u64);
        self.cells = self.cells.checked_sub(cells).ok_or_else(|| too_much(path))?;
        Ok(Some(batch))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let read = self.read();
        self.failed = read.is_err();
        read.transpose()
    }
}

fn too_much(path: &Path) -> Error {
    Error::new("read", path, &"it holds more values than are read of a file of its size")
        .with_hint(limit::HOW_TO_LIFT)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt64Array};
    use arrow_schema::Field;

    use super::*;
    use crate::run::read_tables;

    /// The error for a file with these columns, written with pages as large as possible.
    fn error_of(columns: Vec<(&str, ArrayRef)>) -> String {
        let place = tempfile::tempdir().unwrap();
        let field = |(name, column): &(&str, ArrayRef)| {
            Field::new(*name, DataType::clone(column.data_type()), true)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let file = File::create(place.path().join("io.parquet")).unwrap();
        let pages = WriterProperties::builder()
            .set_data_page_row_count_limit(usize::MAX)
            .set_write_batch_size(1 << 24);
        let mut writer =
            ArrowWriter::try_new(file, SchemaRef::clone(&schema), Some(pages.build())).unwrap();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
        writer.close().unwrap();
        read_tables(place.path()).map(|_| ()).unwrap_err().to_string()
    }

    fn times(values: Vec<Option<u64>>) -> (&'static str, ArrayRef) {
        ("time_ns", Arc::new(UInt64Array::from(values)))
    }

    fn subjects(values: Vec<Option<&str>>) -> (&'static str, ArrayRef) {
        ("subject", Arc::new(StringArray::from(values)))
    }

    #[test]
    fn a_file_of_another_shape_is_refused_before_its_first_row() {
        let one = error_of(vec![times(vec![Some(1)])]);
        assert!(one.contains("io.parquet") && one.contains("it has 1 columns"), "{one}");
        let other = error_of(vec![subjects(vec![Some("a")]), times(vec![Some(1)])]);
        assert!(other.contains("column 0 is `subject` of utf8"), "{other}");
        let gap = error_of(vec![times(vec![None]), subjects(vec![Some("a")])]);
        assert!(gap.contains("no time or no subject"), "{gap}");
        let twice: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        let twice = ["bytes", "bytes"].map(|name| (name, ArrayRef::clone(&twice)));
        let [first, second] = twice;
        let fixed = vec![times(vec![Some(1)]), subjects(vec![Some("a")]), first, second];
        assert!(error_of(fixed).contains("two columns `bytes`"));
    }

    /// As pandas writes a counter that was null somewhere. The file was called damaged, to be copied again.
    #[test]
    fn a_counter_of_another_type_is_named_with_its_type_and_how_to_keep_it() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![5]));
        for (column, kind) in [(floats, "float64"), (signed, "int64")] {
            let columns = vec![times(vec![Some(1)]), subjects(vec![Some("a")]), ("ios", column)];
            let error = error_of(columns);
            let what = format!("io.parquet: its column `ios` is {kind}, expected uint64\n");
            assert!(error.contains(&what), "{error}");
            assert!(error.contains("`dtype_backend=\"pyarrow\"`"), "{error}");
            assert!(!error.contains("damaged"), "{error}");
        }
    }

    #[test]
    fn no_name_is_longer_than_a_path() {
        let long = "a".repeat(5000);
        let subject = error_of(vec![times(vec![Some(1)]), subjects(vec![Some(&long)])]);
        assert!(subject.contains("subject's name has more than 4096 bytes"), "{subject}");
        assert!(subject.contains("hint:"), "{subject}");
        let number: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        let counter =
            error_of(vec![times(vec![Some(1)]), subjects(vec![Some("a")]), (&long, number)]);
        assert!(counter.contains("counter's name has more than 4096 bytes"), "{counter}");
    }

    /// A few kilobytes that would be gigabytes in memory.
    #[test]
    fn a_small_file_with_more_values_than_it_can_hold_is_refused() {
        let rows = 1_000_000;
        let columns = (0..8).map(|index| (format!("c{index}"), index)).collect::<Vec<_>>();
        let none: ArrayRef = Arc::new(UInt64Array::from(vec![None::<u64>; rows]));
        let mut all = vec![times(vec![Some(1); rows]), subjects(vec![Some("a"); rows])];
        all.extend(columns.iter().map(|(name, _)| (name.as_str(), ArrayRef::clone(&none))));
        let error = error_of(all);
        assert!(error.contains("more values than are read of a file of its size"), "{error}");
    }
}
