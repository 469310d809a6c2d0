//! Tables as CSV (RFC 4180), and as JSON lines.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::cell::{Cell, Sink};
use crate::columns::Shape;
use crate::error::Error;

/// A CSV file that takes its place when it is whole.
pub(crate) struct Csv {
    file: BufWriter<File>,
    path: PathBuf,
    draft: PathBuf,
    line: String,
}

impl Csv {
    pub(crate) fn create(folder: &Path, shape: &Shape) -> Result<Self, Error> {
        let path = folder.join(format!("{}.csv", shape.name));
        let draft = folder.join(format!("{}.csv.draft", shape.name));
        let file = File::create(&draft).map_err(|cause| Error::write(&draft, &cause))?;
        let mut sink = Self { file: BufWriter::new(file), path, draft, line: String::new() };
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
        self.file.write_all(self.line.as_bytes()).map_err(|cause| Error::write(&self.draft, &cause))
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        let failed = |cause: &std::io::Error| Error::write(&self.path, cause);
        self.file.flush().map_err(|cause| failed(&cause))?;
        fs::rename(&self.draft, &self.path).map_err(|cause| failed(&cause))
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
