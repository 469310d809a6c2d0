//! Which files the sampler reads in this trial.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_cgroup::Tree;
use assay_host::scratch::ScratchDisk;
use assay_kernel::Root;
use assay_plan::{GroupPlan, Trial};
use assay_sample::{CpuFile, DiskTarget, GroupTarget, IoFiles, Targets};

/// The targets of a trial: all groups, all disks.
pub(crate) fn targets(root: &Root, tree: &Tree, trial: &Trial, disks: &[ScratchDisk]) -> Targets {
    let mut devices: Vec<DiskTarget> =
        disks.iter().map(|disk| DiskTarget { device: disk.device.clone() }).collect();
    devices.dedup();
    Targets {
        groups: trial.groups.iter().map(|group| target(root, tree, trial, group, disks)).collect(),
        disks: devices,
    }
}

fn target(
    root: &Root,
    tree: &Tree,
    trial: &Trial,
    group: &GroupPlan,
    disks: &[ScratchDisk],
) -> GroupTarget {
    GroupTarget {
        name: group.name.clone(),
        io: io(root, tree, trial, group, disks),
        cpu: cpu(tree, trial, group),
        pressure: tree.v2_directory(&group.name),
    }
}

fn io(
    root: &Root,
    tree: &Tree,
    trial: &Trial,
    group: &GroupPlan,
    disks: &[ScratchDisk],
) -> Result<(IoFiles, String), String> {
    // An inner group is counted on the only disk there is; with several it has no one device.
    let only = (disks.len() == 1).then_some(0);
    let disk = group.disk.or(only).map(|index| &disks[index]);
    let disk = disk.ok_or("the group uses no disk of the study")?;
    let directory = tree.directory(&group.name, "io").ok_or_else(|| absent(trial, "io"))?;
    let device = format!("{}:{}", disk.major, disk.minor);
    let is_v2 = trial.homes.iter().any(|home| home.is_v2 && home.controllers.contains("io"));
    if is_v2 {
        return Ok((IoFiles::IoStat(directory.join("io.stat")), device));
    }
    // BFQ counts what it schedules; under other schedulers its files stay at zero and those of
    // the throttling layer, through which every bio goes, tell the truth
    // (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
    let scheduler = active_scheduler(root, &disk.device);
    let policy = if scheduler == "bfq" { "blkio.bfq" } else { "blkio.throttle" };
    let suffix = if group.is_inner { "_recursive" } else { "" };
    let file = |name: &str| -> PathBuf { directory.join(format!("{policy}.{name}{suffix}")) };
    Ok((IoFiles::Blkio { bytes: file("io_service_bytes"), requests: file("io_serviced") }, device))
}

fn cpu(tree: &Tree, trial: &Trial, group: &GroupPlan) -> Result<CpuFile, String> {
    if let Some(directory) = tree.directory(&group.name, "cpuacct") {
        return Ok(CpuFile::Cpuacct(directory.join("cpuacct.usage")));
    }
    let directory = tree.directory(&group.name, "cpu").ok_or_else(|| absent(trial, "cpu"))?;
    Ok(CpuFile::CpuStat(directory.join("cpu.stat")))
}

fn absent(trial: &Trial, controller: &str) -> String {
    let why: BTreeMap<_, _> = trial.absent.iter().collect();
    let why = why.get(&controller.to_owned()).map_or("not mounted", |why| why.as_str());
    format!("no hierarchy serves the controller `{controller}`: {why}")
}

/// The active scheduler of a disk; empty for a device without a request queue.
pub(crate) fn active_scheduler(root: &Root, device: &str) -> String {
    let text = root.read(format!("/sys/block/{device}/queue/scheduler")).unwrap_or_default();
    assay_kernel::parse::choice::parse(&text).map(|choice| choice.active).unwrap_or_default()
}
