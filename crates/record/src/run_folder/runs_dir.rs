//! A directory of runs: `runs/`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use assay_sys::files::{Dir, check_links};

use crate::run_folder::error::Error;
use crate::run_folder::summary::{RunSummary, Stamp, stamp_of, summarize_dir, unreadable};

/// A directory of runs, locked against updates by other processes.
#[derive(Debug)]
pub struct RunsDir {
    // The lock is released with the descriptor, even if the process is killed.
    dir: Dir,
}

impl RunsDir {
    /// Opens the directory and waits until no other process updates the files beside the runs. The lock is on
    /// the directory itself, so that no lock file is left behind (flock(2) works on any open file).
    pub fn lock(path: &Path) -> Result<Self, Error> {
        let hint = "name the folder that holds the folders of runs, such as runs/";
        if path.exists() && !path.is_dir() {
            return Err(Error::new("open", path, &"it is no folder").with_hint(hint));
        }
        check_links(path)?;
        let dir = Dir::open(path).map_err(|error| match error.is_missing() {
            true => Error::from(error).with_hint(hint),
            false => error.into(),
        })?;
        Self::from_dir(dir)
    }

    /// The same for an open directory.
    pub fn from_dir(dir: Dir) -> Result<Self, Error> {
        wait_for_lock(&dir, dir.path())?;
        Ok(Self { dir })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Names of all runs in it, finished or only begun, in order.
    pub fn runs(&self) -> Result<Vec<OsString>, Error> {
        names(&self.dir)
    }

    /// Current stamp of one run.
    #[must_use]
    pub fn stamp(&self, run: &OsStr) -> Stamp {
        stamp_of(self.dir.dir(run).ok().as_ref())
    }

    /// Summary of one run.
    #[must_use]
    pub fn summarize(&self, run: &OsStr) -> RunSummary {
        summary_in(&self.dir, run)
    }

    /// The directory itself.
    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Replaces a whole file beside the runs.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(self.dir.replace(name, text.as_bytes())?)
    }
}

/// How long to wait for the lock. Anyone who may read the directory can hold it, and updating the list of
/// runs is not worth a longer wait.
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

/// The names of all runs in a directory, finished or only begun, in order.
pub fn runs(folder: &Dir) -> Result<Vec<OsString>, Error> {
    names(folder)
}

/// Each run in a directory, open, with its summary, in order of names.
pub fn summaries(folder: &Dir) -> Result<impl Iterator<Item = (Dir, RunSummary)>, Error> {
    let open = |name: OsString| folder.dir(name).ok();
    Ok(names(folder)?.into_iter().filter_map(open).map(|run| {
        let summary = summarize_dir(&run);
        (run, summary)
    }))
}

fn summary_in(folder: &Dir, name: &OsStr) -> RunSummary {
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

/// A folder with a manifest, or with the empty parts that a run creates before its manifest. Links are not
/// followed: otherwise anyone who may write here could make every list of runs read files elsewhere. Nor are mounts
/// entered, which may never answer.
fn is_run(folder: &Dir, name: &OsStr) -> bool {
    folder.dir_on_mount(name).is_ok_and(|run| {
        run.has_file("manifest.json") || (run.dir("samples").is_ok() && run.dir("logs").is_ok())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_sys::files::Trust;

    use super::*;
    use crate::run_folder::folder::RunFolder;

    #[test]
    fn waiting_for_a_held_lock_ends() {
        let place = tempfile::tempdir().unwrap();
        let _holder = RunsDir::lock(place.path()).unwrap();
        let begun = Instant::now();
        assert!(RunsDir::lock(place.path()).unwrap_err().to_string().contains("lslocks"));
        assert!(begun.elapsed() < PATIENCE * 3, "{:?}", begun.elapsed());
    }

    #[test]
    fn runs_are_recognised_by_their_content() {
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
    fn a_link_among_the_runs_is_not_a_run() {
        let place = tempfile::tempdir().unwrap();
        let (own_runs, elsewhere) = (place.path().join("runs"), place.path().join("elsewhere"));
        fs::create_dir_all(own_runs.join("run")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let manifest = r#"{"schema": 1, "study": "secret"}"#;
        fs::write(elsewhere.join("manifest.json"), manifest).unwrap();
        symlink(&elsewhere, own_runs.join("link")).unwrap();
        symlink(elsewhere.join("manifest.json"), own_runs.join("run/manifest.json")).unwrap();
        for part in ["samples", "logs"] {
            fs::create_dir(own_runs.join("run").join(part)).unwrap();
        }
        let folder = Dir::open(&own_runs).unwrap();
        assert_eq!(runs(&folder).unwrap(), ["run"]);
        let listed: Vec<_> = summaries(&folder).unwrap().collect();
        assert!(listed.len() == 1 && listed[0].1.study.is_empty(), "{listed:?}");
        // A run that is replaced by a link between two reads.
        let runs_dir = RunsDir::lock(&own_runs).unwrap();
        assert!(runs_dir.summarize(OsStr::new("link")).study.is_empty());
        assert_eq!(runs_dir.stamp(OsStr::new("link")), stamp_of(None));
        assert_eq!(runs_dir.stamp(OsStr::new("run")), stamp_of(None));
    }
}
