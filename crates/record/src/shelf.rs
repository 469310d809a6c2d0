//! A folder of runs: `runs/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use assay_files::Dir;

use crate::error::Error;
use crate::limit;

/// A folder of runs that nobody else updates meanwhile.
#[derive(Debug)]
pub struct Shelf {
    path: PathBuf,
    // The lock ends with the descriptor, also when the process is killed.
    dir: Dir,
}

impl Shelf {
    /// Opens the folder and waits until no other process updates what stands beside the runs. The
    /// lock is on the folder itself, so that no file is left behind (flock(2) works on any open
    /// file).
    pub fn lock(path: &Path) -> Result<Self, Error> {
        if path.exists() && !path.is_dir() {
            return Err(Error::new("open", path, &"it is no folder")
                .with_hint("name the folder that holds the folders of runs, such as runs/"));
        }
        let dir = Dir::open(path)?;
        wait_for_lock(&dir, path)?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything in it that is a run, or was to become one, in the order of names.
    pub fn runs(&self) -> Result<Vec<PathBuf>, Error> {
        runs(&self.path)
    }

    /// What is in a document beside the runs.
    pub fn text(&self, name: &str) -> Result<String, Error> {
        Ok(self.dir.text(name, limit::document())?)
    }

    /// Replaces a file beside the runs whole.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(self.dir.replace(name, text.as_bytes())?)
    }
}

/// How long the folder's lock is waited for. Whoever may read the folder can hold it, and what is
/// written here is not worth more.
const PATIENCE: Duration = Duration::from_secs(8);

fn wait_for_lock(folder: &Dir, path: &Path) -> Result<(), Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        match rustix::fs::flock(folder, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() >= end => {
                return Err(Error::io("lock", path, &Errno::WOULDBLOCK.into())
                    .with_hint("another process holds a lock on the folder: `lslocks` names it"));
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(Duration::from_millis(20)),
            Err(errno) => return Err(Error::io("lock", path, &errno.into())),
        }
    }
}

/// Everything in a folder that is a run, or was to become one, in the order of names.
pub fn runs(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |cause: &std::io::Error| Error::io("list", path, cause);
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(|cause| failed(&cause))? {
        let entry = entry.map_err(|cause| failed(&cause))?.path();
        if is_run(&entry) {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

/// A folder with a manifest, or with the empty parts that a run makes before it has one.
fn is_run(path: &Path) -> bool {
    path.join("manifest.json").exists()
        || (path.join("samples").is_dir() && path.join("logs").is_dir())
}

#[cfg(test)]
mod tests {
    use assay_files::Trust;

    use super::*;
    use crate::folder::RunFolder;

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_without_end() {
        let place = tempfile::tempdir().unwrap();
        let _holder = Shelf::lock(place.path()).unwrap();
        let begun = Instant::now();
        assert!(Shelf::lock(place.path()).unwrap_err().to_string().contains("lslocks"));
        assert!(begun.elapsed() < PATIENCE * 3, "{:?}", begun.elapsed());
    }

    #[test]
    fn runs_are_found_by_what_is_in_them() {
        let place = tempfile::tempdir().unwrap();
        RunFolder::create(&place.path().join("b-begun"), Trust::Checked).unwrap();
        fs::create_dir(place.path().join("no-run")).unwrap();
        let whole = RunFolder::create(&place.path().join("a-whole"), Trust::Checked).unwrap();
        whole.write_text("manifest.json", "{}").unwrap();
        let shelf = Shelf::lock(place.path()).unwrap();
        let names: Vec<_> =
            shelf.runs().unwrap().iter().map(|run| run.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a-whole", "b-begun"]);
        assert!(Shelf::lock(&place.path().join("missing")).is_err());
    }
}
