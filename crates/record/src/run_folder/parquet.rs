//! Samples as Parquet: a stream is converted when its repeat is over. Files may be of untrusted origin: the
//! schema is checked before the first row is read, and the number of values is limited.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_sys::files::Dir;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::run_folder::budget::Budget;
use crate::run_folder::error::{Error, damaged, source_of};
use crate::run_folder::footer;
use crate::run_folder::guard::guarded;
use crate::run_folder::limit;
use crate::run_folder::pages;
use crate::run_folder::parquet_file::ParquetFile;
use crate::run_folder::parquet_writer::{Cell, Kind, ParquetWriter};
use crate::run_folder::table::{Column, Subjects, Table};
use crate::run_folder::tail::Tail;

/// Converts every stream in `folder` to Parquet and removes it.
pub fn to_parquet(folder: &Path) -> Result<(), Error> {
    let dir = Dir::open(folder)?;
    let names = dir.names()?.into_iter().map(PathBuf::from);
    for stream in names.filter(|name| name.extension().is_some_and(|actual| actual == "csv")) {
        convert(&dir, &stream)?;
        dir.remove_file(&stream)?;
    }
    Ok(())
}

/// Writes a stream as Parquet.
fn convert(dir: &Dir, stream: &Path) -> Result<(), Error> {
    let name = stream.with_extension("parquet");
    let begin = |counters: &[Column]| {
        let counters = counters.iter().map(|column| (column.name.as_str(), Kind::Whole));
        let columns = [("time_ns", Kind::Whole), ("subject", Kind::Text)];
        ParquetWriter::create(dir, &name, columns.into_iter().chain(counters), Vec::new())
    };
    let mut writer = None;
    let mut unlimited = Budget::new(u64::MAX, u64::MAX);
    Tail::open(dir, stream)?.read(&mut unlimited, &mut |table, _| {
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(begin(&table.columns)?),
        };
        for (row, time_ns) in table.time_ns.iter().enumerate() {
            let subject = &table.subjects[table.subject[row] as usize];
            let counters = table.columns.iter().map(|column| column.values[row]);
            let counters = counters.map(|value| value.map_or(Cell::None, Cell::Whole));
            writer.row([Cell::Whole(*time_ns), Cell::Text(subject)].into_iter().chain(counters))?;
        }
        Ok(true)
    })?;
    writer.map_or_else(|| begin(&[]), Ok)?.finish()
}

/// The rows of one file, in tables of at most so many.
pub(crate) struct Batches {
    file: Arc<ParquetFile>,
    footer: ParquetMetaData,
    path: PathBuf,
    /// Rows of one table.
    rows: usize,
    /// Row groups begun, the columns of the last of them, and its rows that were not read yet.
    groups: usize,
    columns: Vec<ColumnReader>,
    remaining: usize,
    /// A reader that has failed is not called again.
    failed: bool,
}

impl Batches {
    /// Opens a file, to be read in tables of at most `rows`; one that does not hold samples is refused.
    pub(crate) fn open(file: &File, path: &Path, rows: usize) -> Result<Self, Error> {
        let same = ParquetFile::new(file).map_err(|cause| Error::new("read", path, cause))?;
        let footer = footer::load(file, &same, path)?;
        let columns = footer.file_metadata().schema_descr().num_columns();
        pages::check(&same, &footer, path)?;
        Ok(Self {
            file: Arc::new(same),
            footer,
            path: path.to_owned(),
            rows: rows.min(limit::BATCH_VALUES / columns).max(1),
            groups: 0,
            columns: Vec::new(),
            remaining: 0,
            failed: false,
        })
    }

    /// Rows that it says it has, and its columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        let rows = self.footer.row_groups().iter().map(RowGroupMetaData::num_rows);
        let rows = rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
        let columns = self.footer.file_metadata().schema_descr().num_columns();
        (rows.fold(0, usize::saturating_add), columns)
    }

    /// The next rows; none at the end.
    fn read(&mut self) -> Result<Option<Table>, String> {
        while self.remaining == 0 {
            let Some(group) = self.footer.row_groups().get(self.groups) else { return Ok(None) };
            self.groups += 1;
            self.remaining = usize::try_from(group.num_rows()).unwrap_or(0);
            let open = |chunk| pages::open(&self.file, chunk).map_err(|cause| cause.to_string());
            self.columns = group.columns().iter().map(open).collect::<Result<_, _>>()?;
        }
        let rows = self.rows.min(self.remaining);
        self.remaining -= rows;
        let names = self.footer.file_metadata().schema_descr().columns().iter().skip(2);
        let [times, ColumnReader::ByteArrayColumnReader(subjects), counters @ ..] =
            self.columns.as_mut_slice()
        else {
            return Err("its row groups have other columns than the file".to_owned());
        };
        let incomplete = || "a row has no time or no subject".to_owned();
        let times = numbers(times, rows)?.into_iter().collect::<Option<_>>();
        let mut known = Subjects::default();
        let mut index = |name: Option<ByteArray>| {
            let name = name.ok_or_else(incomplete)?;
            known.index(name.as_utf8().map_err(|_| "a subject's name is not UTF-8")?)
        };
        Ok(Some(Table {
            source: source_of(&self.path),
            time_ns: times.ok_or_else(incomplete)?,
            subject: values(subjects, rows)?.map(&mut index).collect::<Result<_, String>>()?,
            subjects: known.names,
            columns: names
                .zip(counters)
                .map(|(named, column)| {
                    Ok(Column { name: named.name().to_owned(), values: numbers(column, rows)? })
                })
                .collect::<Result<_, String>>()?,
        }))
    }
}

fn numbers(column: &mut ColumnReader, rows: usize) -> Result<Vec<Option<u64>>, String> {
    match column {
        ColumnReader::Int64ColumnReader(column) => {
            Ok(values(column, rows)?.map(|value| value.map(i64::cast_unsigned)).collect())
        }
        _ => Err("a column of numbers has another type in a row group".to_owned()),
    }
}

/// The next rows of a column: a value, or `None`.
fn values<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<impl Iterator<Item = Option<T::T>> + use<T>, String> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, _, _) = column
        .read_records(rows, Some(&mut levels), None, &mut values)
        .map_err(|cause| cause.to_string())?;
    if read != rows {
        return Err("a column has fewer rows than its row group".to_owned());
    }
    // A column that has a value in every row by its type has no levels.
    levels.resize(rows, 1);
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(move |level| if level > 0 { values.next() } else { None }))
}

impl Iterator for Batches {
    type Item = Result<Table, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let path = self.path.clone();
        let read = guarded(&path, || self.read().map_err(|why| damaged(&path, &why)));
        self.failed = read.is_err();
        read.transpose()
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::properties::WriterProperties;

    use crate::run_folder::parquet_of_tests::{Values, write};
    use crate::run_folder::run::read_tables;

    /// The error for a file with these columns, written with pages as large as possible.
    fn error_of(columns: &[(&str, Values<'_>)]) -> String {
        let place = tempfile::tempdir().unwrap();
        let pages = WriterProperties::builder()
            .set_data_page_row_count_limit(usize::MAX)
            .set_write_batch_size(1 << 24);
        write(&place.path().join("io.parquet"), columns, pages.build());
        read_tables(place.path()).map(|_| ()).unwrap_err().to_string()
    }

    const fn times(values: Vec<Option<u64>>) -> (&'static str, Values<'static>) {
        ("time_ns", Values::Whole(values))
    }

    const fn subjects(values: Vec<Option<&str>>) -> (&'static str, Values<'_>) {
        ("subject", Values::Text(values))
    }

    #[test]
    fn a_file_of_another_shape_is_refused_before_its_first_row() {
        let one = error_of(&[times(vec![Some(1)])]);
        assert!(one.contains("io.parquet") && one.contains("it has 1 columns"), "{one}");
        let other = error_of(&[subjects(vec![Some("a")]), times(vec![Some(1)])]);
        assert!(other.contains("column 0 is `subject` of utf8"), "{other}");
        for (time, subject) in [(None, Some("a")), (Some(1), None)] {
            let gap = error_of(&[times(vec![time]), subjects(vec![subject])]);
            assert!(gap.contains("no time or no subject"), "{gap}");
        }
        let twice = ("bytes", Values::Whole(vec![Some(1)]));
        let fixed = [times(vec![Some(1)]), subjects(vec![Some("a")]), twice.clone(), twice];
        assert!(error_of(&fixed).contains("two columns `bytes`"));
    }

    /// As pandas writes a counter that was null somewhere. The file was called damaged, to be copied again.
    #[test]
    fn a_counter_of_another_type_is_named_with_its_type_and_how_to_keep_it() {
        let (floats, signed) = (Values::Number(vec![Some(0.5)]), Values::Signed(vec![Some(5)]));
        for (column, kind) in [(floats, "float64"), (signed, "int64")] {
            let error =
                error_of(&[times(vec![Some(1)]), subjects(vec![Some("a")]), ("ios", column)]);
            let what = format!("io.parquet: its column `ios` is {kind}, expected uint64\n");
            assert!(error.contains(&what), "{error}");
            assert!(error.contains("`dtype_backend=\"pyarrow\"`"), "{error}");
            assert!(!error.contains("damaged"), "{error}");
        }
    }

    #[test]
    fn no_name_is_longer_than_a_path() {
        let long = "a".repeat(5000);
        let subject = error_of(&[times(vec![Some(1)]), subjects(vec![Some(&long)])]);
        assert!(subject.contains("subject's name has more than 4096 bytes"), "{subject}");
        assert!(subject.contains("hint:"), "{subject}");
        let number = Values::Whole(vec![Some(1)]);
        let counter = error_of(&[times(vec![Some(1)]), subjects(vec![Some("a")]), (&long, number)]);
        assert!(counter.contains("counter's name has more than 4096 bytes"), "{counter}");
    }

    /// A few kilobytes that would be gigabytes in memory.
    #[test]
    fn a_small_file_with_more_values_than_it_can_hold_is_refused() {
        let rows = 1_000_000;
        let names: Vec<String> = (0..8).map(|index| format!("c{index}")).collect();
        let mut all = vec![times(vec![Some(1); rows]), subjects(vec![Some("a"); rows])];
        all.extend(names.iter().map(|name| (name.as_str(), Values::Whole(vec![None; rows]))));
        let error = error_of(&all);
        assert!(
            error.contains("hold more values for their size than are read of a run"),
            "{error}"
        );
    }

    /// 32 KiB in the file, 2 GiB in memory if each row had a copy.
    #[test]
    fn a_long_name_in_a_dictionary_is_refused() {
        let long = "x".repeat(1 << 15);
        let rows = 1 << 16;
        let error = error_of(&[times(vec![Some(1); rows]), subjects(vec![Some(&long); rows])]);
        assert!(error.contains("io.parquet") && error.contains("more than 4096 bytes"), "{error}");
    }
}
