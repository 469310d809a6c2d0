//! The space that a tree made by others takes on its disk.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use crate::files::copy::{Budget, MAX_DEPTH, too_much};
use crate::files::dir::Dir;
use crate::files::error::Error;

/// Unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;

/// Names between two checks of the stop callback.
const NAMES: u64 = 1000;

impl Dir {
    /// An error if what lies below takes more than `budget`: bytes allocated on disk, of all kinds of files,
    /// and names. No file is opened and no link followed. What vanishes meanwhile does not count. `stop` is polled
    /// regularly; `true` ends it with an error.
    pub fn check_usage(&self, budget: Budget, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        Usage { whole: budget, remaining: budget, stop }.level(self, 0)
    }
}

struct Usage<'u> {
    whole: Budget,
    remaining: Budget,
    stop: &'u dyn Fn() -> bool,
}

impl Usage<'_> {
    fn level(&mut self, dir: &Dir, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(too_much("keep", dir.path(), &format!("folders nested {MAX_DEPTH} deep")));
        }
        for name in dir.names()? {
            let whole = dir.path().join(&name);
            let stat = match statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat.map_err(|cause| Error::new("stat", &whole, cause))?,
            };
            self.charge(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK), &whole)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                match dir.dir(&name) {
                    Err(error) if error.is_missing() || error.is(Errno::NOTDIR) => {}
                    inner => self.level(&inner?, depth + 1)?,
                }
            }
        }
        Ok(())
    }

    fn charge(&mut self, bytes: u64, whole: &Path) -> Result<(), Error> {
        let Some(names) = self.remaining.names.checked_sub(1) else {
            return Err(too_much("keep", whole, &format!("more than {} names", self.whole.names)));
        };
        let Some(bytes) = self.remaining.bytes.checked_sub(bytes) else {
            return Err(too_much(
                "keep",
                whole,
                &format!("more than {} MiB", self.whole.bytes >> 20),
            ));
        };
        self.remaining = Budget { bytes, names };
        if (self.whole.names - names).is_multiple_of(NAMES) && (self.stop)() {
            return Err(Error::new("walk", whole, io::Error::from(ErrorKind::Interrupted)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn allocated_bytes_and_names_are_limited_and_holes_are_free() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        fs::create_dir(temp.path().join("inner")).unwrap();
        fs::write(temp.path().join("inner/file"), vec![1; 1 << 20]).unwrap();
        symlink("/", temp.path().join("link")).unwrap();
        fs::File::create(temp.path().join("holes")).unwrap().set_len(1 << 40).unwrap();
        let check = |bytes, names| {
            dir.check_usage(Budget { bytes, names }, &|| false).map_err(|error| error.to_string())
        };
        assert_eq!(check(2 << 20, 4), Ok(()));
        let error = check(1 << 19, 4).unwrap_err();
        assert!(error.contains("inner/file") && error.contains("more than 0 MiB"), "{error}");
        let error = check(2 << 20, 3).unwrap_err();
        assert!(error.contains("more than 3 names"), "{error}");
    }

    #[test]
    fn a_long_walk_is_stopped() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let budget = Budget { bytes: 1 << 30, names: 1 << 20 };
        for number in 1..NAMES {
            fs::write(temp.path().join(number.to_string()), "").unwrap();
        }
        dir.check_usage(budget, &|| true).unwrap();
        fs::write(temp.path().join("last"), "").unwrap();
        assert!(dir.check_usage(budget, &|| true).is_err());
    }

    #[test]
    fn nothing_hides_in_deep_folders() {
        let temp = tempfile::tempdir().unwrap();
        let deep: std::path::PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 1).collect();
        fs::create_dir_all(temp.path().join(deep)).unwrap();
        let budget = Budget { bytes: 1 << 30, names: 1 << 20 };
        let dir = Dir::open(temp.path()).unwrap();
        let error = dir.check_usage(budget, &|| false).unwrap_err().to_string();
        assert!(error.contains("nested 64 deep"), "{error}");
    }
}
