//! What a repeat reads before its workloads start, to be held against what it reads at the end.

use assay_cgroup::Tree;
use assay_facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_kernel::Root;
use assay_plan::Trial;
use assay_run_folder::RepeatRecord;

use crate::knobs::{self, Found};
use crate::queues::{self, Queue};
use crate::settings;
use crate::start::Starter;

/// Knobs, settings and queues of a repeat as they were before anything ran.
pub(crate) struct AtStart {
    /// Settings of the host before the study set them.
    settings_found: Vec<Available<String>>,
    /// The same, once they were set.
    pub(crate) settings: Vec<Available<String>>,
    /// The knobs of all groups, read back.
    pub(crate) knobs: Vec<Found>,
    /// One for each disk of the trial.
    pub(crate) queues: Vec<Queue>,
}

impl AtStart {
    /// Reads everything. `settings_found` is what `settings::set_up` found.
    pub(crate) fn read(
        root: &Root,
        tree: &Tree,
        trial: &Trial,
        disks: &[ScratchDisk],
        settings_found: Vec<Available<String>>,
    ) -> Self {
        Self {
            settings_found,
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
            settings::readings(trial, self.settings_found, self.settings, settings_at_end);
    }
}
