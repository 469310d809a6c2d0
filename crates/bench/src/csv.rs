//! A table as a file, of which each line is written when it is known.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;

/// A file of lines, or none if it was not requested.
pub(crate) struct Csv(Option<File>);

impl Csv {
    /// Appends to `path`, so that a campaign can be made in parts; a new file gets the heading.
    pub(crate) fn open(path: Option<&Path>, heading: &str) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self(None)) };
        let opened = || {
            let mut file = File::options().create(true).append(true).open(path)?;
            if file.metadata()?.len() == 0 {
                writeln!(file, "{heading}")?;
            }
            Ok(file)
        };
        let failed = |cause: std::io::Error| {
            Failure::Failed(format!("cannot write {}: {cause}", path.display()))
        };
        opened().map(|file| Self(Some(file))).map_err(failed)
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: &str) -> Result<(), Failure> {
        match &mut self.0 {
            Some(file) => writeln!(file, "{line}").map_err(|cause| Failure::from_display(&cause)),
            None => Ok(()),
        }
    }
}

/// A text as one cell, without what would end it.
pub(crate) fn cell(text: &str) -> String {
    text.replace([',', '\n', '\r', '"'], ";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_in_parts_has_one_heading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        for line in ["1,a", "2,b"] {
            Csv::open(Some(&path), "number,letter").unwrap().add(line).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), "number,letter\n1,a\n2,b\n");
        Csv::open(None, "nothing").unwrap().add("nowhere").unwrap();
    }

    #[test]
    fn a_cell_does_not_end_early() {
        assert_eq!(cell("a, \"b\"\nc"), "a; ;b;;c");
    }
}
