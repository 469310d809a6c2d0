//! The parts of a study that need root. The rest runs as any user with delegated groups.

use std::collections::BTreeMap;

use crate::DiskSource;
use assay_host::facts::{Available, HostFacts};

use crate::plan::refusal::Refusal;
use crate::plan::trial::{DiskPlan, GroupPlan};

const AS_ROOT: &str = "run the same command with sudo";

/// Refuses every part of a trial that this process has no permission for, with the reason. `absent`
/// are the controllers without groups here.
pub(crate) fn refuse_missing_privileges(
    facts: &HostFacts,
    disks: &[DiskPlan],
    groups: &[GroupPlan],
    absent: &BTreeMap<String, String>,
    refusals: &mut Vec<Refusal>,
) {
    refuse_knobs(groups, absent, refusals);
    let Available::NotAvailable(why) = &facts.root else { return };
    for disk in disks {
        if let Some((what, reason)) = needs_root(disk) {
            refusals.push(Refusal::new(
                format!("disk `{}`: {what} needs root, because {reason}; {why}", disk.name),
                format!("{AS_ROOT}, or give the disk `use = \"directory\"`"),
            ));
        }
        if disk.scheduler.is_some() || !disk.queue.is_empty() {
            refusals.push(Refusal::new(
                format!(
                    "disk `{}`: a scheduler or queue setting needs root, because the files below \
                     /sys/block belong to root; {why}",
                    disk.name
                ),
                format!("{AS_ROOT}, or remove `scheduler` and `queue`"),
            ));
        }
    }
    refuse_root_settings(groups, why, refusals);
}

/// What needs root to set up the disk, and the reason.
fn needs_root(disk: &DiskPlan) -> Option<(String, &'static str)> {
    match &disk.source {
        DiskSource::Loop => Some((
            "a loop device".to_owned(),
            "the kernel attaches images and mounts file systems only with CAP_SYS_ADMIN",
        )),
        DiskSource::Block { device, .. } => Some((device.clone(), "only root may write to a disk")),
        DiskSource::NullBlk(_) => {
            Some(("a null_blk device".to_owned(), "its directory in configfs belongs to root"))
        }
        DiskSource::Directory { .. } => None,
    }
}

/// Refuses knobs whose controller has no groups here. Controllers that are missing only for
/// counters are reported by the plan and do not prevent a run.
fn refuse_knobs(
    groups: &[GroupPlan],
    absent: &BTreeMap<String, String>,
    refusals: &mut Vec<Refusal>,
) {
    for group in groups {
        for knob in &group.knobs {
            if let Some(why) = absent.get(&knob.translation.controller) {
                refusals.push(Refusal::new(
                    format!("`{}` cannot be set: {why}", knob.record.knob),
                    format!("{AS_ROOT}, or have the group delegated as described there"),
                ));
            }
        }
    }
}

fn refuse_root_settings(groups: &[GroupPlan], why: &str, refusals: &mut Vec<Refusal>) {
    for knob in groups.iter().flat_map(|group| &group.knobs) {
        for setting in &knob.translation.root_settings {
            refusals.push(Refusal::new(
                format!(
                    "`{}` needs root, because it needs {} at the root of the hierarchy; {why}",
                    knob.record.knob, setting.file
                ),
                AS_ROOT,
            ));
        }
    }
}
