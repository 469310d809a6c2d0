//! Reads a stream that may still grow, be cut or damaged: whole lines only. A damaged line is an error that names it,
//! after the rows before it: what follows would be a table with a hole, which nobody would notice.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use assay_sys::files::Dir;

use crate::run_folder::budget::Budget;
use crate::run_folder::csv::{fields, line};
use crate::run_folder::error::{Error, source_of};
use crate::run_folder::table::{Column, Subjects, Table, check_counters};

/// Bytes read at once, and of the longest line.
const PIECE: usize = 1 << 20;

/// Reads a stream piece by piece, also while it grows. It holds no bytes between two calls.
pub struct Tail {
    file: File,
    source: String,
    path: PathBuf,
    /// Where the first line begins that was not read yet, and how many precede it.
    at: u64,
    lines: u64,
    /// Its counters, when the line with their names was read.
    counters: Option<Vec<String>>,
}

impl Tail {
    /// Opens `<source>.csv` at its beginning. The file may be removed while it is open.
    pub fn open(dir: &Dir, name: &Path) -> Result<Self, Error> {
        let file = dir.read(name)?;
        let path = dir.path().join(name);
        Ok(Self { file, source: source_of(name), path, at: 0, lines: 0, counters: None })
    }

    /// Passes the lines completed since the last call to `take`, as tables of a megabyte of text, until that
    /// returns `false`. The values are charged to the budget of the run.
    pub fn read(
        &mut self,
        budget: &mut Budget,
        take: &mut dyn FnMut(Table, &mut Budget) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut piece = vec![0; PIECE];
        loop {
            let mut length = 0;
            while length < PIECE {
                let read = self.file.read_at(&mut piece[length..], self.at + length as u64);
                match read.map_err(|cause| Error::new("read", &self.path, cause))? {
                    0 => break,
                    bytes => length += bytes,
                }
            }
            let at = self.at;
            let Some(table) = self.table(&piece[..length])? else { return Ok(()) };
            budget.earn(self.at - at);
            budget.take(table.time_ns.len(), 2 + table.columns.len(), &self.path)?;
            if !take(table, budget)? {
                return Ok(());
            }
        }
    }

    /// The rows of the whole lines at the beginning of `text`; `None` if there is no such line.
    fn table(&mut self, mut text: &[u8]) -> Result<Option<Table>, Error> {
        let (begin, length) = (self.lines, text.len());
        let mut table = Table { source: self.source.clone(), ..Table::default() };
        let mut subjects = Subjects::default();
        self.set_columns(&mut table);
        while let Some((first, rest)) = line(text) {
            let read = match self.counters {
                None => self.set_counters(first).map(|()| self.set_columns(&mut table)),
                Some(_) => row(first, &mut table, &mut subjects),
            };
            match read {
                Ok(()) => {
                    self.at += first.len() as u64 + 1;
                    self.lines += 1;
                    text = rest;
                }
                Err(why) if self.lines == begin => return Err(self.damaged(&why)),
                // The next call begins with this line.
                Err(_) => break,
            }
        }
        if self.lines == begin {
            let why = format!("it has more than {PIECE} bytes");
            return if length < PIECE { Ok(None) } else { Err(self.damaged(&why)) };
        }
        table.subjects = subjects.names;
        Ok(Some(table))
    }

    fn set_columns(&self, table: &mut Table) {
        let column = |name: &String| Column { name: name.clone(), values: Vec::new() };
        table.columns = self.counters.iter().flatten().map(column).collect();
    }

    fn set_counters(&mut self, line: &[u8]) -> Result<(), String> {
        let mut names = fields(text(line)?);
        if names.next().as_deref() != Some("time_ns") || names.next().as_deref() != Some("subject")
        {
            return Err("it does not begin with `time_ns,subject`".to_owned());
        }
        let counters: Vec<String> = names.map(Into::into).collect();
        check_counters(counters.iter().map(String::as_str))?;
        self.counters = Some(counters);
        Ok(())
    }

    fn damaged(&self, why: &str) -> Error {
        let cause = format!("line {} is damaged: {why}", self.lines + 1);
        Error::refused("read", &self.path, &cause)
            .with_hint("copy the file again, or remove this line and those behind it")
    }
}

/// Appends the row of a line.
fn row(line: &[u8], table: &mut Table, subjects: &mut Subjects) -> Result<(), String> {
    let mut fields = fields(text(line)?);
    let (time, subject) = (fields.next(), fields.next());
    let number = |field: &str| field.parse().map_err(|_| "a field is no whole number".to_owned());
    let value =
        |field: Cow<'_, str>| if field.is_empty() { Ok(None) } else { number(&field).map(Some) };
    let values = fields.map(value).collect::<Result<Vec<Option<u64>>, String>>()?;
    let Some(subject) = subject.filter(|_| values.len() == table.columns.len()) else {
        return Err("it has another number of fields than the first line".to_owned());
    };
    let (time, subject) = (number(&time.unwrap_or_default())?, subjects.index(&subject)?);
    table.time_ns.push(time);
    table.subject.push(subject);
    table.columns.iter_mut().zip(values).for_each(|(column, value)| column.values.push(value));
    Ok(())
}

fn text(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::run_folder::limit;
    use crate::run_folder::run::{read_tables, sample_files};

    const STREAM: &str = "time_ns,subject,bytes,ios\n1,a,10,\n2,\"b, \"\"c\"\"\",,0\n3,a,12,1\n";

    fn open(text: &[u8]) -> (tempfile::TempDir, Dir) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("io.csv"), text).unwrap();
        let dir = Dir::open(place.path()).unwrap();
        (place, dir)
    }

    #[test]
    fn a_tail_returns_each_row_once_however_the_bytes_arrive() {
        let (place, dir) = open(b"");
        let mut file = File::options().append(true).open(place.path().join("io.csv")).unwrap();
        let mut tail = Tail::open(&dir, Path::new("io.csv")).unwrap();
        let mut times = Vec::new();
        for piece in STREAM.as_bytes().chunks(7) {
            file.write_all(piece).unwrap();
            let mut take = |table: Table, _: &mut Budget| {
                times.extend(table.time_ns);
                Ok(true)
            };
            tail.read(&mut Budget::default(), &mut take).unwrap();
        }
        assert_eq!(times, [1, 2, 3]);
        tail.read(&mut Budget::default(), &mut |_, _| panic!("everything was read")).unwrap();
        let [table] = &read_tables(place.path()).unwrap()[..] else { panic!("one source") };
        assert_eq!((&table.subject[..], &table.subjects[1][..]), (&[0, 1, 0][..], "b, \"c\""));
        assert_eq!(table.column("ios").unwrap().values, [None, Some(0), Some(1)]);
    }

    #[test]
    fn a_damaged_line_is_named_after_the_rows_before_it() {
        for (line, why) in [
            ("x,a,1,1", "line 4 is damaged: a field is no whole number"),
            (",a,1,1", "line 4 is damaged: a field is no whole number"),
            ("4,a,-1,1", "line 4 is damaged: a field is no whole number"),
            ("4,a,18446744073709551616,1", "line 4 is damaged: a field is no whole number"),
            ("4,a,1", "line 4 is damaged: it has another number of fields than the first line"),
            ("4,a,1,1,1", "line 4 is damaged: it has another number of fields"),
            ("4", "line 4 is damaged: it has another number of fields"),
            ("4,\"a,1,1", "line 4 is damaged: it has another number of fields"),
            ("4,\u{0},1,\u{0}", "line 4 is damaged: a field is no whole number"),
        ] {
            let (_place, dir) = open(STREAM.replace("3,a,12,1", line).as_bytes());
            let mut times = Vec::new();
            let mut take = |table: Table| {
                times.extend(table.time_ns);
                true
            };
            let read = sample_files(&dir).unwrap()[0].each(&dir, &mut Budget::default(), &mut take);
            let error = read.unwrap_err().to_string();
            assert!(error.contains("io.csv") && error.contains(why), "{line}: {error}");
            assert_eq!(times, [1, 2]);
        }
        let name = "x".repeat(limit::NAME + 1);
        for (text, why) in [
            ("a,b\n".to_owned(), "line 1 is damaged: it does not begin with `time_ns,subject`"),
            ("time_ns,subject,a,a\n".to_owned(), "two columns `a`"),
            (format!("time_ns,subject\n1,{name}\n"), "a subject's name has more than 4096 bytes"),
            (format!("time_ns,subject,{name}\n"), "a counter's name has more than 4096 bytes"),
            ("x".repeat(PIECE), "line 1 is damaged: it has more than 1048576 bytes"),
        ] {
            let (place, _dir) = open(text.as_bytes());
            let error = read_tables(place.path()).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("hint:"), "{error}");
        }
    }

    /// Three rows of four columns; the budget covers all but one value.
    #[test]
    fn a_tail_stays_within_the_budget_of_its_run() {
        let (_place, dir) = open(STREAM.as_bytes());
        let read = |values| {
            let mut tail = Tail::open(&dir, Path::new("io.csv")).unwrap();
            tail.read(&mut Budget::new(values, 0), &mut |_, _| Ok(true))
        };
        read(12).unwrap();
        let error = read(11).unwrap_err().to_string();
        assert!(error.contains("io.csv") && error.contains("more values"), "{error}");
    }
}
