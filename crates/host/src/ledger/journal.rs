//! The ledger's file: one line (`line.rs`) for each intention and for each restored change.
//!
//! An `intend` line is on disk before its change is made. A `back` line need not be: restoring a change
//! twice has no further effect.

use std::fs::{File, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_sys::files::{Dir, Identity};
use assay_sys::kernel::{Error, file_lock};

use super::change::Change;
use super::crash_point::{self, crash_point};
use super::line::{Contents, Header, Line, parse};

/// Extension of a ledger that is still being created.
pub(super) const TEMPORARY: &str = "new";

/// The ledger's file, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// The boot in which this process runs.
    boot: String,
    /// The start of a partial line that could not be truncated.
    torn_at: Option<u64>,
}

impl Journal {
    /// Creates the file of a new run, locked and with its first line; it must not exist. It gets its
    /// final name only when complete, so that an empty ledger is always a damaged one.
    pub(super) fn create(path: &Path, header: Header) -> Result<Self, Error> {
        if path.exists() {
            return Err(Error::unexpected("create", path, "a ledger of that name exists"));
        }
        crash_point()?;
        let temporary = path.with_extension(TEMPORARY);
        let (dir, name, draft) = (directory(path)?, name_of(path), name_of(&temporary));
        drop(dir.create(draft)?);
        let file = dir.append_existing(draft)?;
        let boot = header.boot.clone();
        let mut journal = Self { path: temporary.clone(), file, boot, torn_at: None };
        let named = journal.first_line(header).and_then(|()| {
            crash_point()?;
            Ok(dir.rename(draft, name)?)
        });
        if let Err(error) = named {
            // Nothing was changed yet; an empty file would only block the next run.
            if crash_point().is_ok() {
                let _ = dir.remove_file(draft);
            }
            return Err(error);
        }
        path.clone_into(&mut journal.path);
        crash_point()?;
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
        let file = directory(path)?.append_existing(name_of(path))?;
        let metadata = file.metadata().map_err(|cause| Error::new("stat", path, &cause))?;
        let is_ours = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
        if !is_ours || metadata.mode() & 0o022 != 0 {
            let why = format!(
                "it belongs to user {} and has mode {:04o}: root carries out what a ledger contains, so \
                 that nobody else may write it; inspect it, and `chown` it or move it away",
                metadata.uid(),
                metadata.mode() & 0o7777
            );
            return Err(Error::unexpected("trust", path, why));
        }
        keep_to_owner(&file, path)?;
        Ok(Self { path: path.to_owned(), file, boot: boot.to_owned(), torn_at: None })
    }

    /// One that keeps nothing: whatever is appended to it is refused.
    pub(super) fn nowhere() -> Result<Self, Error> {
        let path = PathBuf::from("/dev/null");
        let file = File::open(&path);
        let file = file.map_err(|cause| Error::new("open", &path, &cause))?;
        Ok(Self { path, file, boot: String::new(), torn_at: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the file until it is closed, unless another process holds the lock; returns whether it
    /// succeeded.
    pub(super) fn try_lock(&self) -> Result<bool, Error> {
        file_lock::try_lock(&self.file, &self.path)
    }

    /// The same, waiting up to `limit`; an error names the process that holds the lock.
    pub(super) fn lock_within(&self, limit: Duration) -> Result<(), Error> {
        file_lock::lock_within(&self.file, &self.path, limit)
    }

    /// Writes intentions and returns once they are on disk.
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

    /// Writes down the identity of the directory or file that an intention created, and returns once it
    /// is on disk.
    pub(super) fn made(&mut self, entry: u32, identity: Identity) -> Result<(), Error> {
        let Identity { device, inode } = identity;
        self.append(&[Line::Made { entry, device, inode }], true)
    }

    pub(super) fn back(&mut self, entry: u32) -> Result<(), Error> {
        self.append(&[Line::Back { entry }], false)
    }

    fn append(&mut self, lines: &[Line], durable: bool) -> Result<(), Error> {
        let path = self.path.clone();
        let wrong = |cause: &std::io::Error| {
            Error::new("append to the ledger", &path, cause).with_hint(
                "every change is written down before it is made; ASSAY_STATE sets \
                            another directory for ledgers",
            )
        };
        let mut text = String::new();
        for line in lines {
            text += &line.to_text().map_err(|cause| wrong(&cause.into()))?;
        }
        // After a partial line the next one could not be parsed, so it must be truncated before any
        // further change.
        if let Some(length) = self.torn_at {
            self.file.set_len(length).map_err(|cause| wrong(&cause))?;
            self.torn_at = None;
        }
        let length = self.file.metadata().map_err(|cause| wrong(&cause))?.len();
        if let Err(cause) = crash_point::write_all(&mut self.file, text.as_bytes()) {
            // A partial line would corrupt the next one. A dead process truncates nothing.
            if crash_point().is_ok() {
                self.torn_at = self.file.set_len(length).err().map(|_| length);
            }
            return Err(wrong(&cause));
        }
        crash_point()?;
        if durable {
            self.file.sync_data().map_err(|cause| wrong(&cause))?;
            crash_point::synced(&self.path);
        }
        crash_point()
    }

    /// Reads the whole file.
    pub(super) fn read(&mut self) -> Result<Contents, Error> {
        let wrong = |cause: &std::io::Error| Error::new("read", &self.path, cause);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| wrong(&cause))?;
        self.file.read_to_end(&mut bytes).map_err(|cause| wrong(&cause))?;
        Ok(parse(&bytes))
    }

    /// Terminates a torn last line, so that the next append starts a new line. The torn one is kept for
    /// inspection.
    pub(super) fn end_torn_line(&mut self, contents: &Contents) -> Result<(), Error> {
        if !contents.lacks_end {
            return Ok(());
        }
        crash_point()?;
        crash_point::write_all(&mut self.file, b"\n")
            .map_err(|cause| Error::new("append to the ledger", &self.path, &cause))
    }
}

/// Removes the file; the ledger is finished.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    crash_point()?;
    crash_point::removing(path);
    directory(path)?.remove_file(name_of(path))?;
    crash_point()?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// The directory of ledgers; files created in it are accessible to their owner only.
pub(super) fn directory(path: &Path) -> Result<Dir, Error> {
    Ok(Dir::open(path.parent().unwrap_or(Path::new(".")))?.private())
}

/// The last component of a path.
pub(super) fn name_of(path: &Path) -> &Path {
    Path::new(path.file_name().unwrap_or_default())
}

/// Makes the directory's entries durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::new("fsync", path, &cause))?;
    crash_point::names_synced(path);
    Ok(())
}

/// Restricts a file to its owner: anyone who can read it could lock out its writers.
pub(super) fn keep_to_owner(file: &File, path: &Path) -> Result<(), Error> {
    let wrong = |cause: &std::io::Error| Error::new("chmod", path, cause).with_value("600");
    let mode = file.metadata().map_err(|cause| wrong(&cause))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(0o600)).map_err(|cause| wrong(&cause))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_partial_line_is_truncated_before_the_next_append() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("run.jsonl");
        let header = Header {
            format: super::super::line::FORMAT,
            run: "run".to_owned(),
            pid: 1,
            started: None,
            boot: "b".to_owned(),
        };
        let mut journal = Journal::create(&path, header).unwrap();
        let length = path.metadata().unwrap().len();
        journal.file.write_all(b"{\"intend\":{\"ent").unwrap();
        journal.torn_at = Some(length);
        let change = Change::MakeDir { path: PathBuf::from("/nowhere") };
        journal.intend(&[(0, change)]).unwrap();
        let contents = journal.read().unwrap();
        assert_eq!((contents.open.len(), contents.damaged.len()), (1, 0));
    }
}
