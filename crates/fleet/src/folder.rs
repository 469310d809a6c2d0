//! The folder of a fleet, on a file system that all its hosts share, and `fleet.json` in it.
//!
//! ```text
//! FLEET/
//!   fleet.json                 what was submitted, and the jobs
//!   job.sh                     the script of the tasks
//!   study/                     the study file and the files that it names, unless it is a shipped study
//!   log/JOB_TASK.txt           output of a task
//!   nodes/NODE/JOB_TASK/       the run folder of a task
//!   nodes/NODE/JOB_TASK.json   how the run ended
//!   fleet-verdict.json, report.html    once collected
//! ```

use std::path::{Path, PathBuf};

use assay_record::run_folder::parse_json;
use assay_sys::exit::Error;
use assay_sys::files::{Caller, Checked, Dir, Trust, check};
use serde::{Deserialize, Serialize};

/// The version of `fleet.json`.
pub const SCHEMA: u32 = 3;

/// Bytes of a document in the folder.
pub(crate) const MAX_DOCUMENT: u64 = 64 << 20;

/// Tasks of a fleet: Slurm has arrays of at most 4 million.
const MAX_TASKS: usize = 1 << 20;

const FLEET: &str = "fleet.json";

/// A study that was submitted to many hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// Version of this format.
    pub schema: u32,
    /// Version of the program that submitted it.
    pub assay: String,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// Its question.
    pub question: Option<String>,
    /// The command line that submitted it.
    pub command: Vec<String>,
    /// Submission time, RFC 3339, UTC.
    pub started_at: String,
    /// The digest of its plan, by which its runs are known.
    pub plan: String,
    /// The seed of task 0; task N has the seed N higher.
    pub seed: u64,
    /// Number of tasks.
    pub tasks: usize,
    /// The node of each task; none where Slurm chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Slurm's ids of the jobs, the latest last.
    pub jobs: Vec<u64>,
}

impl Fleet {
    /// The task that has this seed.
    #[must_use]
    pub fn task_of(&self, seed: u64) -> Option<usize> {
        let task = usize::try_from(seed.checked_sub(self.seed)?).ok()?;
        (task < self.tasks).then_some(task)
    }
}

/// A fleet's folder: everything below is opened from its descriptor, and no link in it is followed.
#[derive(Debug)]
pub struct FleetFolder {
    path: PathBuf,
    dir: Dir,
}

impl FleetFolder {
    /// Creates a folder for a fleet; an existing one must be empty. Root runs its contents on every host, so no other
    /// user may write there.
    pub fn create(path: &Path, trust: Trust) -> Result<Self, Error> {
        let made = check(path, Caller::from_sudo(), trust).and_then(Checked::make);
        let dir = made.map_err(Error::host)?;
        if !dir.is_empty().map_err(Error::host)? {
            return Err(Error::host(format!(
                "cannot create {}: the folder is not empty\n  hint: name a new folder with --out; `assay fleet resume` \
                 continues a fleet",
                path.display()
            )));
        }
        let folder = Self { path: dir.path().to_owned(), dir };
        usable_in_a_script(&folder.path)?;
        for part in ["log", "nodes"] {
            folder.dir.make_dir(part).map_err(Error::host)?;
        }
        Ok(folder)
    }

    /// Opens a fleet's folder for reading.
    pub fn open(path: &Path) -> Result<(Self, Fleet), Error> {
        Self::with_fleet(Dir::open(path).map_err(|_| no_fleet(path))?, path)
    }

    /// Opens a folder to act on its contents: one that other users may write to is refused unless they are trusted.
    pub fn open_trusted(path: &Path, trust: Trust) -> Result<(Self, Fleet), Error> {
        let opened = check(path, Caller::from_sudo(), trust).and_then(Checked::open);
        Self::with_fleet(opened.map_err(Error::host)?, path)
    }

    fn with_fleet(dir: Dir, named: &Path) -> Result<(Self, Fleet), Error> {
        if !dir.has_file(FLEET) {
            return Err(no_fleet(named));
        }
        let folder = Self { path: dir.current_path().map_err(Error::usage)?, dir };
        let file = folder.path.join(FLEET);
        let wrong = |why: &dyn std::fmt::Display| {
            Error::usage(format!("cannot read {}: {why}", file.display()))
        };
        let text = folder.dir.text(FLEET, MAX_DOCUMENT).map_err(Error::usage)?;
        let value: serde_json::Value = parse_json(&text).map_err(|cause| wrong(&cause))?;
        if value["schema"] != SCHEMA {
            return Err(wrong(&format!(
                "it has schema {}, and not {SCHEMA}\n  hint: another version of Assay wrote it; use that version",
                value["schema"]
            )));
        }
        let fleet: Fleet = serde_json::from_value(value).map_err(|cause| wrong(&cause))?;
        match fleet.tasks {
            0..=MAX_TASKS => Ok((folder, fleet)),
            more => Err(wrong(&format!("it has {more} tasks"))),
        }
    }

    /// Replaces `fleet.json`.
    pub fn write_fleet(&self, fleet: &Fleet) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(fleet).map_err(Error::host)?;
        self.dir.replace(FLEET, format!("{text}\n").as_bytes()).map_err(Error::host)
    }

    /// The directory.
    #[must_use]
    pub const fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn no_fleet(path: &Path) -> Error {
    let hint = "hint: name the folder that `assay fleet run` printed";
    Error::usage(format!("cannot open {}: it holds no fleet.json\n  {hint}", path.display()))
}

/// Refuses a path that a job script cannot contain: Slurm takes `%` in the name of a log as a pattern, and
/// sha256sum escapes a backslash.
pub(crate) fn usable_in_a_script(path: &Path) -> Result<(), Error> {
    let usable = |text: &str| {
        !text.contains(['%', '"', '\\']) && !text.contains(char::is_control) && !text.ends_with(' ')
    };
    if path.to_str().is_some_and(usable) {
        return Ok(());
    }
    Err(Error::host(format!(
        "cannot use {}: a job script cannot contain this path\n  hint: choose a path without `%`, `\"`, backslashes and \
         control characters",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_never_overwrites_another_and_other_formats_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("fleet");
        let folder = FleetFolder::create(&path, Trust::Checked).unwrap();
        let refused = |error: Error, why: &str| assert!(error.to_string().contains(why), "{error}");
        refused(FleetFolder::create(&path, Trust::Checked).unwrap_err(), "--out");
        refused(FleetFolder::open(&path).unwrap_err(), "fleet.json");
        let fleet = Fleet { schema: SCHEMA, seed: 7, tasks: 4, ..Fleet::default() };
        folder.write_fleet(&fleet).unwrap();
        assert_eq!(FleetFolder::open(&path).unwrap().1, fleet);
        assert_eq!([6, 7, 10, 11].map(|seed| fleet.task_of(seed)), [None, Some(0), Some(3), None]);
        folder.dir().replace(FLEET, b"{\"schema\": 9}").unwrap();
        refused(FleetFolder::open(&path).unwrap_err(), "schema 9");
        let odd = FleetFolder::create(&place.path().join("100%"), Trust::Checked);
        refused(odd.unwrap_err(), "without `%`");
    }
}
