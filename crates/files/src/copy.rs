//! Copying what somebody else has made: what is in files, and nothing else of them, and not more than
//! was agreed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::dir::Dir;
use crate::error::Error;

/// Folders inside one another that are copied; what lies deeper no program of ours has made.
const DEEPEST: usize = 64;

/// What is copied between two looks whether it is still wanted.
const PART: usize = 1 << 20;

/// How much is copied at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of all files together, as long as they say that they are: a file with a hole in it takes the
    /// room of one without.
    pub bytes: u64,
    /// Names in all folders together, those that are left out among them.
    pub names: u64,
}

impl Dir {
    /// Copies the regular files below `from` into this directory, with the folders that they lie in; what
    /// has the name of one here is replaced. Links, pipes and devices are left out, and named. What is
    /// copied has the owner and mode of any file that is made here: no program of theirs becomes one
    /// that runs as its owner.
    ///
    /// What is more than `budget` is refused before anything is copied, and once more where it has grown
    /// since then. Of a file that cannot be copied whole, no part stays. `stop` is asked now and then
    /// whether nobody waits for it any more.
    pub fn copy_in(
        &self,
        from: &Self,
        budget: Budget,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut copy = Copying { whole: budget, left: budget, stop, left_out: Vec::new() };
        copy.count(from, 0)?;
        copy.left = budget;
        copy.level(self, from, 0)?;
        Ok(copy.left_out)
    }
}

/// A copy that is being made.
struct Copying<'c> {
    whole: Budget,
    left: Budget,
    stop: &'c dyn Fn() -> bool,
    left_out: Vec<PathBuf>,
}

impl Copying<'_> {
    /// Counts what would be copied.
    fn count(&mut self, from: &Dir, depth: usize) -> Result<(), Error> {
        for name in self.names(from)? {
            if from.has_file(&name) {
                let whole = from.path().join(&name);
                let found = from.read(&name)?.metadata();
                let bytes = found.map_err(|cause| Error::new("stat", &whole, cause))?.len();
                self.take(bytes, &whole)?;
            } else if depth < DEEPEST
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
                    // A part of a file is worse than none, and may be what has filled the disk.
                    let _ = to.remove_file(&name);
                    return Err(error);
                }
                continue;
            }
            match from.dir(&name) {
                Ok(inner) if depth < DEEPEST => {
                    self.level(&to.make_dir(&name)?, &inner, depth + 1)?;
                }
                _ => self.left_out.push(whole),
            }
        }
        Ok(())
    }

    fn file(&mut self, source: &mut File, copy: &mut File, whole: &Path) -> Result<(), Error> {
        let wrong = |cause| Error::new("copy", whole, cause);
        let mut part = vec![0; PART];
        loop {
            self.look(whole)?;
            let count = match source.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                Err(cause) => return Err(wrong(cause)),
            };
            self.take(count as u64, whole)?;
            copy.write_all(&part[..count]).map_err(wrong)?;
        }
    }

    /// The names in a folder, which are taken from what is left.
    fn names(&mut self, folder: &Dir) -> Result<Vec<std::ffi::OsString>, Error> {
        self.look(folder.path())?;
        let names = folder.names()?;
        let count = names.len() as u64;
        self.left.names = self.left.names.checked_sub(count).ok_or_else(|| {
            too_much(folder.path(), &format!("more than {} names", self.whole.names))
        })?;
        Ok(names)
    }

    fn take(&mut self, bytes: u64, whole: &Path) -> Result<(), Error> {
        self.left.bytes =
            self.left.bytes.checked_sub(bytes).ok_or_else(|| {
                too_much(whole, &format!("more than {} MiB", self.whole.bytes >> 20))
            })?;
        Ok(())
    }

    fn look(&self, whole: &Path) -> Result<(), Error> {
        match (self.stop)() {
            true => Err(Error::new("copy", whole, io::Error::from(ErrorKind::Interrupted))),
            false => Ok(()),
        }
    }
}

fn too_much(at: &Path, what: &str) -> Error {
    let why = format!("with it, what is to be copied is {what}, the most that is taken");
    Error::refused("copy", at, why).with_hint("look who has made so much of it")
}
