//! Samples while a repeat runs: a CSV file that only grows, so that a killed run loses at most the lines that were
//! being written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_sys::files::Dir;

use crate::run_folder::csv;
use crate::run_folder::error::Error;
use crate::run_folder::table::{Rows, Table};

/// The stream of one source in one repeat.
pub struct SampleStream {
    file: File,
    path: PathBuf,
    /// Bytes of the batches written so far.
    length: u64,
    /// The lines of one batch, whose memory is reused.
    text: Vec<u8>,
}

impl SampleStream {
    /// Creates `<folder>/<source>.csv` with the names of its columns.
    pub fn create(folder: &Path, source: &str, columns: &[String]) -> Result<Self, Error> {
        let name = format!("{source}.csv");
        let file = Dir::open(folder)?.create(&name)?;
        let mut stream =
            Self { file, path: folder.join(name), length: 0, text: b"time_ns,subject".to_vec() };
        for column in columns {
            stream.text.push(b',');
            csv::push(&mut stream.text, column);
        }
        stream.text.push(b'\n');
        stream.write()?;
        Ok(stream)
    }

    /// Appends the rows of `table`.
    pub fn append(&mut self, table: &Table) -> Result<(), Error> {
        self.append_rows(&Rows::from(table))
    }

    /// Appends these rows with a single write. Allocates only if no earlier batch was as large.
    pub fn append_rows(&mut self, rows: &Rows) -> Result<(), Error> {
        self.text.clear();
        let mut digits = itoa::Buffer::new();
        for (time_ns, subject, values) in rows.iter() {
            self.text.extend_from_slice(digits.format(time_ns).as_bytes());
            self.text.push(b',');
            csv::push(&mut self.text, subject);
            for value in values {
                self.text.push(b',');
                if let Some(value) = value {
                    self.text.extend_from_slice(digits.format(*value).as_bytes());
                }
            }
            self.text.push(b'\n');
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), Error> {
        if let Err(cause) = self.file.write_all(&self.text) {
            // A full disk takes a part of the batch, whose last number may be cut.
            let _ = self.file.set_len(self.length);
            return Err(Error::new("write", &self.path, cause));
        }
        self.length += self.text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run_folder::parquet::to_parquet;
    use crate::run_folder::run::read_tables;
    use crate::run_folder::table::Column;

    fn table(from: u64) -> Table {
        Table {
            source: "io".to_owned(),
            time_ns: vec![from, from + 1, from + 2],
            subject: vec![0, 1, 0],
            subjects: vec!["task1".to_owned(), "a, b".to_owned()],
            columns: vec![Column {
                name: "read_bytes".to_owned(),
                values: vec![Some(from * 10), None, Some(u64::MAX)],
            }],
        }
    }

    fn stream(folder: &Path) -> PathBuf {
        let mut stream = SampleStream::create(folder, "io", &["read_bytes".to_owned()]).unwrap();
        stream.append(&table(1)).unwrap();
        stream.append(&table(4)).unwrap();
        folder.join("io.csv")
    }

    #[test]
    fn samples_survive_the_conversion_to_parquet() {
        let place = tempfile::tempdir().unwrap();
        let path = stream(place.path());
        let text = fs::read_to_string(&path).unwrap();
        let begin =
            "time_ns,subject,read_bytes\n1,task1,10\n2,\"a, b\",\n3,task1,18446744073709551615\n4,";
        assert!(text.starts_with(begin), "{text}");
        let before = read_tables(place.path()).unwrap();
        to_parquet(place.path()).unwrap();
        assert!(!path.exists());
        let after = read_tables(place.path()).unwrap();
        assert_eq!(before, after);
        assert_eq!(after[0].time_ns, [1, 2, 3, 4, 5, 6]);
        let series: Vec<_> = after[0].series("task1", "read_bytes").collect();
        assert_eq!(series, [(1, 10), (3, u64::MAX), (4, 40), (6, u64::MAX)]);
        assert_eq!(after[0].series("a, b", "read_bytes").count(), 0, "a null is no sample");
    }

    #[test]
    fn a_stream_cut_anywhere_keeps_its_whole_lines() {
        let place = tempfile::tempdir().unwrap();
        let path = stream(place.path());
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count();
            let tables = read_tables(place.path()).unwrap();
            assert_eq!(tables[0].time_ns.len(), lines.saturating_sub(1), "{end} bytes");
        }
    }
}
