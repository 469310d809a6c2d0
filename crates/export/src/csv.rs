//! Tables as CSV (RFC 4180).

use std::io::{BufWriter, Write};

use assay_escape::csv;
use assay_files::{Dir, Draft};

use crate::cell::{Cell, Sink};
use crate::columns::Shape;
use crate::error::Error;

/// A CSV file that takes its place when it is whole.
pub(crate) struct Csv {
    file: BufWriter<Draft>,
    line: String,
}

impl Csv {
    pub(crate) fn create(folder: &Dir, shape: &Shape) -> Result<Self, Error> {
        let file = BufWriter::new(folder.draft(format!("{}.csv", shape.name))?);
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
                // An empty text has quotation marks, to be told from none.
                Cell::Text("") => self.line.push_str("\"\""),
                Cell::Text(text) => self.line.push_str(&csv(text)),
                Cell::Whole(value) => self.line.push_str(&value.to_string()),
                Cell::Number(value) => self.line.push_str(&value.to_string()),
                Cell::Flag(value) => self.line.push_str(&value.to_string()),
            }
        }
        self.line.push('\n');
        let written = self.file.write_all(self.line.as_bytes());
        written.map_err(|cause| Error::write(self.file.get_ref().path(), &cause))
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        let path = self.file.get_ref().path().to_owned();
        let whole = self.file.into_inner();
        Ok(whole.map_err(|cause| Error::write(&path, cause.error()))?.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::RUNS;

    #[test]
    fn no_name_is_a_formula_or_a_row_and_an_empty_text_is_not_none() {
        let place = tempfile::tempdir().unwrap();
        let folder = Dir::open(place.path()).unwrap();
        let mut csv = Csv::create(&folder, &RUNS).unwrap();
        let cells = [Cell::Text("=HYPERLINK(1;2)"), Cell::Text("a\nb"), Cell::Text(""), Cell::None];
        csv.row(&cells).unwrap();
        Box::new(csv).finish().unwrap();
        let text = std::fs::read_to_string(place.path().join("runs.csv")).unwrap();
        let (_, row) = text.split_once('\n').unwrap();
        assert_eq!(row, "\"'=HYPERLINK(1;2)\",\"a\nb\",\"\",\n");
    }
}
