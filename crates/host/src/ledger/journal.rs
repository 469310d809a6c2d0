//! The ledger's file: one line (`line.rs`) for each intention and for each change taken back.
//!
//! An `intend` line is on the disk before its change is made. A `back` line need not be: taking
//! back what is back already does nothing.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_kernel::{Error, file_lock};

use super::change::Change;
use super::instant::{self, instant};
use super::line::{Contents, Header, Line, parse};

/// What the file of a run that has not begun yet ends with.
pub(super) const UNBORN: &str = "new";

/// The ledger's file, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// The boot in which this process lives.
    boot: String,
}

impl Journal {
    /// Makes the file of a new run, locked and with its first line; it must not exist. It gets
    /// its name only when it is whole, so that an empty ledger is always a damaged one.
    pub(super) fn create(path: &Path, header: Header) -> Result<Self, Error> {
        if path.exists() {
            return Err(Error::unexpected("create", path, "there is a ledger of that name"));
        }
        instant()?;
        let unborn = path.with_extension(UNBORN);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&unborn)
            .map_err(|cause| Error::new("create", &unborn, &cause))?;
        let boot = header.boot.clone();
        let mut journal = Self { path: unborn.clone(), file, boot };
        let named = journal.first_line(header).and_then(|()| {
            instant()?;
            std::fs::rename(&unborn, path).map_err(|cause| Error::new("rename", &unborn, &cause))
        });
        if let Err(error) = named {
            // Nothing was changed yet; an empty file would only be in the way of the next run.
            if instant().is_ok() {
                let _ = std::fs::remove_file(&unborn);
            }
            return Err(error);
        }
        path.clone_into(&mut journal.path);
        instant()?;
        path.parent().map_or(Ok(()), sync_directory)?;
        Ok(journal)
    }

    fn first_line(&mut self, header: Header) -> Result<(), Error> {
        if !self.try_lock()? {
            return Err(Error::unexpected("lock", &self.path, "another process holds it"));
        }
        self.append(&[Line::Begin(header)], true)
    }

    /// Opens the file of an earlier run.
    pub(super) fn open(path: &Path, boot: &str) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(|cause| Error::new("open", path, &cause))?;
        super::unfinished::keep_to_owner(&file, path)?;
        Ok(Self { path: path.to_owned(), file, boot: boot.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the file for as long as it is open, unless another process has; says whether it did.
    pub(super) fn try_lock(&self) -> Result<bool, Error> {
        file_lock::try_lock(&self.file, &self.path)
    }

    /// The same, waiting for it as long as `limit`; who holds it then is named.
    pub(super) fn lock_within(&self, limit: Duration) -> Result<(), Error> {
        file_lock::lock_within(&self.file, &self.path, limit)
    }

    /// Writes intentions and returns when they are on the disk.
    pub(super) fn intend(&mut self, changes: &[(u32, Change)]) -> Result<(), Error> {
        let lines: Vec<Line> = changes
            .iter()
            .map(|(entry, change)| Line::Intend {
                entry: *entry,
                boot: self.boot.clone(),
                change: change.clone(),
            })
            .collect();
        self.append(&lines, true)
    }

    pub(super) fn back(&mut self, entry: u32) -> Result<(), Error> {
        self.append(&[Line::Back { entry }], false)
    }

    fn append(&mut self, lines: &[Line], durable: bool) -> Result<(), Error> {
        let path = self.path.clone();
        let wrong = |cause: &std::io::Error| {
            Error::new("append to the ledger", &path, cause).with_hint(
                "no change is made that is not written down first; ASSAY_STATE names \
                            another place for ledgers",
            )
        };
        let mut text = String::new();
        for line in lines {
            text += &line.to_text().map_err(|cause| wrong(&cause.into()))?;
        }
        let length = self.file.metadata().map_err(|cause| wrong(&cause))?.len();
        if let Err(cause) = instant::write_all(&mut self.file, text.as_bytes()) {
            // A part of a line would spoil the next one. A dead process cuts nothing.
            if instant().is_ok() {
                let _ = self.file.set_len(length);
            }
            return Err(wrong(&cause));
        }
        instant()?;
        if durable {
            self.file.sync_data().map_err(|cause| wrong(&cause))?;
            instant::synced(&self.path);
        }
        instant()
    }

    /// Reads the whole file.
    pub(super) fn read(&mut self) -> Result<Contents, Error> {
        let wrong = |cause: &std::io::Error| Error::new("read", &self.path, cause);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| wrong(&cause))?;
        self.file.read_to_end(&mut bytes).map_err(|cause| wrong(&cause))?;
        Ok(parse(&bytes))
    }

    /// Ends a torn last line, so that what is appended starts a line of its own. The torn one
    /// stays to be looked at.
    pub(super) fn end_torn_line(&mut self, contents: &Contents) -> Result<(), Error> {
        if !contents.lacks_end {
            return Ok(());
        }
        instant()?;
        instant::write_all(&mut self.file, b"\n")
            .map_err(|cause| Error::new("append to the ledger", &self.path, &cause))
    }

    /// Removes the file; the ledger is at its end.
    pub(super) fn remove(self) -> Result<(), Error> {
        instant()?;
        std::fs::remove_file(&self.path)
            .map_err(|cause| Error::new("unlink", &self.path, &cause))?;
        instant()?;
        self.path.parent().map_or(Ok(()), sync_directory)
    }
}

/// Makes the directory's entries durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::new("fsync", path, &cause))
}
