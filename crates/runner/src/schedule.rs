//! Which repeat comes next. A plan knows beforehand; a search decides it from what was seen.

use assay_plan::{Plan, Slot, Trial};
use assay_run_folder::Manifest;

use crate::failure::Failure;

/// One repeat to run.
#[derive(Debug, Clone, Copy)]
pub struct NextRepeat<'t> {
    /// Its place. A trial of the manifest, or the one after its last: then the trial is new and
    /// joins the manifest.
    pub slot: Slot,
    /// What is done.
    pub trial: &'t Trial,
}

/// Someone who says what comes next.
pub trait Schedule {
    /// The next repeat, or `None` when the run is over. The manifest holds all that ran so far; it
    /// lies in the run folder as well, with the samples.
    fn next(&mut self, manifest: &Manifest) -> Option<NextRepeat<'_>>;

    /// Whether the run goes on without this repeat, because the host refuses a setting of its disk
    /// that only this trial asks for. What was set is back as it was.
    fn goes_on_without(&mut self, slot: Slot, why: &Failure) -> bool {
        let _ = (slot, why);
        false
    }
}

/// The repeats of a plan in its order.
pub(crate) struct AsPlanned<'p> {
    plan: &'p Plan,
    done: usize,
}

impl<'p> AsPlanned<'p> {
    pub(crate) fn of(plan: &'p Plan) -> Self {
        Self { plan, done: 0 }
    }
}

impl Schedule for AsPlanned<'_> {
    fn next(&mut self, _: &Manifest) -> Option<NextRepeat<'_>> {
        let slot = *self.plan.slots.get(self.done)?;
        self.done += 1;
        Some(NextRepeat { slot, trial: &self.plan.trials[slot.trial] })
    }
}
