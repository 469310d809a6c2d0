//! Where a document goes that is no talk: a file, a pipe, or a terminal, which shows what is written
//! and obeys nothing of it.

use std::io::{self, IsTerminal, Write};

use assay_files::{Error, Output};

use crate::output::for_terminal;

/// A file or pipe, which gets every byte as it is, or a terminal, which gets whole lines with all that
/// it would obey as text.
#[derive(Debug)]
pub(crate) struct Destination {
    to: Output,
    /// What has come of a line that is not whole yet, where it is a terminal.
    line: Option<Vec<u8>>,
}

impl Destination {
    pub(crate) fn of(to: Output) -> Self {
        let is_terminal = matches!(&to, Output::Stream(file) if file.is_terminal());
        Self { to, line: is_terminal.then(Vec::new) }
    }

    /// What stdout leads to.
    pub(crate) fn stdout() -> io::Result<Self> {
        Output::stdout().map(Self::of)
    }

    /// Lets a new file take its place now, for those who read it while it grows.
    pub(crate) fn at_once(self) -> Result<Self, Error> {
        Ok(Self { to: self.to.at_once()?, line: self.line })
    }

    /// Lets a new file take its place. What was written must have been flushed.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.to.finish()
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(line) = &mut self.line else { return self.to.write(bytes) };
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
    to.write_all(for_terminal(&String::from_utf8_lossy(text)).as_bytes())
}
