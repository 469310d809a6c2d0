//! The changes of the host in a trial in order, with the inverse of each, in words.
//!
//! `assay check` prints them; the runner follows the plan itself, not this list.

use crate::{DiskSource, Format};
use assay_host::facts::UsedHierarchy;
use assay_host::knob::SideEffect;
use assay_record::run_folder::{PlacementRecord, SettingRecord};
use assay_sys::units::format_duration;
use serde::Serialize;

use crate::plan::null_blk::null_blk_attributes;
use crate::plan::setting::SettingPlan;
use crate::plan::trial::{AfterPlan, DiskPlan, GroupPlan, KnobPlan, Trial, WorkloadPlan};

/// One change of the host, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedChange {
    /// What is done.
    pub change: String,
    /// How it is restored.
    pub inverse: &'static str,
}

/// The changes of a repeat of `trial`, in order.
#[must_use]
pub fn changes(trial: &Trial) -> Vec<PlannedChange> {
    let mut all = Vec::new();
    let mut add = |changes: Vec<String>, inverse: &'static str| {
        all.extend(changes.into_iter().map(|change| PlannedChange { change, inverse }));
    };
    for disk in &trial.disks {
        add(
            disk_changes(disk),
            "restore queue settings, unmount, remove partitions, detach, delete the image",
        );
    }
    for setting in &trial.settings {
        add(setting_changes(setting), "the previous value is restored at the end of the repeat");
    }
    if trial.makes_groups() {
        add(
            trial.hierarchies.iter().flat_map(top_changes).collect(),
            "rmdir when empty, and disable the controllers that were enabled",
        );
    }
    for group in trial.groups.iter().filter(|group| group.existing.is_none()) {
        let base = |hierarchy: &UsedHierarchy| {
            format!("mkdir {}/assay-<run>/{}", hierarchy.base.display(), group.name)
        };
        add(trial.hierarchies.iter().map(base).collect(), "rmdir when empty");
        for knob in &group.knobs {
            add(knob_changes(group, knob), "removed with its group");
        }
    }
    for group in &trial.groups {
        for workload in &group.workloads {
            add(start_changes(trial, group, workload), "stop by process id");
        }
    }
    if let Some(what) = trial.drop_caches {
        add(
            vec![format!("sync, then write `{what}` to /proc/sys/vm/drop_caches")],
            "cannot be restored: caches fill again by use",
        );
    }
    all
}

/// The preparations of a workload, and its start.
fn start_changes(trial: &Trial, group: &GroupPlan, workload: &WorkloadPlan) -> Vec<String> {
    let prepared = workload.prepare.iter().map(|prepared| {
        let (tool, name) = (prepared.tool_name(), &prepared.name);
        format!("run {tool} `{name}` inside {} to completion", group.name)
    });
    let (tool, name) = (workload.tool_name(), &workload.name);
    let later = match &workload.after {
        None => String::new(),
        Some(AfterPlan::Workload(other)) => format!(" when `{other}` has ended"),
        Some(AfterPlan::Time(length)) => format!(" {} after the others", format_duration(*length)),
    };
    let location = match group.outside {
        true => "outside of all groups".to_owned(),
        false => format!("inside {}", group.name),
    };
    let placement = trial.placements.iter().find(|placed| placed.workload == *name);
    let placement = placement.map(describe).unwrap_or_default();
    let user = workload.user.as_ref().map(|user| format!(" as user {user}"));
    let user = user.unwrap_or_default();
    let start = format!("start {tool} `{name}` {location}{placement}{user}{later}");
    prepared.chain([start]).collect()
}

/// ` on CPUs 0-1 with memory interleave:0-1`, as a suffix of the workload.
fn describe(placed: &PlacementRecord) -> String {
    let cpus = placed.cpus.as_ref().map(|cpus| format!(" on CPUs {cpus}"));
    let memory = placed.memory.as_ref().map(|memory| format!(" with memory {memory}"));
    let huge = placed.huge_pages.as_ref().map(|mode| format!(" and huge pages {mode}"));
    [cpus, memory, huge].into_iter().flatten().collect()
}

/// The run's top group in one hierarchy, and on v2 what its children need: the kernel shows the
/// files of a controller only if the parent enables it (Documentation/admin-guide/cgroup-v2.rst,
/// "Enabling and Disabling").
fn top_changes(hierarchy: &UsedHierarchy) -> Vec<String> {
    let base = hierarchy.base.display();
    let enabled: Vec<String> = hierarchy.enabled().map(|name| format!("+{name}")).collect();
    let mut changes = Vec::new();
    if hierarchy.is_v2 && !enabled.is_empty() {
        let names = enabled.join(" ");
        changes.push(format!("write `{names}` to {base}/cgroup.subtree_control, if missing"));
    }
    changes.push(format!("mkdir {base}/assay-<run>"));
    changes
}

/// A setting that has the value already, or that follows from another, is not written.
fn setting_changes(plan: &SettingPlan) -> Vec<String> {
    let SettingRecord { path, written, implied, .. } = &plan.record;
    if *implied || plan.found == *written {
        return vec![];
    }
    let mut text = format!("write `{written}` to {path}, now `{}`", plan.found);
    match plan.setting().map(|setting| setting.effect) {
        Some(SideEffect::Zeroes(other)) => {
            text.push_str(&format!(" (the kernel zeroes {other})"));
        }
        Some(SideEffect::Recomputes(other)) => {
            text.push_str(&format!(" (the kernel recomputes {other})"));
        }
        Some(SideEffect::None) | None => {}
    }
    vec![text]
}

fn disk_changes(disk: &DiskPlan) -> Vec<String> {
    let mut changes = match &disk.source {
        DiskSource::Loop => vec![
            format!("write {} of incompressible data into an image file", disk.size),
            "attach it to a free loop device, direct I/O".to_owned(),
        ],
        DiskSource::Block { device, erase: None } => {
            vec![format!("use {device}, which must be blank")]
        }
        DiskSource::Block { device, erase: Some(_) } => vec![format!("ERASE and use {device}")],
        DiskSource::Directory { path } => vec![format!("make a folder in {path}")],
        DiskSource::NullBlk(_) => {
            vec![format!("make a null_blk device of {}{}", disk.size, speed(disk))]
        }
    };
    if disk.partitions > 0 {
        changes.push(format!("divide it into {} partitions", disk.partitions));
    }
    match disk.format {
        Format::None => {}
        Format::Ext4 => {
            changes.push("mkfs.ext4 and mount below /run/assay-<run>, by UUID".to_owned());
        }
        Format::Xfs => {
            changes.push("mkfs.xfs and mount below /run/assay-<run>, by UUID".to_owned());
        }
    }
    // All partitions of a disk have its queue.
    let queue = match &disk.whole {
        Some(whole) => format!("the queue of the whole disk {whole}: queue"),
        None => "its queue".to_owned(),
    };
    if let Some(scheduler) = &disk.scheduler {
        changes.push(format!("write `{scheduler}` to {queue}/scheduler"));
    }
    for (attribute, value) in &disk.queue {
        changes.push(format!("write `{value}` to {queue}/{attribute}"));
    }
    changes
}

/// The attributes that limit the speed of a null_blk.
fn speed(disk: &DiskPlan) -> String {
    let words: Vec<String> =
        null_blk_attributes(disk).iter().map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() { String::new() } else { format!(" with {}", words.join(", ")) }
}

fn knob_changes(group: &GroupPlan, knob: &KnobPlan) -> Vec<String> {
    let mut changes = vec![format!(
        "write `{}` to {} of {}",
        knob.translation.written, knob.translation.file, group.name
    )];
    for (file, value) in &knob.translation.also {
        changes.push(format!("write `{value}` to {file} of {}", group.name));
    }
    for setting in &knob.translation.root_settings {
        changes.push(format!(
            "write `{}` to {} of the root group",
            setting.value_template, setting.file
        ));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabling_controllers_on_v2_is_a_change_too() {
        let hierarchy = |is_v2| UsedHierarchy {
            is_v2,
            mount: "/sys/fs/cgroup".into(),
            base: "/sys/fs/cgroup".into(),
            controllers: ["cpu", "io", "perf_event"].map(str::to_owned).into(),
        };
        let mkdir = "mkdir /sys/fs/cgroup/assay-<run>".to_owned();
        let enabled = "write `+cpu +io` to /sys/fs/cgroup/cgroup.subtree_control, if missing";
        assert_eq!(top_changes(&hierarchy(true)), [enabled.to_owned(), mkdir.clone()]);
        assert_eq!(top_changes(&hierarchy(false)), [mkdir]);
    }
}
