//! A folder of runs: `runs/`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use assay_files::Dir;

use crate::error::Error;
use crate::limit;
use crate::summary::{RunSummary, Stamp, stamp_of, summarize_dir, unreadable};

/// A folder of runs that nobody else updates meanwhile.
#[derive(Debug)]
pub struct RunsDir {
    // The lock ends with the descriptor, also when the process is killed.
    dir: Dir,
}

impl RunsDir {
    /// Opens the folder and waits until no other process updates what stands beside the runs. The
    /// lock is on the folder itself, so that no file is left behind (flock(2) works on any open
    /// file).
    pub fn lock(path: &Path) -> Result<Self, Error> {
        if path.exists() && !path.is_dir() {
            return Err(Error::new("open", path, &"it is no folder")
                .with_hint("name the folder that holds the folders of runs, such as runs/"));
        }
        Self::over(Dir::open(path)?)
    }

    /// The same of a folder that is open.
    pub fn over(dir: Dir) -> Result<Self, Error> {
        wait_for_lock(&dir, dir.path())?;
        Ok(Self { dir })
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The names of all in it that is a run, or was to become one, in their order.
    pub fn runs(&self) -> Result<Vec<OsString>, Error> {
        names(&self.dir)
    }

    /// The stamp of one of its runs as it is now.
    #[must_use]
    pub fn stamp(&self, run: &OsStr) -> Stamp {
        stamp_of(self.dir.dir(run).ok().as_ref())
    }

    /// One of its runs at a summary.
    #[must_use]
    pub fn summarize(&self, run: &OsStr) -> RunSummary {
        look(&self.dir, run)
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
    let names = names(&Dir::open(path)?)?;
    Ok(names.into_iter().map(|name| path.join(name)).collect())
}

/// The same with what is seen of each at a summary.
pub fn summaries(path: &Path) -> Result<Vec<(PathBuf, RunSummary)>, Error> {
    let folder = Dir::open(path)?;
    let seen = |name: OsString| (path.join(&name), look(&folder, &name));
    Ok(names(&folder)?.into_iter().map(seen).collect())
}

fn look(folder: &Dir, name: &OsStr) -> RunSummary {
    match folder.dir(name) {
        Ok(run) => summarize_dir(&run),
        Err(error) => unreadable(error.cause.to_string()),
    }
}

fn names(folder: &Dir) -> Result<Vec<OsString>, Error> {
    let mut names = folder.names()?;
    names.retain(|name| is_run(folder, name));
    Ok(names)
}

/// A folder with a manifest, or with the empty parts that a run makes before it has one. A link to one
/// is none: whoever may write here could have every list read what lies elsewhere.
fn is_run(folder: &Dir, name: &OsStr) -> bool {
    folder.dir(name).is_ok_and(|run| {
        run.has_file("manifest.json") || (run.dir("samples").is_ok() && run.dir("logs").is_ok())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_files::Trust;

    use super::*;
    use crate::folder::RunFolder;

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_without_end() {
        let place = tempfile::tempdir().unwrap();
        let _holder = RunsDir::lock(place.path()).unwrap();
        let begun = Instant::now();
        assert!(RunsDir::lock(place.path()).unwrap_err().to_string().contains("lslocks"));
        assert!(begun.elapsed() < PATIENCE * 3, "{:?}", begun.elapsed());
    }

    #[test]
    fn runs_are_found_by_what_is_in_them() {
        let place = tempfile::tempdir().unwrap();
        RunFolder::create(&place.path().join("b-begun"), Trust::Checked).unwrap();
        fs::create_dir(place.path().join("no-run")).unwrap();
        let whole = RunFolder::create(&place.path().join("a-whole"), Trust::Checked).unwrap();
        whole.write_text("manifest.json", "{}").unwrap();
        let runs_dir = RunsDir::lock(place.path()).unwrap();
        assert_eq!(runs_dir.runs().unwrap(), ["a-whole", "b-begun"]);
        assert!(RunsDir::lock(&place.path().join("missing")).is_err());
    }
    #[test]
    fn a_link_among_the_runs_is_none() {
        let place = tempfile::tempdir().unwrap();
        let (runs_of_ours, elsewhere) = (place.path().join("runs"), place.path().join("elsewhere"));
        fs::create_dir_all(runs_of_ours.join("run")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let manifest = r#"{"schema": 1, "study": "secret"}"#;
        fs::write(elsewhere.join("manifest.json"), manifest).unwrap();
        symlink(&elsewhere, runs_of_ours.join("link")).unwrap();
        symlink(elsewhere.join("manifest.json"), runs_of_ours.join("run/manifest.json")).unwrap();
        for part in ["samples", "logs"] {
            fs::create_dir(runs_of_ours.join("run").join(part)).unwrap();
        }
        assert_eq!(runs(&runs_of_ours).unwrap(), [runs_of_ours.join("run")]);
        let seen = summaries(&runs_of_ours).unwrap();
        assert!(seen.len() == 1 && seen[0].1.study.is_empty(), "{seen:?}");
        // One that comes to be a link between two looks.
        let runs_dir = RunsDir::lock(&runs_of_ours).unwrap();
        assert!(runs_dir.summarize(OsStr::new("link")).study.is_empty());
        assert_eq!(runs_dir.stamp(OsStr::new("link")), stamp_of(None));
        assert_eq!(runs_dir.stamp(OsStr::new("run")), stamp_of(None));
    }
}
