//! The whole run, from the first change of the host to the last one taken back.

use std::path::PathBuf;
use std::time::Duration;

use assay_facts::HostFacts;
use assay_files::Trust;
use assay_host::{Ledger, scratch};
use assay_kernel::{Root, signal};
use assay_plan::{Plan, Slot};
use assay_run_folder::{EventLog, Guest, Manifest, RunFolder, StopRecord};

use crate::disks::Disks;
use crate::failure::Failure;
use crate::recording;
use crate::schedule::{AsPlanned, NextRepeat, Schedule};
use crate::stop_rule::StopRule;
use crate::{privileges, repeat};

/// What to run and where to record it.
#[derive(Debug)]
pub struct Request {
    /// The plan, free of refusals.
    pub plan: Plan,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// Its question.
    pub question: Option<String>,
    /// Its whole text.
    pub study_text: String,
    /// The command line.
    pub command: Vec<String>,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// Identifies the run in group names and in the ledger; letters, digits and `-`.
    pub run_id: String,
    /// Seeds the order and random data.
    pub seed: u64,
    /// The machine.
    pub facts: HostFacts,
    /// The lab's guest that the machine is, if it is one.
    pub guest: Option<Guest>,
    /// The run folder.
    pub folder: RunFolder,
    /// Whether a directory that the study names may be one that others can change.
    pub trust: Trust,
    /// Where the ledger lives.
    pub state_dir: PathBuf,
}

/// Someone who wants to know how the run goes.
pub trait Observer {
    /// A new phase of a repeat has begun.
    fn phase(&mut self, slot: Slot, text: &str);
    /// Part of a long phase is done.
    fn progress(&mut self, done: f64);
    /// This much of a repeat has passed since its common start.
    fn running(&mut self, slot: Slot, elapsed: Duration, of: Duration);
    /// Something worth a line of its own.
    fn remark(&mut self, text: &str);
    /// A repeat is over and recorded: its samples are below `folder`, and `manifest` is that of
    /// the run so far, with the changes of the host made so far.
    fn ended(&mut self, slot: Slot, manifest: &Manifest, folder: &RunFolder);
    /// All repeats are over, or the run ends early: the host is put back from here on.
    fn putting_back(&mut self);
}

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// The manifest as it was last written.
    pub manifest: Manifest,
    /// The signal that ended the run early, if one did.
    pub interrupted: Option<&'static str>,
    /// Why the run ended early, if the host or the run folder failed.
    pub failure: Option<Failure>,
    /// Changes that could not be taken back.
    pub not_restored: Vec<assay_kernel::Error>,
}

/// What every part of a run works with.
pub(crate) struct Context<'r> {
    pub(crate) request: &'r Request,
    pub(crate) root: Root,
    pub(crate) ledger: Ledger,
    pub(crate) events: EventLog,
    pub(crate) manifest: Manifest,
    pub(crate) observer: &'r mut dyn Observer,
    pub(crate) decider: &'r mut dyn StopRule,
}

/// Runs every slot of the plan. An error is returned only when nothing was changed; after that,
/// whatever happens, the host is put back and what was recorded is kept.
pub fn run(
    request: &Request,
    observer: &mut dyn Observer,
    decider: &mut dyn StopRule,
) -> Result<Finished, Failure> {
    run_course(request, observer, decider, &mut AsPlanned::of(&request.plan))
}

/// The same where `course` says which repeat comes next. The trials of the plan are those that the
/// run begins with; its slots are not looked at.
///
/// # Errors
/// As [`run`].
pub fn run_course(
    request: &Request,
    observer: &mut dyn Observer,
    decider: &mut dyn StopRule,
    course: &mut dyn Schedule,
) -> Result<Finished, Failure> {
    privileges::check(&Root::real(), &request.plan.trials)?;
    // The events first: a run folder that is full ends the run while there is no ledger yet.
    let events = EventLog::create(&request.folder.steady(request.folder.dir()))?;
    let mut context = Context {
        root: Root::real(),
        ledger: Ledger::begin(&request.state_dir, &request.run_id)?,
        events,
        manifest: recording::manifest(request),
        request,
        observer,
        decider,
    };
    let failure = context.run_slots(course).err();
    context.put_back(failure)
}

impl Context<'_> {
    fn run_slots(&mut self, course: &mut dyn Schedule) -> Result<(), Failure> {
        let folder = &self.request.folder;
        if let Some(heir) = folder.heir() {
            // A restore gives it to its user, too.
            self.ledger.own_folder(&self.root, folder.dir(), heir)?;
        }
        folder.write_manifest(&self.manifest)?;
        let mut disks = Disks::none(self.ledger.mark());
        while signal::interrupted_by().is_none() {
            let Some(NextRepeat { slot, trial }) = course.next(&self.manifest) else { break };
            if slot.trial == self.manifest.trials.len() {
                self.manifest.trials.push(recording::trial(trial));
            }
            if self.is_over(slot) {
                continue;
            }
            if let Err(why) = disks.provide(self, slot, trial) {
                match course.goes_on_without(slot, &why) {
                    true => continue,
                    false => return Err(why),
                }
            }
            recording::name_devices(&mut self.manifest.trials[slot.trial], disks.ready());
            repeat::run(self, slot, trial, disks.ready())?;
            self.request.folder.write_manifest(&self.manifest)?;
            self.tell_end(slot);
        }
        Ok(())
    }

    /// Whether the trial is known well enough without this repeat.
    fn is_over(&mut self, slot: Slot) -> bool {
        let trial = &self.manifest.trials[slot.trial];
        let may_stop = trial.stop == StopRecord::Precise && !trial.repeats.is_empty();
        let folder = &self.request.folder;
        may_stop && self.decider.is_over(&folder.steady(folder.dir()), slot.trial)
    }

    fn tell_end(&mut self, slot: Slot) {
        let changes = recording::changes(&self.ledger);
        let so_far = Manifest { changes, ..self.manifest.clone() };
        self.observer.ended(slot, &so_far, &self.request.folder);
    }

    /// Puts the host back and writes the manifest a last time.
    fn put_back(mut self, failure: Option<Failure>) -> Result<Finished, Failure> {
        self.observer.putting_back();
        let interrupted = signal::interrupted_by();
        let root = self.root.clone();
        let not_restored = self.ledger.restore(&root);
        self.manifest.changes = recording::changes(&self.ledger);
        self.manifest.restored = Some(not_restored.is_empty());
        // What fails once the user has asked to stop, fails because of that: a step that was cut
        // short, or a program that heard the same Ctrl-C.
        self.manifest.ended_early = match (interrupted, &failure) {
            (Some(signal), _) => Some(format!("interrupted by {signal}")),
            (None, failure) => failure.as_ref().map(ToString::to_string),
        };
        // The ledger goes first: a full disk must not keep a host from counting as restored.
        if let Err(error) = self.ledger.finish() {
            // Every change is back, and a ledger in which nothing stands open hinders nobody.
            self.observer.remark(&format!("the ledger was left where it is: {error}"));
        }
        let written = self.request.folder.write_manifest(&self.manifest);
        Ok(Finished {
            manifest: self.manifest,
            interrupted,
            failure: failure.or(written.err().map(Failure::Record)),
            not_restored,
        })
    }
}

/// How much of a disk's set-up is done. Only filling an image takes long enough to be told.
pub(crate) fn fraction(progress: &scratch::Progress) -> f64 {
    match progress {
        scratch::Progress::Filling { done, total } => *done as f64 / (*total).max(1) as f64,
        scratch::Progress::Partitioning { .. } | scratch::Progress::Formatting { .. } => 1.0,
    }
}
