//! What is said before a run starts: what it needs of this host, and what it replaces in the user's own files.

use std::time::Duration;

use assay_study::DiskSource;
use assay_study::plan::{Plan, Trial};
use assay_sys::units::{Bytes, format_duration};
use serde::Serialize;

/// No disk has as much room.
const MOST_IMAGES: u64 = 1 << 55;

/// Bytes of the images that the largest trial of a plan makes in the run folder.
pub fn images(plan: &Plan) -> u64 {
    let of_trial = |trial: &Trial| {
        let images = trial.disks.iter().filter(|disk| disk.source == DiskSource::Loop);
        images.map(|disk| disk.size.get()).sum::<u64>()
    };
    plan.trials.iter().map(of_trial).max().unwrap_or(0)
}

/// What a plan needs: room for images, memory, time.
pub fn needs_text(plan: &Plan) -> String {
    let room = match images(plan) {
        0 => "no room for images".to_owned(),
        // Stands for a size that could not be computed.
        bytes if bytes >= MOST_IMAGES => "an unknown amount of room for images".to_owned(),
        bytes => format!("{} for images in the run folder", rounded_up(bytes)),
    };
    let memory = match plan.memory.get() {
        0 => "memory that its programs do not predict".to_owned(),
        bytes => format!("{} of memory for its programs", rounded_up(bytes)),
    };
    format!(
        "needs {room}, {memory}, and at most {} of windows, besides laying out files",
        format_duration(windows(plan))
    )
}

/// The same as numbers.
#[derive(Debug, Serialize)]
pub struct Needs {
    /// Room for images in the run folder; `null` if unknown.
    pub image_bytes: Option<u64>,
    /// Memory of its programs, as far as they predict it.
    pub memory_bytes: Option<u64>,
    /// The time of all windows, if each repeat has its longest time.
    pub windows_s: f64,
}

/// What a plan needs, as numbers.
#[must_use]
pub fn needs(plan: &Plan) -> Needs {
    Needs {
        image_bytes: Some(images(plan)).filter(|bytes| *bytes < MOST_IMAGES),
        memory_bytes: Some(plan.memory.get()).filter(|bytes| *bytes > 0),
        windows_s: windows(plan).as_secs_f64(),
    }
}

/// The time of all windows, if each repeat has its longest time.
fn windows(plan: &Plan) -> Duration {
    plan.slots.iter().map(|slot| plan.trials[slot.trial].at_most).sum()
}

fn rounded_up(bytes: u64) -> Bytes {
    Bytes::new(bytes.div_ceil(1 << 20) << 20)
}

/// What is replaced or dropped in the user's job files, a line for each job of the first trial.
pub fn replaced(plan: &Plan) -> Vec<String> {
    let workloads = plan.trials.first().into_iter().flat_map(|trial| &trial.groups);
    let workloads = workloads.flat_map(|group| group.workloads.iter().map(move |one| (group, one)));
    workloads
        .filter(|(_, workload)| !workload.taken_over.is_empty())
        .map(|(group, workload)| {
            let job = workload.job().map_or("", |job| job.name.as_str());
            format!(
                "[{job}] runs in `{}`; replaced: {}",
                group.name,
                workload.taken_over.join(", ")
            )
        })
        .collect()
}
