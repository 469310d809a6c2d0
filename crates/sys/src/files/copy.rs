//! Copies file trees made by others: only the contents of regular files, and only up to a budget.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::files::dir::Dir;
use crate::files::error::Error;

/// Maximum nesting depth of copied folders. No program of ours nests deeper.
pub(crate) const MAX_DEPTH: usize = 64;

/// Bytes copied between two checks of the stop callback.
const CHUNK: usize = 1 << 20;

/// Upper limit of a copy, or of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Total apparent size of all files: a sparse file counts with its holes.
    pub bytes: u64,
    /// Number of names in all folders, including those left out.
    pub names: u64,
}

impl Dir {
    /// Copies the regular files below `from`, with their folders, into this directory; existing files
    /// of the same name are replaced. Links, pipes and devices are left out, and returned. Copies get
    /// the owner and mode of any file created here, so a foreign set-uid program does not stay one.
    ///
    /// A tree larger than `budget` is refused before anything is copied, and again if it has grown in
    /// the meantime. A file that cannot be copied completely is removed. `stop` is polled regularly;
    /// `true` cancels the copy.
    pub fn copy_in(
        &self,
        from: &Self,
        budget: Budget,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut copy = Copying { whole: budget, remaining: budget, stop, left_out: Vec::new() };
        copy.count(from, 0)?;
        copy.remaining = budget;
        copy.level(self, from, 0)?;
        Ok(copy.left_out)
    }
}

/// A copy in progress.
struct Copying<'c> {
    whole: Budget,
    remaining: Budget,
    stop: &'c dyn Fn() -> bool,
    left_out: Vec<PathBuf>,
}

impl Copying<'_> {
    /// Counts names and bytes before anything is copied.
    fn count(&mut self, from: &Dir, depth: usize) -> Result<(), Error> {
        for name in self.names(from)? {
            if from.has_file(&name) {
                let whole = from.path().join(&name);
                let metadata = from.read(&name)?.metadata();
                let bytes = metadata.map_err(|cause| Error::new("stat", &whole, cause))?.len();
                self.charge(bytes, &whole)?;
            } else if depth < MAX_DEPTH
                && let Ok(inner) = from.dir(&name)
            {
                self.count(&inner, depth + 1)?;
            }
        }
        Ok(())
    }

    fn level(&mut self, to: &Dir, from: &Dir, depth: usize) -> Result<(), Error> {
        for name in self.names(from)? {
            let whole = from.path().join(&name);
            if from.has_file(&name) {
                to.remove_file(&name)?;
                let (mut source, mut copy) = (from.read(&name)?, to.create(&name)?);
                if let Err(error) = self.file(&mut source, &mut copy, &whole) {
                    // A partial file is worse than none, and may be what filled the disk.
                    let _ = to.remove_file(&name);
                    return Err(error);
                }
                continue;
            }
            match from.dir(&name) {
                Ok(inner) if depth < MAX_DEPTH => {
                    self.level(&to.make_dir(&name)?, &inner, depth + 1)?;
                }
                _ => self.left_out.push(whole),
            }
        }
        Ok(())
    }

    fn file(&mut self, source: &mut File, copy: &mut File, whole: &Path) -> Result<(), Error> {
        let wrong = |cause| Error::new("copy", whole, cause);
        let mut part = vec![0; CHUNK];
        loop {
            self.check_stopped(whole)?;
            let count = match source.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                Err(cause) => return Err(wrong(cause)),
            };
            self.charge(count as u64, whole)?;
            copy.write_all(&part[..count]).map_err(wrong)?;
        }
    }

    /// The names in a folder, charged against the budget.
    fn names(&mut self, folder: &Dir) -> Result<Vec<std::ffi::OsString>, Error> {
        self.check_stopped(folder.path())?;
        let names = folder.names()?;
        let count = names.len() as u64;
        self.remaining.names = self.remaining.names.checked_sub(count).ok_or_else(|| {
            too_much("copy", folder.path(), &format!("more than {} names", self.whole.names))
        })?;
        Ok(names)
    }

    fn charge(&mut self, bytes: u64, whole: &Path) -> Result<(), Error> {
        self.remaining.bytes = self.remaining.bytes.checked_sub(bytes).ok_or_else(|| {
            too_much("copy", whole, &format!("more than {} MiB", self.whole.bytes >> 20))
        })?;
        Ok(())
    }

    fn check_stopped(&self, whole: &Path) -> Result<(), Error> {
        match (self.stop)() {
            true => Err(Error::new("copy", whole, io::Error::from(ErrorKind::Interrupted))),
            false => Ok(()),
        }
    }
}

pub(crate) fn too_much(verb: &'static str, at: &Path, what: &str) -> Error {
    let why = format!("the files up to this one hold {what}, which is the limit");
    Error::refused(verb, at, why).with_hint("find out what created this much")
}
