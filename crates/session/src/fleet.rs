//! One study on many hosts: submitting it, and merging the runs.

mod copies;
mod submit;

use std::path::Path;

use assay_files::Trust;
use assay_fleet::{Fleet, FleetFolder, Slurm, Watcher, collect, states, wait, write};
use assay_verdict::{FleetJudgement, HostState, Verdict};

use crate::code::Code;
use crate::error::Error;
use crate::observer::Observer;

pub use copies::{CopiesTaken, collect_copies};
pub use submit::{FleetOptions, OpenFleet, resubmit_fleet, submit_fleet};

/// Files of samples that are named when they are left out: one host may have thousands.
const MOST_NAMED: usize = 100;

/// Opens a fleet to act on its contents, and finds a Slurm that answers. The fleet is read from the folder
/// that was checked.
///
/// # Errors
/// The folder holds no fleet, others may have changed it, or there is no Slurm.
pub fn open_fleet(path: &Path, trust: Trust) -> Result<OpenFleet, Error> {
    // A folder that is not a fleet is reported first, as a usage error.
    read_fleet(path)?;
    let opened = FleetFolder::open_trusted(path, trust).and_then(with_document);
    let (folder, fleet) = opened.map_err(Error::host)?;
    copies::refuse_copied(&fleet)?;
    let slurm = Slurm::find().map_err(Error::host)?;
    Ok(OpenFleet { folder, fleet, slurm })
}

/// Opens a fleet for reading.
///
/// # Errors
/// The folder holds no fleet.
pub fn read_fleet(path: &Path) -> Result<OpenFleet, Error> {
    let (folder, fleet) = FleetFolder::open(path).and_then(with_document).map_err(Error::usage)?;
    let slurm = Slurm::from_fleet(&fleet);
    Ok(OpenFleet { folder, fleet, slurm })
}

fn with_document(folder: FleetFolder) -> Result<(FleetFolder, Fleet), assay_fleet::Error> {
    let fleet = folder.read_fleet()?;
    Ok((folder, fleet))
}

impl OpenFleet {
    /// The results of the hosts so far, without writing them.
    #[must_use]
    pub fn judgement(&self) -> FleetJudgement {
        let states = states(&self.folder, &self.fleet, &self.slurm);
        collect(&self.folder, &self.fleet, &states, &self.slurm)
    }

    /// Merges the finished runs and writes the result and its report.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn merge(&self, observer: &mut dyn Observer) -> Result<FleetJudgement, Error> {
        let judgement = self.judgement();
        let left_out = write(&self.folder, &judgement).map_err(Error::host)?;
        for (path, why) in left_out.iter().take(MOST_NAMED) {
            observer.message(&format!("samples left out: {}: {why}", path.display()));
        }
        if let Some(more) = left_out.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            observer.message(&format!("samples left out: {more} more files"));
        }
        Ok(judgement)
    }

    /// Waits until every task has ended. Returns the signal that ended the wait before, if one did.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn wait(&self, watcher: &mut dyn Watcher) -> Result<Option<&'static str>, Error> {
        wait(&self.folder, &self.fleet, &self.slurm, watcher).map_err(Error::host)
    }
}

/// The exit code for the results of the hosts (docs/cli.md).
#[must_use]
pub fn fleet_code(judgement: &FleetJudgement) -> Code {
    let has = |code: Code| judgement.hosts.iter().any(|host| host.code == Some(code as i32));
    let none = judgement.hosts.iter().all(|host| host.overall_verdict().is_none());
    let in_progress = |state| matches!(state, HostState::Waiting | HostState::Running);
    if judgement.restored == Some(false) || has(Code::RestoreIncomplete) {
        return Code::RestoreIncomplete;
    }
    if has(Code::Workload) {
        return Code::Workload;
    }
    if none && !judgement.hosts.iter().any(|host| in_progress(host.state)) {
        return Code::Host;
    }
    // A study without promises succeeds if every host does.
    let all_did = judgement.hosts.iter().all(|host| host.code == Some(Code::Kept as i32));
    match judgement.verdict {
        Verdict::Void if none => Code::Undecided,
        Verdict::Void if all_did => Code::Kept,
        verdict => Code::from_verdict(verdict),
    }
}
