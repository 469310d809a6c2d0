//! Tables as CSV (RFC 4180).

use std::io::{BufWriter, Write};

use assay_sys::escape::csv;
use assay_sys::exit::Error;
use assay_sys::files::{Dir, Draft};

use crate::export::cell::{Cell, Sink};
use crate::export::columns::Shape;
use crate::export::error::{cannot_write, write_error};

/// A CSV file, moved to its final path when complete.
pub(crate) struct Csv {
    file: BufWriter<Draft>,
    line: String,
}

impl Csv {
    pub(crate) fn create(folder: &Dir, shape: &Shape) -> Result<Self, Error> {
        let file =
            BufWriter::new(folder.draft(format!("{}.csv", shape.name)).map_err(cannot_write)?);
        let mut sink = Self { file, line: String::new() };
        let names: Vec<Cell<'_>> =
            shape.columns.iter().map(|column| Cell::Text(column.name)).collect();
        sink.row(&names)?;
        Ok(sink)
    }
}

impl Sink for Csv {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        self.line.clear();
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.line.push(',');
            }
            match cell {
                Cell::None => {}
                // Quotation marks distinguish an empty text from null.
                Cell::Text("") => self.line.push_str("\"\""),
                Cell::Text(text) => self.line.push_str(&csv(text)),
                Cell::Whole(value) => self.line.push_str(&value.to_string()),
                Cell::Number(value) => self.line.push_str(&value.to_string()),
                Cell::Flag(value) => self.line.push_str(&value.to_string()),
            }
        }
        self.line.push('\n');
        let written = self.file.write_all(self.line.as_bytes());
        written.map_err(|cause| write_error(self.file.get_ref().path().display(), &cause))
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        let path = self.file.get_ref().path().to_owned();
        let flushed = self.file.into_inner();
        let file = flushed.map_err(|cause| write_error(path.display(), cause.error()))?;
        file.commit().map_err(cannot_write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::columns::RUNS;

    #[test]
    fn formulas_and_newlines_are_escaped_and_empty_text_differs_from_null() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Dir::open(dir.path()).unwrap();
        let mut csv = Csv::create(&folder, &RUNS).unwrap();
        let cells = [Cell::Text("=HYPERLINK(1;2)"), Cell::Text("a\nb"), Cell::Text(""), Cell::None];
        csv.row(&cells).unwrap();
        Box::new(csv).finish().unwrap();
        let text = std::fs::read_to_string(dir.path().join("runs.csv")).unwrap();
        let (_, row) = text.split_once('\n').unwrap();
        assert_eq!(row, "\"'=HYPERLINK(1;2)\",\"a\nb\",\"\",\n");
    }
}
