//! Readings taken before the workloads of a repeat start, for comparison with those at its end.

use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::RepeatRecord;
use assay_study::plan::Trial;
use assay_sys::kernel::Root;

use crate::runner::knobs::{self, KnobValue};
use crate::runner::queues::{self, Queue};
use crate::runner::settings;
use crate::runner::start::Starter;

/// Knobs, settings and queues of a repeat before anything runs.
pub(crate) struct AtStart {
    /// Settings of the host before the study changed them.
    settings_before: Vec<Available<String>>,
    /// Settings of the host after the study changed them.
    pub(crate) settings: Vec<Available<String>>,
    /// The knobs of all groups, read back.
    pub(crate) knobs: Vec<KnobValue>,
    /// One for each disk of the trial.
    pub(crate) queues: Vec<Queue>,
}

impl AtStart {
    /// Reads everything. `settings_before` is the result of `settings::set_up`.
    pub(crate) fn read(
        root: &Root,
        tree: &Tree,
        trial: &Trial,
        disks: &[ScratchDisk],
        settings_before: Vec<Available<String>>,
    ) -> Self {
        Self {
            settings_before,
            settings: settings::read(root, trial),
            knobs: knobs::read(tree, trial),
            queues: queues::read(root, trial, disks),
        }
    }

    /// Reads everything again and writes both readings into the record.
    pub(crate) fn compare(self, starter: &Starter<'_>, record: &mut RepeatRecord) {
        let Starter { root, tree, trial, disks, .. } = *starter;
        record.knobs = knobs::readings(trial, self.knobs, knobs::read(tree, trial));
        let queues_at_end = queues::read(root, trial, disks);
        record.queues = queues::readings(trial, disks, self.queues, queues_at_end);
        let settings_at_end = settings::read(root, trial);
        record.settings =
            settings::readings(trial, self.settings_before, self.settings, settings_at_end);
    }
}
