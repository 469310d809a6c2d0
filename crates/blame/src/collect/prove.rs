//! `assay blame --prove`: whether the waiting goes away when its culprit does.

use std::path::Path;
use std::time::Duration;

use assay_host::{Ledger, Owners};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::{Error as KernelError, Root, process, signal};
use jiff::Timestamp;

use super::experiment::Experiment;
use super::lever::{HoldBy, Lever, Place, Suspect, Waiting};
use super::naming::owner_of;
use super::proof::Proof;
use super::{
    BlameTarget, LOOK, Watched, attach, group_of_process, host, is_there, memory, resolve,
    watch_for,
};
use crate::Answer;

/// How a culprit is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProveOptions {
    /// A group's path, a unit, a container or a pod; or `own_quota`, or `own_memory_high`.
    pub culprit: String,
    /// What is done to a group; a quota is lifted.
    pub by: HoldBy,
    /// The number of turns, half of them with the change.
    pub turns: u32,
    /// The length of a turn.
    pub length: Duration,
    /// The seed of their order.
    pub seed: u64,
    /// Whether a group that Assay did not make may be changed.
    pub allow_foreign: bool,
}

/// An answer and its proof.
#[derive(Debug)]
pub struct Proven {
    /// Where the waiting went before the turns.
    pub answer: Answer,
    /// None if the time before the turns was interrupted, or the target has ended.
    pub proof: Option<Proof>,
    /// Changes that could not be restored.
    pub not_restored: Vec<KernelError>,
}

/// Watches a target for `length` as [`blame`](super::blame) does, then holds a culprit back for moments, in turns in
/// random order, and says how much of the waiting goes away. `notify` receives beforehand what will be changed.
///
/// # Errors
/// There is no such target or culprit, the culprit must not be held back, or the host does not allow it.
pub fn prove(
    (root, state_dir): (&Root, &Path),
    target: &BlameTarget,
    length: Duration,
    options: &ProveOptions,
    notify: &mut dyn FnMut(&str),
) -> Result<Proven, Error> {
    signal::note_interruptions();
    let (facts, hierarchy) = host(root)?;
    let target = resolve(root, &hierarchy, target)?;
    let waiting = match &target {
        Watched::Process(id) => {
            let group = group_of_process(root, &hierarchy, *id)?;
            Waiting { group: Some(group), process: Some(*id) }
        }
        Watched::Group(path) => Waiting { group: Some(path.clone()), process: None },
    };
    let place = Place { root, facts: &facts, hierarchy: &hierarchy };
    let lever = options.lever(place, &waiting)?;
    notify(&options.announcement(&lever));
    let run_id =
        format!("blame-{}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), std::process::id());
    let mut ledger = Ledger::begin(state_dir, &run_id).map_err(Error::host)?;
    let proven = answer_and_proof(place, &target, length, options, lever, &mut ledger);
    let mut not_restored = ledger.restore(root);
    not_restored.extend(ledger.finish().err());
    let (answer, proof) = proven.map_err(|error| note_not_restored(error, &not_restored))?;
    Ok(Proven { answer, proof, not_restored })
}

fn note_not_restored(mut error: Error, not_restored: &[KernelError]) -> Error {
    error.reasons.extend(not_restored.iter().map(|error| format!("not restored: {error}")));
    if !not_restored.is_empty() {
        error.code = Code::RestoreIncomplete;
    }
    error
}

fn answer_and_proof(
    place: Place<'_>,
    target: &Watched,
    length: Duration,
    options: &ProveOptions,
    lever: Lever,
    ledger: &mut Ledger,
) -> Result<(Answer, Option<Proof>), Error> {
    let Place { root, hierarchy, .. } = place;
    let answer = watch_for(place, target, length, &mut || ())?;
    if signal::interrupted_by().is_some() || !is_there(root, target) {
        return Ok((answer, None));
    }
    let mut watch = attach(root, hierarchy, target)?;
    watch.start().map_err(Error::host)?;
    let stalls = memory::start(root, place.facts, target).ok();
    let mut experiment = Experiment::new(root, (watch, stalls), lever, options.shape());
    // Turns end in time although the culprit may leave little of the CPUs.
    process::with_real_time_priority(|| {
        while let Some(next) = experiment.poll(ledger) {
            // What was started in a turn had the priority for itself.
            let _ = process::become_real_time();
            std::thread::sleep(next.min(LOOK));
            if signal::interrupted_by().is_some() || !is_there(root, target) {
                experiment.stop(ledger);
            }
        }
    });
    let proof = options.proof(place, experiment);
    Ok((answer, Some(proof)))
}

impl ProveOptions {
    /// What holds the culprit back, if that may be done.
    pub(super) fn lever(&self, place: Place<'_>, waiting: &Waiting) -> Result<Lever, Error> {
        let lever = place.lever(place.suspect(&self.culprit)?, self.by, waiting)?;
        match lever.is_foreign() && !self.allow_foreign {
            false => Ok(lever),
            true => Err(Error::usage(format!(
                "{}, and this group was not made by assay\n  hint: --yes allows it",
                self.announcement(&lever)
            ))),
        }
    }

    /// What will be done.
    pub(super) fn announcement(&self, lever: &Lever) -> String {
        format!(
            "--prove will {} in {} of {} turns of {} s",
            lever.describe(),
            self.turns / 2,
            self.turns,
            self.length.as_secs_f64()
        )
    }

    pub(super) const fn shape(&self) -> (u32, Duration, u64) {
        (self.turns, self.length, self.seed)
    }

    /// What an experiment that is over has shown.
    pub(super) fn proof(&self, place: Place<'_>, experiment: Experiment<'_>) -> Proof {
        let outcome = experiment.finish();
        let culprit = match &outcome.lever.suspect {
            Suspect::OwnQuota | Suspect::OwnMemoryHigh => (self.culprit.clone(), None),
            Suspect::Group(path) => {
                (path.clone(), owner_of(&Owners::new(place.root), place.hierarchy, path))
            }
        };
        Proof::new(culprit, self.seed, outcome)
    }
}
