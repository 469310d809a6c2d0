//! Reads samples batch by batch: from a stream that is still being written, or from files too large to be
//! held in memory together.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use assay_files::Dir;

use crate::arrow::{Assembler, damaged};
use crate::budget::Budget;
use crate::error::Error;
use crate::limit;
use crate::parquet::Batches;
use crate::recover::Growing;
use crate::table::Table;

/// Rows of one batch: about a megabyte with ten columns of eight bytes.
const ROWS: usize = 1 << 14;

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
                if !take(table(&self.source, &batch, &self.path)?) {
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
        self.growing.waiting()
    }
}

/// A file with the samples of one source, in the folder of its repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFile {
    /// The source.
    pub source: String,
    /// Its name in the folder.
    pub name: OsString,
    /// Whether it is a stream rather than Parquet.
    pub is_stream: bool,
}

/// The files of one repeat, one per source: Parquet if present, otherwise the stream. Both exist if
/// the run was killed between writing the one and removing the other.
pub fn sample_files(folder: &Dir) -> Result<Vec<SampleFile>, Error> {
    let mut files: Vec<SampleFile> = Vec::new();
    for name in folder.names()? {
        let path = Path::new(&name);
        let is_stream = match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => false,
            Some("arrows") => true,
            _ => continue,
        };
        files.push(SampleFile { source: source_of(path), name, is_stream });
    }
    files.sort_by(|a, b| (&a.source, a.is_stream).cmp(&(&b.source, b.is_stream)));
    files.dedup_by(|later, first| later.source == first.source);
    Ok(files)
}

impl SampleFile {
    /// Passes its samples to `take` in tables of some ten thousand rows at most, in the order of the file. If
    /// `take` returns `false`, reading ends early. The values are charged to the budget of the run.
    pub fn each(
        &self,
        folder: &Dir,
        budget: &mut Budget,
        take: &mut dyn FnMut(Table) -> bool,
    ) -> Result<(), Error> {
        let path = folder.path().join(&self.name);
        let mut hand_over = |batch: &RecordBatch| -> Result<bool, Error> {
            budget.take(batch.num_rows(), batch.num_columns(), &path)?;
            Ok(take(table(&self.source, batch, &path)?))
        };
        if self.is_stream {
            return Tail::open(folder, Path::new(&self.name))?.each_batch(&mut hand_over);
        }
        for batch in Batches::open(&folder.read(&self.name)?, &path, ROWS)? {
            if !hand_over(&batch?)? {
                break;
            }
        }
        Ok(())
    }
}

fn table(source: &str, batch: &RecordBatch, path: &Path) -> Result<Table, Error> {
    let mut assembler = Assembler::new(source);
    assembler.append(batch).map_err(|cause| damaged(path, &cause))?;
    Ok(assembler.finish())
}

/// The source that a samples file is named after.
pub(crate) fn source_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::stream::{SampleStream, read_tables, to_parquet};
    use crate::table::Column;

    fn rows(from: u64) -> Table {
        Table {
            source: "io".to_owned(),
            time_ns: vec![from, from + 1],
            subject: vec![0, 1],
            subjects: vec!["a".to_owned(), "b".to_owned()],
            columns: vec![Column { name: "bytes".to_owned(), values: vec![Some(from), None] }],
        }
    }

    fn stream(folder: &Path) -> PathBuf {
        let mut stream = SampleStream::create(folder, "io", &["bytes".to_owned()]).unwrap();
        (0..5).for_each(|batch| stream.append(&rows(10 * batch)).unwrap());
        stream.finish().unwrap();
        folder.join("io.arrows")
    }

    #[test]
    fn a_tail_returns_each_batch_once_however_the_bytes_arrive() {
        let place = tempfile::tempdir().unwrap();
        let whole = fs::read(stream(place.path())).unwrap();
        let growing = place.path().join("growing.arrows");
        let mut file = File::create(&growing).unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let mut tail = Tail::open(&dir, Path::new("growing.arrows")).unwrap();
        let mut times = Vec::new();
        for piece in whole.chunks(37) {
            file.write_all(piece).unwrap();
            let mut take = |table: Table| {
                times.extend(table.time_ns);
                true
            };
            tail.read(&mut Budget::default(), &mut take).unwrap();
        }
        assert_eq!(times, [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
        tail.read(&mut Budget::default(), &mut |_| panic!("everything was already read")).unwrap();
    }

    /// A reader that follows a damaged stream reaches its end, and so does one that reads it afterwards.
    #[test]
    fn a_damaged_stream_is_followed_to_its_end() {
        let place = tempfile::tempdir().unwrap();
        let whole = fs::read(stream(place.path())).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x80;
            fs::write(place.path().join("io.arrows"), &bytes).unwrap();
            let dir = Dir::open(place.path()).unwrap();
            let mut rows = 0;
            let mut take = |table: Table| {
                rows += table.time_ns.len();
                true
            };
            let mut tail = Tail::open(&dir, Path::new("io.arrows")).unwrap();
            tail.read(&mut Budget::default(), &mut take).unwrap();
            let later = read_tables(place.path()).unwrap()[0].time_ns.len();
            assert!(rows <= 10 && later <= 10, "byte {at}: {rows} and {later}");
        }
    }

    /// Ten rows of three columns; the budget covers all but one value.
    #[test]
    fn a_tail_stays_within_the_budget_of_its_run() {
        let place = tempfile::tempdir().unwrap();
        stream(place.path());
        let dir = Dir::open(place.path()).unwrap();
        let tail = || Tail::open(&dir, Path::new("io.arrows")).unwrap();
        tail().read(&mut Budget::new(30, 0), &mut |_| true).unwrap();
        let mut rows = 0;
        let mut take = |table: Table| {
            rows += table.time_ns.len();
            true
        };
        let error = tail().read(&mut Budget::new(29, 0), &mut take).unwrap_err().to_string();
        assert!(error.contains("io.arrows") && error.contains("more values"), "{error}");
        assert_eq!(rows, 8);
        let mut rows = 0;
        let mut take = |table: Table| {
            rows += table.time_ns.len();
            rows < 4
        };
        tail().read(&mut Budget::default(), &mut take).unwrap();
        assert_eq!(rows, 4, "`take` ended it early");
    }

    #[test]
    fn files_are_read_in_parts_and_parquet_before_streams() {
        let place = tempfile::tempdir().unwrap();
        stream(place.path());
        let whole = read_tables(place.path()).unwrap();
        for is_stream in [true, false] {
            let dir = Dir::open(place.path()).unwrap();
            let files = sample_files(&dir).unwrap();
            assert_eq!((files.len(), files[0].is_stream), (1, is_stream));
            let mut times = Vec::new();
            let mut take = |table: Table| {
                times.extend(table.time_ns);
                true
            };
            files[0].each(&dir, &mut Budget::default(), &mut take).unwrap();
            assert_eq!(times, whole[0].time_ns);
            if is_stream {
                to_parquet(place.path()).unwrap();
            }
        }
    }
}
