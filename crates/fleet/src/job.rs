//! One study on many hosts: submitting it, and judging the runs side by side.

mod start;

use std::path::{Path, PathBuf};

use assay_judge::verdict::{FleetJudgement, Verdict};
use assay_run::observer::Observer;
use assay_sys::exit::{Code, Error};
use assay_sys::files::{Caller, Trust, check};

use crate::{CopySources, Fleet, FleetFolder, collect, submit, write};

pub use start::{FleetOptions, submit_fleet};

/// A submitted fleet with its folder.
#[derive(Debug)]
pub struct OpenFleet {
    /// The folder.
    pub folder: FleetFolder,
    /// Its document.
    pub fleet: Fleet,
}

impl OpenFleet {
    /// Opens a fleet for reading.
    ///
    /// # Errors
    /// The folder holds no fleet.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (folder, fleet) = FleetFolder::open(path)?;
        Ok(Self { folder, fleet })
    }

    /// Opens a fleet to act on its contents, if a Slurm answers.
    ///
    /// # Errors
    /// The folder holds no fleet, others may have changed it, or there is no Slurm.
    pub fn open_trusted(path: &Path, trust: Trust) -> Result<Self, Error> {
        // A folder that is no fleet is reported first, as a usage error.
        Self::open(path)?;
        let (folder, fleet) = FleetFolder::open_trusted(path, trust)?;
        crate::find()?;
        Ok(Self { folder, fleet })
    }

    /// The results of the hosts so far, with those of runs that were copied.
    #[must_use]
    pub fn judgement(&self, copies: &CopySources) -> FleetJudgement {
        collect(Some((&self.folder, &self.fleet)), copies)
    }

    /// Submits the tasks without a verdict again, on nodes that have none.
    ///
    /// # Errors
    /// Slurm refuses the job.
    pub fn resubmit(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let judgement = self.judgement(&CopySources::default());
        let (done, missing): (Vec<_>, Vec<_>) =
            judgement.hosts.into_iter().partition(|host| host.verdict.is_some());
        let exclude: Vec<String> = done.into_iter().map(|host| host.node).collect();
        let missing: Vec<usize> = missing.iter().map(|host| host.task).collect();
        if missing.is_empty() {
            observer.message("every task has a verdict; nothing is submitted");
            return Ok(());
        }
        self.submit(&missing, &exclude, observer)
    }

    fn submit(
        &mut self,
        tasks: &[usize],
        exclude: &[String],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let known = self.fleet.jobs.len();
        submit(&self.folder, &mut self.fleet, tasks, exclude)?;
        let jobs: Vec<String> = self.fleet.jobs[known..].iter().map(u64::to_string).collect();
        let tasks = assay_judge::verdict::wording::count(tasks.len(), "task");
        observer.message(&format!("submitted {tasks}: job {}", jobs.join(", ")));
        Ok(())
    }
}

/// Merges the runs of a fleet and those below folders of copies, and writes the result and its report. A folder
/// without a fleet gets the merged copies alone.
///
/// # Errors
/// A folder of copies cannot be opened, before anything was made; the result cannot be written.
pub fn collect_fleet(
    path: &Path,
    copies: &[PathBuf],
    trust: Trust,
    observer: &mut dyn Observer,
) -> Result<FleetJudgement, Error> {
    let copies = CopySources::open(copies)?;
    let judgement = match (OpenFleet::open(path), copies.is_empty()) {
        (Ok(open), _) => {
            let judgement = open.judgement(&copies);
            write(open.folder.dir(), &judgement)?;
            judgement
        }
        (Err(error), true) => return Err(error),
        (Err(_), false) => {
            let dir =
                check(path, Caller::from_sudo(), trust).and_then(assay_sys::files::Checked::make);
            let judgement = collect(None, &copies);
            write(&dir.map_err(Error::host)?, &judgement)?;
            judgement
        }
    };
    let missing = judgement.hosts.iter().filter(|host| host.verdict.is_none()).count();
    if missing > 0 {
        let word = assay_sys::escape::shell_word(&path.display().to_string());
        observer.message(&format!(
            "{missing} of {} without a verdict; again: assay fleet resume {word}",
            assay_judge::verdict::wording::count(judgement.hosts.len(), "task")
        ));
    }
    Ok(judgement)
}

/// The exit code for the results of the hosts (docs/cli.md).
#[must_use]
pub fn fleet_code(judgement: &FleetJudgement) -> Code {
    let has = |code: Code| judgement.hosts.iter().any(|host| host.code == Some(code as i32));
    let none = judgement.hosts.iter().all(|host| host.verdict.is_none());
    if judgement.restored == Some(false) || has(Code::RestoreIncomplete) {
        return Code::RestoreIncomplete;
    }
    if has(Code::Workload) {
        return Code::Workload;
    }
    if none {
        return Code::Host;
    }
    // A study without promises succeeds if every host does.
    let all_did = judgement.hosts.iter().all(|host| host.code == Some(Code::Kept as i32));
    match judgement.verdict {
        Verdict::Void if all_did => Code::Kept,
        verdict => verdict.code(),
    }
}
