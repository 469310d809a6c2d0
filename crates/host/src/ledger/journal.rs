//! The ledger's file: one JSON line for each intention and for each change taken back.
//!
//! ```text
//! {"begin":{"format":1,"run":"...","pid":812,"boot":"..."}}
//! {"intend":{"entry":0,"change":{"write_file":{"path":"...","before":"none","set":"bfq"}}}}
//! {"back":{"entry":0}}
//! ```
//!
//! An `intend` line is on the disk before its change is made. A `back` line need not be: taking
//! back what is back already does nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use assay_kernel::Error;
use serde::{Deserialize, Serialize};

use super::change::Change;

/// Version of the format, in the first line of every ledger.
pub(super) const FORMAT: u32 = 1;

/// Whose ledger it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) run: String,
    pub(super) pid: u32,
    /// /proc/sys/kernel/random/boot_id, so that a ledger from before a reboot is recognised.
    pub(super) boot: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Begin(Header),
    Intend { entry: u32, change: Change },
    Back { entry: u32 },
}

/// What a ledger's file says.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) header: Option<Header>,
    /// Changes that were intended and not taken back, in the order of their making.
    pub(super) open: BTreeMap<u32, Change>,
    /// Numbers of lines, from 1, that cannot be understood. The last line does not count: a
    /// crash may have torn it, and then its change was never made.
    pub(super) damaged: Vec<usize>,
    /// Length of the file without a torn last line.
    intact: u64,
}

/// The ledger's file, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Makes the file of a new run; it must not exist.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|cause| Error::new("create", path, &cause))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Opens the file of an earlier run.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(|cause| Error::new("open", path, &cause))?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the file for as long as it is open, unless another process has; says whether it did.
    pub(super) fn try_lock(&self) -> Result<bool, Error> {
        assay_kernel::filesystem::try_lock(&self.file, &self.path)
    }

    pub(super) fn begin(&mut self, header: Header) -> Result<(), Error> {
        self.append(&[Line::Begin(header)], true)
    }

    /// Writes intentions and returns when they are on the disk.
    pub(super) fn intend(&mut self, changes: &[(u32, Change)]) -> Result<(), Error> {
        let lines: Vec<Line> = changes
            .iter()
            .map(|(entry, change)| Line::Intend { entry: *entry, change: change.clone() })
            .collect();
        self.append(&lines, true)
    }

    pub(super) fn back(&mut self, entry: u32) -> Result<(), Error> {
        self.append(&[Line::Back { entry }], false)
    }

    fn append(&mut self, lines: &[Line], durable: bool) -> Result<(), Error> {
        let wrong = |cause: &std::io::Error| {
            Error::new("append to the ledger", &self.path, cause)
                .with_hint("no change is made that is not written down first")
        };
        let mut text = String::new();
        for line in lines {
            text += &serde_json::to_string(line).map_err(|cause| wrong(&cause.into()))?;
            text.push('\n');
        }
        self.file.write_all(text.as_bytes()).map_err(|cause| wrong(&cause))?;
        if durable { self.file.sync_data().map_err(|cause| wrong(&cause)) } else { Ok(()) }
    }

    /// Reads the whole file.
    pub(super) fn read(&mut self) -> Result<Contents, Error> {
        let wrong = |cause: &std::io::Error| Error::new("read", &self.path, cause);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| wrong(&cause))?;
        self.file.read_to_end(&mut bytes).map_err(|cause| wrong(&cause))?;
        Ok(parse(&bytes))
    }

    /// Cuts a torn last line off, so that what is appended starts a line of its own.
    pub(super) fn cut_torn_line(&mut self, contents: &Contents) -> Result<(), Error> {
        self.file
            .set_len(contents.intact)
            .map_err(|cause| Error::new("truncate", &self.path, &cause))
    }

    /// Removes the file; the ledger is at its end.
    pub(super) fn remove(self) -> Result<(), Error> {
        std::fs::remove_file(&self.path)
            .map_err(|cause| Error::new("unlink", &self.path, &cause))?;
        self.path.parent().map_or(Ok(()), sync_directory)
    }
}

/// Makes the directory's entries durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::new("fsync", path, &cause))
}

fn parse(bytes: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (index, raw) in lines.iter().enumerate() {
        let whole = raw.ends_with(b"\n");
        match serde_json::from_slice(raw) {
            Ok(line) if whole => contents.take(line),
            _ if index + 1 == lines.len() => return contents,
            _ => contents.damaged.push(index + 1),
        }
        contents.intact += raw.len() as u64;
    }
    contents
}

impl Contents {
    fn take(&mut self, line: Line) {
        match line {
            Line::Begin(header) => self.header = Some(header),
            Line::Intend { entry, change } => {
                self.open.insert(entry, change);
            }
            Line::Back { entry } => {
                self.open.remove(&entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intention(entry: u32) -> String {
        format!(
            "{{\"intend\":{{\"entry\":{entry},\"change\":{{\"make_dir\":{{\"path\":\"/a\"}}}}}}}}\n"
        )
    }

    #[test]
    fn a_torn_last_line_is_left_out_at_every_length() {
        let first = intention(0);
        let second = intention(1);
        for length in 0..second.len() {
            let text = format!("{first}{}", &second[..length]);
            let contents = parse(text.as_bytes());
            assert_eq!(contents.open.len(), 1, "cut at {length}");
            assert_eq!(contents.intact, first.len() as u64);
            assert!(contents.damaged.is_empty());
        }
        assert_eq!(parse(format!("{first}{second}").as_bytes()).open.len(), 2);
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_told_and_the_others_are_read() {
        let text = format!("{}garbage\n{}", intention(0), intention(1));
        let contents = parse(text.as_bytes());
        assert_eq!(contents.damaged, [2]);
        assert_eq!(contents.open.len(), 2);
    }

    #[test]
    fn what_is_back_is_no_longer_open() {
        let text = format!("{}{}{{\"back\":{{\"entry\":0}}}}\n", intention(0), intention(1));
        let contents = parse(text.as_bytes());
        assert_eq!(contents.open.into_keys().collect::<Vec<_>>(), [1]);
    }
}
