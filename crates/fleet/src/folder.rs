//! The folder of a fleet, on a file system shared by all hosts.
//!
//! ```text
//! FLEET/
//!   fleet.json               the requested fleet, and its jobs
//!   job-1.sh                 the script of the first submission, then job-2.sh, ...
//!   program-1/               the program of that submission, and assay-load
//!   study/                   the study file and its neighbouring files, unless it is a shipped one
//!   log/JOB_TASK.txt         output of a task
//!   tasks/TASK/job-JOB/      task.json, stdout.txt, stderr.txt, and run/, a run folder
//!   fleet-verdict.json, report.html, samples/SOURCE.parquet    once collected
//! ```

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_files::{Caller, Dir, Trust, check};
use assay_run_folder::parse_json;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::document::{Fleet, SCHEMA, TaskRecord};
use crate::error::Error;

/// A fleet's folder.
#[derive(Debug, Clone)]
pub struct FleetFolder {
    path: PathBuf,
    dir: Arc<Dir>,
}

/// Size limit of documents and of a task's output, in bytes.
pub(crate) const MOST_DOCUMENT: u64 = 64 << 20;

/// Size limit of a task's own record, in bytes: those of all tasks are in memory at once.
const MOST_RECORD: u64 = 1 << 20;

/// Signs shown of a task's last line.
const SHOWN: usize = 300;

/// Name of the fleet's document.
const FLEET: &str = "fleet.json";

impl FleetFolder {
    /// Creates a fleet folder; an existing folder must be empty. Its contents are run by root on
    /// every host, so no other user may write there.
    pub fn create(path: &Path, trust: Trust) -> Result<Self, Error> {
        let dir = check(path, Caller::from_sudo(), trust)?.make()?;
        let whole = dir.path().to_owned();
        if !dir.is_empty()? {
            return Err(not_empty(path).hint(
                "choose a new folder with --out; to continue a fleet, use `assay fleet resume`",
            ));
        }
        let folder = Self { dir: Arc::new(dir), path: whole };
        folder.check_name()?;
        for part in ["log", "tasks"] {
            folder.make_dir(Path::new(part))?;
        }
        Ok(folder)
    }

    /// Creates a folder for runs that were copied from their hosts, locked. The document comes first: with it a call
    /// that was killed is continued, and without it the folder holds at most a draft of it.
    pub(crate) fn create_copied(path: &Path, trust: Trust, fleet: &Fleet) -> Result<Self, Error> {
        let dir = check(path, Caller::from_sudo(), trust)?.make()?;
        let folder = Self { path: dir.path().to_owned(), dir: Arc::new(dir) };
        folder.lock_for_copies()?;
        let is_draft = |name: &OsString| {
            name.to_str().is_some_and(|name| {
                name.strip_prefix('.').is_some_and(|rest| rest.starts_with(FLEET))
                    && name.ends_with(".draft")
            })
        };
        if !folder.dir.names()?.iter().all(is_draft) {
            return Err(not_empty(path).hint("name a new folder, or that of a fleet"));
        }
        folder.write_fleet(fleet)?;
        Ok(folder)
    }

    /// Refuses a folder whose path cannot be written in a job script: Slurm treats `%` in a log's
    /// name as a pattern, and an option ends with its line.
    pub(crate) fn check_name(&self) -> Result<(), Error> {
        let text = self.path.to_string_lossy();
        if text.contains(['%', '"', '\\']) || text.chars().any(char::is_control) {
            let why = "a job script cannot contain this path";
            return Err(Error::file("use", &self.path, &why)
                .hint("choose a path without `%`, `\"`, backslashes and control characters"));
        }
        Ok(())
    }

    /// Whether a folder holds a fleet.
    #[must_use]
    pub fn is_fleet(path: &Path) -> bool {
        Dir::open(path).is_ok_and(|dir| dir.has_file(FLEET))
    }

    /// Opens a fleet folder.
    pub fn open(path: &Path) -> Result<Self, Error> {
        // Everything after this uses the directory that was opened.
        let dir = Dir::open(path).map_err(|_| no_fleet(path))?;
        Self::over(dir, path)
    }

    fn over(dir: Dir, named: &Path) -> Result<Self, Error> {
        match dir.has_file(FLEET) {
            true => Ok(Self { path: dir.current_path()?, dir: Arc::new(dir) }),
            false => Err(no_fleet(named)),
        }
    }

    /// Opens a fleet folder to run its contents. A folder that other users may write to is refused
    /// unless they are trusted.
    pub fn open_trusted(path: &Path, trust: Trust) -> Result<Self, Error> {
        Self::over(check(path, Caller::from_sudo(), trust)?.open()?, path)
    }

    /// Locks it against every other call that takes copies into it, on this host, until it is closed: two would give
    /// one place to different runs. The lock is on the directory, since `fleet.json` is another file after each update.
    pub(crate) fn lock_for_copies(&self) -> Result<(), Error> {
        match flock(self.dir(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(()),
            Err(Errno::WOULDBLOCK) => {
                let why = "another `assay fleet collect --collect-from` is taking copies into it";
                Err(Error::file("take copies into", &self.path, &why)
                    .hint("wait until the other one has ended; `lslocks` names it"))
            }
            Err(cause) => Err(Error::file("lock", &self.path, &cause)),
        }
    }

    /// The directory handle through which all files in it are created.
    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The folder of a task's files for one job, relative to the fleet's folder.
    #[must_use]
    pub fn task_folder(task: usize, job: u64) -> PathBuf {
        PathBuf::from(format!("tasks/{task:02}/job-{job}"))
    }

    /// Creates a folder in it, with its parents.
    pub fn make_dir(&self, name: &Path) -> Result<PathBuf, Error> {
        self.dir.make_dir(name)?;
        Ok(self.file(name))
    }

    /// Replaces a file atomically: a reader on another host sees the old text or the new one.
    pub fn write_text(&self, name: &Path, text: &str) -> Result<(), Error> {
        Ok(self.dir.replace(name, text.as_bytes())?)
    }

    /// Replaces a JSON document.
    pub fn write_json(&self, name: &Path, document: &impl Serialize) -> Result<(), Error> {
        self.write_text(name, &self.json(name, document)?)
    }

    fn json(&self, name: &Path, document: &impl Serialize) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|cause| Error::file("write", &self.file(name), &cause))?;
        Ok(format!("{text}\n"))
    }

    fn read_json<T: DeserializeOwned>(&self, name: &Path, limit: u64) -> Result<T, Error> {
        let text = self.dir.text(name, limit)?;
        parse_json(&text).map_err(|cause| Error::file("read", &self.file(name), &cause))
    }

    /// Replaces `fleet.json`, unless it would be too long to be read again.
    pub fn write_fleet(&self, fleet: &Fleet) -> Result<(), Error> {
        let text = self.json(Path::new(FLEET), fleet)?;
        if text.len() as u64 > MOST_DOCUMENT {
            let why = format!("it would be longer than {} MiB", MOST_DOCUMENT >> 20);
            return Err(Error::file("write", &self.file(FLEET), &why)
                .hint("divide the hosts over several fleets"));
        }
        self.write_text(Path::new(FLEET), &text)
    }

    /// Reads `fleet.json`. Newer formats are refused.
    pub fn read_fleet(&self) -> Result<Fleet, Error> {
        let value: serde_json::Value = self.read_json(Path::new(FLEET), MOST_DOCUMENT)?;
        let schema = value.get("schema").and_then(serde_json::Value::as_u64);
        if schema != Some(u64::from(SCHEMA)) {
            let written =
                schema.map_or_else(|| "no schema".to_owned(), |one| format!("schema {one}"));
            return Err(Error::file("read", &self.file(FLEET), &format!("it has {written}"))
                .hint("it was written by another version of Assay; use that version"));
        }
        let fleet: Fleet = serde_json::from_value(value)
            .map_err(|cause| Error::file("read", &self.file(FLEET), &cause))?;
        let wrong = |why: &str| Err(Error::file("read", &self.file(FLEET), &why));
        if fleet.exceeds_a_year() {
            return wrong("its time limit is longer than a year");
        }
        match fleet.repeated_job() {
            None => Ok(fleet),
            Some(job) => wrong(&format!("it lists the job {job} twice")),
        }
    }

    /// Reads a task's own record; `None` before its start, or if the file is incomplete.
    #[must_use]
    pub fn read_task(&self, task: usize, job: u64) -> Option<TaskRecord> {
        self.read_json(&Self::task_folder(task, job).join("task.json"), MOST_RECORD).ok()
    }

    /// The last line of a task's output, if any.
    #[must_use]
    pub fn last_line(&self, task: usize, job: u64) -> Option<String> {
        let text = self.dir.bytes(log_name(job, task), MOST_DOCUMENT).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(last.chars().take(SHOWN).collect())
    }
}

/// The run folder of a task for one job, relative to the fleet's folder.
pub(crate) fn run_path(task: usize, job: u64) -> PathBuf {
    FleetFolder::task_folder(task, job).join("run")
}

fn not_empty(path: &Path) -> Error {
    Error::file("create", path, &"the folder is not empty")
}

fn no_fleet(path: &Path) -> Error {
    Error::file("open", path, &"it holds no fleet.json")
        .hint("name the folder that `assay fleet run` printed")
}

/// The file of a task's output, relative to the fleet's folder.
pub(crate) fn log_name(job: impl fmt::Display, task: usize) -> String {
    format!("log/{job}_{task}.txt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Submission;

    #[test]
    fn a_fleet_never_overwrites_another() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("fleet");
        FleetFolder::create(&path, Trust::Checked).unwrap();
        assert!(
            FleetFolder::create(&path, Trust::Checked).unwrap_err().hint.unwrap().contains("--out")
        );
        assert!(FleetFolder::open(&path).unwrap_err().what.contains("fleet.json"));
        let odd = FleetFolder::create(&place.path().join("100%"), Trust::Checked);
        assert!(odd.unwrap_err().hint.unwrap().contains('%'));
    }

    #[test]
    fn a_newer_format_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(place.path(), Trust::Checked).unwrap();
        folder.write_text(Path::new(FLEET), "{\"schema\": 9}").unwrap();
        let error = folder.read_fleet().unwrap_err();
        assert!(error.what.contains("schema 9") && error.hint.is_some(), "{error}");
    }

    /// Its verdict would count twice.
    #[test]
    fn a_job_that_is_listed_twice_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(place.path(), Trust::Checked).unwrap();
        let submission =
            Submission { job: 17, tasks: vec![0], at: String::new(), script: String::new() };
        let submissions = vec![submission.clone(), submission];
        folder.write_fleet(&Fleet { schema: SCHEMA, submissions, ..Fleet::default() }).unwrap();
        let error = folder.read_fleet().unwrap_err();
        assert!(error.what.contains("job 17"), "{error}");
    }

    /// Sums of these would be beyond any clock.
    #[test]
    fn time_limits_beyond_a_year_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(place.path(), Trust::Checked).unwrap();
        let usual = Fleet { schema: SCHEMA, ..Fleet::default() };
        folder.write_fleet(&usual).unwrap();
        folder.read_fleet().unwrap();
        for odd in [
            Fleet { time_limit_min: u64::MAX, ..usual.clone() },
            Fleet { signal_ahead_s: u64::MAX, ..usual },
        ] {
            folder.write_fleet(&odd).unwrap();
            let error = folder.read_fleet().unwrap_err();
            assert!(error.what.contains("longer than a year"), "{error}");
        }
    }

    #[test]
    fn a_fleet_that_could_not_be_read_again_is_not_written() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(place.path(), Trust::Checked).unwrap();
        let fleet = Fleet { schema: SCHEMA, ..Fleet::default() };
        folder.write_fleet(&fleet).unwrap();
        let title = "x".repeat(usize::try_from(MOST_DOCUMENT).unwrap());
        let error = folder.write_fleet(&Fleet { title, ..fleet.clone() }).unwrap_err();
        assert!(error.what.contains("longer than 64 MiB") && error.hint.is_some(), "{error}");
        assert_eq!(folder.read_fleet().unwrap(), fleet, "the former one stays");
    }

    /// A thousand of them are in memory at once.
    #[test]
    fn an_oversized_task_record_is_ignored() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(place.path(), Trust::Checked).unwrap();
        let at = FleetFolder::task_folder(0, 17);
        folder.make_dir(&at).unwrap();
        let record = |why: &str| {
            let text = include_str!("../../fuzz/corpus/task/ended.json");
            let text = text.replace("a promise is broken", why);
            folder.write_text(&at.join("task.json"), &text).unwrap();
            folder.read_task(0, 17)
        };
        assert!(record("short").is_some());
        assert_eq!(record(&"x".repeat(2 << 20)), None);
    }

    #[test]
    fn a_partially_written_task_record_is_ignored() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(place.path(), Trust::Checked).unwrap();
        let at = FleetFolder::task_folder(3, 17);
        assert_eq!(at, Path::new("tasks/03/job-17"));
        folder.make_dir(&at).unwrap();
        assert_eq!(folder.read_task(3, 17), None);
        folder.write_text(&at.join("task.json"), "{\"schema\": 1, \"ta").unwrap();
        assert_eq!(folder.read_task(3, 17), None);
    }
}
