//! Runs that a user has copied from their hosts (scp, rsync, tar), taken into a fleet's folder.
//!
//! Each run is known by its plan and its seed, or its host, whatever the folders are called. It is copied to
//! `incoming`, checked there, and renamed to its place in one step: a call that is killed loses nothing and leaves
//! nothing half done, and the next one goes on. Folders that cannot be taken are named with the reason.

mod assign;
mod find;
mod identity;

use std::path::{Path, PathBuf};

use assay_files::{Budget, Dir, Trust};
use assay_kernel::signal;
use assay_run_folder::Manifest;
use assay_verdict::{Judgement, Verdict};

use crate::document::{Fleet, Phase, Refused, SCHEMA, TaskRecord};
use crate::error::Error;
use crate::folder::{FleetFolder, run_path};
use crate::task_runs::TaskRuns;
use assign::Assignment;
pub use find::CopySources;
use find::Search;
use identity::{Identity, cut, manifest_in, whole};

/// Where a run is while it is copied, relative to the fleet's folder.
const INCOMING: &str = "incoming";

/// The most that one run may hold.
const MOST_OF_A_RUN: Budget = Budget { bytes: 8 << 30, names: 1 << 18 };

/// Refused folders that are recorded.
const MOST_REFUSED: usize = 1 << 12;

/// What was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies {
    /// Number of runs that were taken by this call.
    pub taken: usize,
    /// Folders that were not, with the reason.
    pub refused: Vec<Refused>,
    /// The signal that ended it early; the same call goes on.
    pub interrupted: Option<&'static str>,
}

/// A run below a folder that the user named.
struct Found {
    /// Number of that folder.
    root: usize,
    /// The path below it.
    path: PathBuf,
    /// The path for people.
    shown: PathBuf,
    identity: Identity,
    study: StudyNames,
    /// Why it cannot be taken, although it says what it is.
    damage: Option<String>,
}

/// What a fleet that is made of copies takes from its first run, each text cut.
struct StudyNames {
    name: String,
    title: String,
    question: Option<String>,
}

/// A run and its place.
struct Assigned {
    found: Found,
    task: usize,
    job: u64,
}

/// Takes the runs of hosts into a fleet; where there is none at `path`, it is created. Nothing in the copies is changed,
/// and no link is followed. No other call takes copies into the fleet until its folder is dropped.
pub fn take_copies(
    path: &Path,
    from: &CopySources,
    trust: Trust,
) -> Result<(FleetFolder, Fleet, Copies), Error> {
    let (folder, mut fleet) = match FleetFolder::is_fleet(path) {
        true => open_locked(path, trust)?,
        false => create_locked(path, trust)?,
    };
    let copies = take_into(&folder, &mut fleet, from)?;
    Ok((folder, fleet, copies))
}

/// Opens a fleet to take copies into it. It is read after it was locked: no other call changes it meanwhile.
fn open_locked(path: &Path, trust: Trust) -> Result<(FleetFolder, Fleet), Error> {
    let folder = FleetFolder::open_trusted(path, trust)?;
    folder.lock_for_copies()?;
    let fleet = folder.read_fleet()?;
    Ok((folder, fleet))
}

/// Creates a fleet of runs that no scheduler has started, locked in the same way.
fn create_locked(path: &Path, trust: Trust) -> Result<(FleetFolder, Fleet), Error> {
    let fleet = Fleet {
        schema: SCHEMA,
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        copied: true,
        ..Fleet::default()
    };
    Ok((FleetFolder::create_copied(path, trust, &fleet)?, fleet))
}

fn take_into(
    folder: &FleetFolder,
    fleet: &mut Fleet,
    CopySources(from): &CopySources,
) -> Result<Copies, Error> {
    // What a killed call has left; it holds no lock any more.
    folder.dir().remove_tree(INCOMING)?;
    let mut copies = Copies::default();
    let found = find(from, &mut copies.refused)?;
    let assigned = assign(folder, fleet, found, &mut copies.refused);
    fleet.refused.clone_from(&copies.refused);
    if fleet.copied {
        folder.write_fleet(fleet)?;
    }
    for one in assigned {
        if signal::interrupted_by().is_some() {
            break;
        }
        match take(folder, &from[one.found.root].1, &one) {
            Ok(()) => copies.taken += 1,
            Err(_) if signal::interrupted_by().is_some() => {}
            Err(why) => {
                folder.dir().remove_tree(INCOMING)?;
                let why = cut(&why);
                if fleet.copied {
                    // The host has run the study, so that its verdict is missing, not unasked.
                    record(folder, &one, None, Some(why.clone()))?;
                }
                refuse(&mut copies.refused, &one.found.shown, &why);
            }
        }
    }
    copies.interrupted = signal::interrupted_by();
    fleet.refused.clone_from(&copies.refused);
    if fleet.copied {
        folder.write_fleet(fleet)?;
    }
    Ok(copies)
}

/// The runs below the folders that the user named, those that are whole first.
fn find(from: &[(PathBuf, Dir)], refused: &mut Vec<Refused>) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for (root, (named, top)) in from.iter().enumerate() {
        let before = (found.len(), refused.len());
        let mut unread: Vec<(PathBuf, String)> = Vec::new();
        let mut take = |path: &Path, dir: Dir| {
            let shown = if path.as_os_str().is_empty() { named.clone() } else { named.join(path) };
            match examine(dir) {
                Ok((identity, study, damage)) => {
                    let path = path.to_owned();
                    found.push(Found { root, path, shown, identity, study, damage });
                }
                Err(why) => refuse(refused, &shown, &why),
            }
        };
        let mut not_read = |path: &Path, why: String| {
            if unread.len() < MOST_REFUSED {
                unread.push((named.join(path), why));
            }
        };
        Search::new(&mut take, &mut not_read).through(top.dir("")?);
        unread.into_iter().for_each(|(path, why)| refuse(refused, &path, &why));
        if before == (found.len(), refused.len()) {
            refuse(refused, named, "no run folder is in it");
        }
    }
    found.sort_by_key(|one| one.damage.is_some());
    Ok(found)
}

fn examine(dir: Dir) -> Result<(Identity, StudyNames, Option<String>), String> {
    let (folder, manifest) = manifest_in(dir)?;
    let damage = whole(&folder, &manifest, &mut TaskRuns::of_copy()).err();
    let study = StudyNames {
        name: cut(&manifest.study),
        title: cut(&manifest.title),
        question: manifest.question.as_deref().map(cut),
    };
    Ok((Identity::new(&manifest), study, damage.as_deref().map(cut)))
}

fn assign(
    folder: &FleetFolder,
    fleet: &mut Fleet,
    found: Vec<Found>,
    refused: &mut Vec<Refused>,
) -> Vec<Assigned> {
    let copied = fleet.copied;
    let mut assignment = Assignment::new(folder, fleet);
    let mut assigned = Vec::new();
    for found in found {
        // In a fleet that was submitted the task has its own state; here a damaged run is all that is known of it.
        if let Some(why) = found.damage.as_ref().filter(|_| !copied) {
            refuse(refused, &found.shown, why);
            continue;
        }
        match assignment.task_of(&found) {
            Ok((task, job)) => assigned.push(Assigned { found, task, job }),
            Err(why) => refuse(refused, &found.shown, found.damage.as_ref().unwrap_or(&why)),
        }
    }
    assigned
}

/// Copies a run, checks the copy, and puts it in its place.
fn take(folder: &FleetFolder, root: &Dir, one: &Assigned) -> Result<(), String> {
    if let Some(damage) = &one.found.damage {
        return Err(damage.clone());
    }
    let text = |error: assay_files::Error| error.to_string();
    let from = root.dir(&one.found.path).map_err(text)?;
    let incoming = folder.dir().make_new_dir(INCOMING).map_err(text)?;
    let stop = || signal::interrupted_by().is_some();
    let left_out = incoming.copy_in(&from, MOST_OF_A_RUN, &stop).map_err(text)?;
    if let Some(first) = left_out.first() {
        return Err(format!(
            "it holds links or special files, which no run has: {}",
            first.display()
        ));
    }
    // It is the copy that counts: the original may have changed meanwhile.
    let (run, manifest) = manifest_in(incoming)?;
    if Identity::new(&manifest) != one.found.identity {
        return Err("it changed while it was copied".to_owned());
    }
    let judgement = whole(&run, &manifest, &mut TaskRuns::of_copy())?;
    let result = Some((&manifest, &judgement));
    record(folder, one, result, None).map_err(|error| error.to_string())?;
    // The task's record comes first: without its run a task is filled in by the next call.
    folder.dir().rename(INCOMING, run_path(one.task, one.job)).map_err(text)
}

/// Writes the record of a task. How the run ended follows from the run itself, so that a run by hand and one of a
/// fleet's task are recorded alike.
fn record(
    folder: &FleetFolder,
    one: &Assigned,
    result: Option<(&Manifest, &Judgement)>,
    why: Option<String>,
) -> Result<(), Error> {
    let at = FleetFolder::task_folder(one.task, one.job);
    folder.make_dir(&at)?;
    let record = TaskRecord {
        schema: SCHEMA,
        task: one.task,
        host_name: one.found.identity.host.clone(),
        pid: 0,
        phase: Phase::Ended,
        began_at: one.found.identity.started_at.clone(),
        ended_at: None,
        code: result.map(|(manifest, judgement)| code(manifest, judgement)),
        why,
        restored_first: Vec::new(),
        restored: result.and_then(|(manifest, _)| manifest.restored),
    };
    folder.write_json(&at.join("task.json"), &record)
}

/// The exit code that the run had (docs/cli.md).
fn code(manifest: &Manifest, judgement: &Judgement) -> i32 {
    let mut repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
    match judgement.verdict {
        _ if manifest.restored == Some(false) => 6,
        _ if repeats.any(|repeat| repeat.fault.is_some()) => 5,
        _ if judgement.promises_nothing() => 0,
        Verdict::Kept => 0,
        Verdict::Broken => 1,
        Verdict::Undecided | Verdict::Void => 3,
    }
}

fn refuse(refused: &mut Vec<Refused>, folder: &Path, why: &str) {
    if refused.len() < MOST_REFUSED {
        refused.push(Refused { folder: cut(&folder.display().to_string()), why: cut(why) });
    }
}

#[cfg(test)]
mod tests;
