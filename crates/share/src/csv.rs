//! Tables as CSV (RFC 4180), and as JSON lines.

use std::io::{BufWriter, Write};

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
                Cell::Text(text) => quoted(text, &mut self.line),
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

/// A text with quotation marks where it has to have them; an empty text has them too, to be told
/// from none.
fn quoted(text: &str, line: &mut String) {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_break_a_row_are_quoted() {
        for (text, wanted) in [("a/b", "a/b"), ("a,\"b\"", "\"a,\"\"b\"\"\""), ("", "\"\"")] {
            let mut line = String::new();
            quoted(text, &mut line);
            assert_eq!(line, wanted);
        }
    }
}
