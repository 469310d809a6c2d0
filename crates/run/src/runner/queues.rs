//! The queues of a trial's disks: their scheduler and its attributes.

use std::collections::BTreeMap;

use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::QueueReading;
use assay_study::plan::{DiskPlan, Trial};
use assay_sys::kernel::Root;

use crate::runner::targets::active_scheduler;

/// Attributes that affect what a share means, whether the study sets them or not.
const ALWAYS_READ: [&str; 8] = [
    "nr_requests",
    "rotational",
    "wbt_lat_usec",
    "iosched/low_latency",
    "iosched/slice_idle",
    "iosched/strict_guarantees",
    "iosched/max_budget",
    "iosched/timeout_sync",
];

/// The state of one queue.
pub(crate) struct Queue {
    /// The scheduler in use.
    pub(crate) scheduler: String,
    /// Attributes below `/sys/block/<device>/queue` by name, without those that cannot be read.
    pub(crate) attributes: BTreeMap<String, String>,
}

/// One for each disk of the trial, in its order.
pub(crate) fn read(root: &Root, trial: &Trial, disks: &[ScratchDisk]) -> Vec<Queue> {
    let read = |(planned, disk): (&DiskPlan, &ScratchDisk)| {
        let requested = planned.queue.iter().map(|(attribute, _)| attribute.as_str());
        let mut attributes = BTreeMap::new();
        for attribute in requested.chain(ALWAYS_READ) {
            let path = format!("/sys/block/{}/queue/{attribute}", disk.device);
            if let Ok(text) = root.read_trimmed(path) {
                attributes.insert(attribute.to_owned(), text);
            }
        }
        Queue { scheduler: active_scheduler(root, &disk.device), attributes }
    };
    trial.disks.iter().zip(disks).map(read).collect()
}

/// Combines the readings at the start and at the end.
pub(crate) fn readings(
    trial: &Trial,
    disks: &[ScratchDisk],
    at_start: Vec<Queue>,
    at_end: Vec<Queue>,
) -> Vec<QueueReading> {
    let both = at_start.into_iter().zip(at_end);
    let queues = trial.disks.iter().zip(disks).zip(both);
    queues
        .map(|((planned, disk), (start, end))| QueueReading {
            disk: planned.name.clone(),
            device: disk.device.clone(),
            scheduler_at_start: start.scheduler,
            scheduler_at_end: end.scheduler,
            at_start: start.attributes,
            at_end: end.attributes,
            drift: BTreeMap::new(),
        })
        .collect()
}
