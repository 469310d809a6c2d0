//! What a study needs root for, one by one: what is left runs as any user to whom groups were
//! delegated.

use std::collections::BTreeMap;

use assay_facts::{Available, HostFacts};
use assay_study::DiskSource;

use crate::refusal::Refusal;
use crate::trial::{DiskPlan, GroupPlan};

const AS_ROOT: &str = "run the same command with sudo";

/// Refuses every part of a trial that this process may not do, with the reason. `absent` are the
/// controllers of which no group can be made here.
pub(crate) fn refuse_without_rights(
    facts: &HostFacts,
    disks: &[DiskPlan],
    groups: &[GroupPlan],
    absent: &BTreeMap<String, String>,
    refusals: &mut Vec<Refusal>,
) {
    refuse_knobs(groups, absent, refusals);
    let Available::NotAvailable(why) = &facts.root else { return };
    for disk in disks {
        if let Some((what, because)) = needs_root(disk) {
            refusals.push(Refusal::new(
                format!("disk `{}`: {what} needs root, because {because}; {why}", disk.name),
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
                format!("{AS_ROOT}, or leave `scheduler` and `queue` out"),
            ));
        }
    }
    refuse_root_settings(groups, why, refusals);
}

/// What bringing the disk into being needs root for, and why.
fn needs_root(disk: &DiskPlan) -> Option<(String, &'static str)> {
    match &disk.source {
        DiskSource::Loop => Some((
            "a loop device".to_owned(),
            "the kernel attaches images and mounts file systems only for CAP_SYS_ADMIN",
        )),
        DiskSource::Block { device, .. } => {
            Some((device.clone(), "writing to a whole disk is root's"))
        }
        DiskSource::NullBlk(_) => {
            Some(("a null_blk device".to_owned(), "its directory in configfs belongs to root"))
        }
        DiskSource::Directory { .. } => None,
    }
}

/// A knob whose controller makes no groups here. That a counter only is missing is said by the
/// plan and hinders nothing.
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
                    format!("{AS_ROOT}, or have the group delegated as said above"),
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
                    "`{}` needs root, because it rests on {} at the root of the hierarchy; {why}",
                    knob.record.knob, setting.file
                ),
                AS_ROOT,
            ));
        }
    }
}
