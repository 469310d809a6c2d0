//! Decides which repeat comes next: in the order of a plan, or, for a search, from earlier results.

use assay_record::run_folder::Manifest;
use assay_study::plan::{Plan, RepeatId, Trial};

use crate::runner::failure::Failure;

/// One repeat to run.
#[derive(Debug, Clone, Copy)]
pub struct NextRepeat<'t> {
    /// Trial and repeat. The trial is one of the manifest, or a new one right after its last, which is then
    /// added to the manifest.
    pub slot: RepeatId,
    /// The trial to run.
    pub trial: &'t Trial,
}

/// Source of the next repeat.
pub trait Schedule {
    /// The next repeat, or `None` at the end of the run. The manifest holds everything recorded so far; it is
    /// also in the run folder, with the samples.
    fn next(&mut self, manifest: &Manifest) -> Option<NextRepeat<'_>>;

    /// Whether to continue without this repeat after the host refused a disk setting used by this trial only.
    /// The setting has been restored.
    fn continue_without(&mut self, slot: RepeatId, why: &Failure) -> bool {
        let _ = (slot, why);
        false
    }
}

/// The repeats of a plan in order.
pub(crate) struct AsPlanned<'p> {
    plan: &'p Plan,
    position: usize,
}

impl<'p> AsPlanned<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        Self { plan, position: 0 }
    }
}

impl Schedule for AsPlanned<'_> {
    fn next(&mut self, _: &Manifest) -> Option<NextRepeat<'_>> {
        let slot = *self.plan.slots.get(self.position)?;
        self.position += 1;
        Some(NextRepeat { slot, trial: &self.plan.trials[slot.trial] })
    }
}
