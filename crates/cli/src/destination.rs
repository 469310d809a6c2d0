//! The destination of a document: a file, a pipe, or a terminal, for which control sequences are
//! escaped.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use assay_sys::files::{Error, Output};
use assay_sys::kernel::stream::write_data;

use crate::exporting::write_error;
use crate::output::for_terminal;

/// A file or pipe, which gets every byte unchanged, or a terminal, which gets whole lines with control
/// sequences escaped.
#[derive(Debug)]
pub(crate) struct Destination {
    to: Output,
    /// The beginning of an unfinished line, for a terminal.
    line: Option<Vec<u8>>,
}

impl Destination {
    pub(crate) fn new(to: Output) -> Self {
        let is_terminal = matches!(&to, Output::Stream(file) if file.is_terminal());
        Self { to, line: is_terminal.then(Vec::new) }
    }

    /// The file, or `-` for stdout.
    pub(crate) fn open(path: &Path) -> Result<Self, assay_sys::exit::Error> {
        match path.as_os_str() == "-" {
            true => Self::stdout().map_err(|cause| write_error(&cause)),
            false => {
                assay_sys::files::output(path).map(Self::new).map_err(assay_sys::exit::Error::usage)
            }
        }
    }

    /// Writes a whole document, and moves a new file to its final name.
    pub(crate) fn write_text(mut self, text: &str) -> Result<(), assay_sys::exit::Error> {
        self.write_all(text.as_bytes()).map_err(|cause| write_error(&cause))?;
        self.flush().map_err(|cause| write_error(&cause))?;
        self.finish().map_err(assay_report::export::cannot_write)
    }

    /// Writes to stdout.
    pub(crate) fn stdout() -> io::Result<Self> {
        Output::stdout().map(Self::new)
    }

    /// Moves a new file to its final name. All writes must have been flushed.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.to.finish()
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(line) = &mut self.line else {
            return put(&mut self.to, bytes).map(|()| bytes.len());
        };
        line.extend_from_slice(bytes);
        let end = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let rest = line.split_off(end);
        let whole = std::mem::replace(line, rest);
        show(&mut self.to, &whole)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(line) = &mut self.line {
            let whole = std::mem::take(line);
            show(&mut self.to, &whole)?;
        }
        self.to.flush()
    }
}

fn show(to: &mut Output, text: &[u8]) -> io::Result<()> {
    put(to, for_terminal(&String::from_utf8_lossy(text)).as_bytes())
}

/// A stream may have a reader that stopped reading.
fn put(to: &mut Output, bytes: &[u8]) -> io::Result<()> {
    match to {
        Output::Stream(file) => write_data(file, bytes),
        draft => draft.write_all(bytes),
    }
}
