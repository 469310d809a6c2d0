//! The whole run, from the first change of the host to the last restored one.

use assay_host::Ledger;
use assay_record::run_folder::{EventLog, FULL_DISK, Manifest, StopRecord};
use assay_study::plan::RepeatId;
use assay_sys::exit::Code;
use assay_sys::kernel::{Root, signal};

use crate::runner::context::{Context, Observer, Request};
use crate::runner::disks::Disks;
use crate::runner::failure::Failure;
use crate::runner::schedule::{AsPlanned, NextRepeat, Schedule};
use crate::runner::stop_rule::StopRule;
use crate::runner::{privileges, recording, repeat};

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// The manifest as it was last written.
    pub manifest: Manifest,
    /// The signal that ended the run early, if one did.
    pub interrupted: Option<&'static str>,
    /// Why the run ended early, if the host or the run folder failed.
    pub failure: Option<Failure>,
    /// Changes that could not be restored.
    pub not_restored: Vec<assay_sys::kernel::Error>,
}

impl Finished {
    /// How the command ends; `verdict`, the code of the run's verdict, has the lowest precedence.
    #[must_use]
    pub fn code(&self, verdict: Option<Code>) -> Code {
        if !self.not_restored.is_empty() {
            return Code::RestoreIncomplete;
        }
        if self.interrupted.is_some() {
            return Code::Interrupted;
        }
        if self.failure.is_some() {
            return Code::Host;
        }
        match verdict {
            _ if self.manifest.has_failed_workload() => Code::Workload,
            verdict => verdict.unwrap_or(Code::Host),
        }
    }
}

/// Runs every slot of the plan. An error is returned only if nothing was changed; afterwards the host is
/// restored and the record kept in any case.
pub fn run(
    request: &Request,
    observer: &mut dyn Observer,
    stop_rule: &mut dyn StopRule,
) -> Result<Finished, Failure> {
    run_schedule(request, observer, stop_rule, &mut AsPlanned::new(&request.plan))
}

/// The same with an explicit `schedule`. The trials of the plan are the initial ones; its slots are ignored.
///
/// # Errors
/// As [`run`].
pub fn run_schedule(
    request: &Request,
    observer: &mut dyn Observer,
    stop_rule: &mut dyn StopRule,
    schedule: &mut dyn Schedule,
) -> Result<Finished, Failure> {
    privileges::check(&Root::real(), &request.plan.trials)?;
    // The event log is opened first: a full run folder then ends the run before there is a ledger.
    let events = EventLog::create(&request.folder.stable_path(request.folder.dir()))?;
    let mut context = Context {
        root: Root::real(),
        ledger: Ledger::begin(&request.state_dir, &request.run_id)?,
        events,
        manifest: recording::manifest(request),
        request,
        observer,
        stop_rule,
    };
    let failure = context.run_slots(schedule).err();
    context.restore(failure)
}

impl Context<'_> {
    fn run_slots(&mut self, schedule: &mut dyn Schedule) -> Result<(), Failure> {
        let folder = &self.request.folder;
        if let Some(owner) = folder.future_owner() {
            // A restore after a crash also hands the folder over to its user.
            self.ledger.own_folder(&self.root, folder.dir(), owner)?;
        }
        folder.write_manifest(&self.manifest)?;
        let mut disks = Disks::none(self.ledger.mark());
        while signal::interrupted_by().is_none() {
            let Some(NextRepeat { slot, trial }) = schedule.next(&self.manifest) else { break };
            if slot.trial == self.manifest.trials.len() {
                self.manifest.trials.push(recording::trial(trial));
            }
            if self.is_over(slot) {
                continue;
            }
            if let Err(why) = disks.provide(self, slot, trial) {
                match schedule.continue_without(slot, &why) {
                    true => continue,
                    false => return Err(why),
                }
            }
            recording::name_devices(&mut self.manifest.trials[slot.trial], disks.ready());
            repeat::run(self, slot, trial, disks.ready())?;
            self.request.folder.write_manifest(&self.manifest)?;
            self.report_end(slot);
        }
        Ok(())
    }

    /// Whether the trial is decided without this repeat, or cannot be: a disk that was full will be full again.
    fn is_over(&mut self, slot: RepeatId) -> bool {
        let trial = &self.manifest.trials[slot.trial];
        let last = trial.repeats.last().and_then(|repeat| repeat.fault.as_ref());
        if last.is_some_and(|fault| fault.kind == FULL_DISK) {
            return true;
        }
        let may_stop = trial.stop == StopRecord::Decided && !trial.repeats.is_empty();
        let folder = &self.request.folder;
        may_stop && self.stop_rule.is_over(&folder.stable_path(folder.dir()), slot.trial)
    }

    fn report_end(&mut self, slot: RepeatId) {
        let changes = recording::changes(&self.ledger);
        let so_far = Manifest { changes, ..self.manifest.clone() };
        self.observer.ended(slot, &so_far, &self.request.folder);
    }

    /// Restores the host and writes the manifest a last time.
    fn restore(mut self, failure: Option<Failure>) -> Result<Finished, Failure> {
        self.observer.restoring();
        let interrupted = signal::interrupted_by();
        let root = self.root.clone();
        let not_restored = self.ledger.restore(&root);
        self.manifest.changes = recording::changes(&self.ledger);
        self.manifest.restored = Some(not_restored.is_empty());
        // A failure after the user asked to stop counts as part of the interruption: a step was cut short, or
        // a program received the same Ctrl-C.
        self.manifest.ended_early = match (interrupted, &failure) {
            (Some(signal), _) => Some(format!("interrupted by {signal}")),
            (None, failure) => failure.as_ref().map(ToString::to_string),
        };
        // The ledger is removed first: a full disk must not keep the host from counting as restored.
        if let Err(error) = self.ledger.finish() {
            // Every change is restored, and a ledger without open entries does no harm.
            self.observer.remark(&format!("the ledger could not be removed: {error}"));
        }
        let written = self.request.folder.write_manifest(&self.manifest);
        Ok(Finished {
            manifest: self.manifest,
            interrupted,
            failure: failure.or(written.err().map(Failure::from)),
            not_restored,
        })
    }
}

#[cfg(test)]
mod tests;
