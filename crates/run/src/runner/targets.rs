//! Selects the files that the sampler reads in a trial.

use std::collections::BTreeMap;
use std::path::Path;

use assay_host::cgroup::Tree;
use assay_host::facts::CgroupLayout;
use assay_host::scratch::ScratchDisk;
use assay_record::sample::{
    CpuFile, DiskTarget, GroupTarget, IoFiles, MemoryFiles, ProcessTarget, Processes, Targets,
    ThrottleTarget,
};
use assay_study::DiskSource;
use assay_study::plan::{GroupPlan, Trial};
use assay_sys::kernel::Root;

use crate::runner::overrides::around;

/// The top group of the run, as [`Tree`] names it.
const TOP: &str = "";

/// The targets of a trial: all groups and all disks.
pub(crate) fn targets(
    root: &Root,
    tree: &Tree,
    trial: &Trial,
    disks: &[ScratchDisk],
    layout: &CgroupLayout,
) -> Targets {
    let mut devices: Vec<DiskTarget> =
        disks.iter().map(|disk| DiskTarget { device: disk.device.clone() }).collect();
    devices.dedup();
    Targets {
        groups: trial.groups.iter().map(|group| target(root, tree, trial, group, disks)).collect(),
        disks: devices,
        throttles: Ok(throttles(root, tree, trial, layout)),
        processes: Ok(processes(tree, trial)),
    }
}

/// The processes of every group with workloads.
fn processes(tree: &Tree, trial: &Trial) -> Vec<ProcessTarget> {
    let groups = trial.groups.iter().filter(|group| !group.is_inner);
    groups
        .map(|group| ProcessTarget {
            name: group.name.clone(),
            // A process is in the same group in all hierarchies, so one of them is sufficient.
            of: Processes::Group(tree.directories(&group.name).into_iter().take(1).collect()),
        })
        .collect()
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
        memory: memory(tree, trial, group),
    }
}

fn io(
    root: &Root,
    tree: &Tree,
    trial: &Trial,
    group: &GroupPlan,
    disks: &[ScratchDisk],
) -> Result<(IoFiles, String), String> {
    // An inner group is counted on the only disk; with several disks it has no single device.
    let only = (disks.len() == 1).then_some(0);
    let disk = group.disk.or(only).map(|index| &disks[index]);
    let disk = disk.ok_or("the group uses no disk of the study")?;
    let directory = tree.directory(&group.name, "io").ok_or_else(|| absent(trial, "io"))?;
    let device = format!("{}:{}", disk.major, disk.minor);
    let is_v2 = trial
        .hierarchies
        .iter()
        .any(|hierarchy| hierarchy.is_v2 && hierarchy.controllers.contains("io"));
    if is_v2 {
        return Ok((IoFiles::IoStat(directory.join("io.stat")), device));
    }
    blkio(root, &directory, disk, group.is_inner || group.existing.is_some())
        .map(|files| (files, device))
}

/// If the throttling layer counts, its files are exact: every bio of the group passes through it. BFQ's own
/// files miss what was merged into an already queued request.
fn blkio(
    root: &Root,
    directory: &Path,
    disk: &ScratchDisk,
    is_inner: bool,
) -> Result<IoFiles, String> {
    let policy = if throttling_counts(root, directory, disk) {
        "blkio.throttle"
    } else if active_scheduler(root, &disk.device) == "bfq" {
        "blkio.bfq"
    } else {
        return Err(format!(
            "cgroup v1 counts the I/O of {} only under bfq, or while some group has a throttle \
             limit on it",
            disk.device
        ));
    };
    let suffix = if is_inner { "_recursive" } else { "" };
    let file = |name: &str| directory.join(format!("{policy}.{name}{suffix}"));
    Ok(IoFiles::Blkio { bytes: file("io_service_bytes"), requests: file("io_serviced") })
}

/// Makes the throttling layer count on a disk that this run has made, through a limit too high to matter on
/// the run's own top group, where nothing runs. Since 6.10 the layer is inactive on a disk until the first
/// limit; it then counts for all groups until the disk is removed, so a disk owned by the user is left alone.
pub(crate) fn count_io(tree: &Tree, trial: &Trial, disks: &[ScratchDisk]) {
    for (planned, disk) in trial.disks.iter().zip(disks) {
        if matches!(planned.source, DiskSource::Loop | DiskSource::NullBlk(_)) {
            let limit = format!("{}:{} {}", disk.major, disk.minor, 1u64 << 60);
            // A kernel without throttling has no such file; BFQ's files are read instead.
            let _ = tree.write(TOP, "io", "blkio.throttle.read_bps_device", &limit);
        }
    }
}

/// Whether the throttling layer counts on this disk: a limit is set on the parent group, or the group already
/// has a line for the disk.
fn throttling_counts(root: &Root, directory: &Path, disk: &ScratchDisk) -> bool {
    let device = format!("{}:{} ", disk.major, disk.minor);
    let has_line = |path: &Path| {
        root.read(path).is_ok_and(|text| text.lines().any(|line| line.starts_with(&device)))
    };
    let limits = directory
        .ancestors()
        .map(|group| group.join("blkio.throttle.read_bps_device"))
        .take_while(|path| root.exists(path))
        .any(|path| has_line(&path));
    limits || has_line(&directory.join("blkio.throttle.io_service_bytes"))
}

fn cpu(tree: &Tree, trial: &Trial, group: &GroupPlan) -> Result<CpuFile, String> {
    if let Some(directory) = tree.directory(&group.name, "cpuacct") {
        return Ok(CpuFile::Cpuacct(directory.join("cpuacct.usage")));
    }
    let directory = tree.directory(&group.name, "cpu").ok_or_else(|| absent(trial, "cpu"))?;
    Ok(CpuFile::CpuStat(directory.join("cpu.stat")))
}

fn memory(tree: &Tree, trial: &Trial, group: &GroupPlan) -> Result<MemoryFiles, String> {
    let unused = || match trial.absent.get("memory") {
        Some(_) => absent(trial, "memory"),
        None => "the study neither limits memory nor promises anything about it".to_owned(),
    };
    let directory = tree.directory(&group.name, "memory").ok_or_else(unused)?;
    let is_v2 = trial
        .hierarchies
        .iter()
        .any(|hierarchy| hierarchy.is_v2 && hierarchy.controllers.contains("memory"));
    Ok(MemoryFiles { directory, is_v2 })
}

/// Groups with a CPU quota, set by the study or otherwise, including groups around the run's own: quota
/// counters exist only in the group that has the quota, but the quota applies to all descendants. If the run
/// creates no groups for the controller `cpu`, its processes are still in some group of it.
fn throttles(
    root: &Root,
    tree: &Tree,
    trial: &Trial,
    layout: &CgroupLayout,
) -> Vec<ThrottleTarget> {
    let own = trial.groups.iter().filter_map(|group| {
        let directory = tree.directory(&group.name, "cpu")?;
        let requested = group.knobs.iter().any(|knob| knob.record.knob == "cpu.max");
        (requested || has_quota(root, &directory)).then(|| (group.name.clone(), directory))
    });
    let around = around(tree, trial, layout, "cpu").into_iter();
    let above = around
        .filter(|path| has_quota(root, path))
        .map(|path| (format!("above:{}", path.display()), path));
    own.chain(above)
        .map(|(name, directory)| ThrottleTarget { name, path: directory.join("cpu.stat") })
        .collect()
}

fn has_quota(root: &Root, group: &Path) -> bool {
    let limits = |file: &str, none: &str| {
        root.read_trimmed(group.join(file)).is_ok_and(|text| !text.starts_with(none))
    };
    limits("cpu.max", "max") || limits("cpu.cfs_quota_us", "-1")
}

fn absent(trial: &Trial, controller: &str) -> String {
    let why: BTreeMap<_, _> = trial.absent.iter().collect();
    let why = why.get(&controller.to_owned()).map_or("not mounted", |why| why.as_str());
    format!("no hierarchy serves the controller `{controller}`: {why}")
}

/// The active scheduler of a disk; empty for a device without a request queue.
pub(crate) fn active_scheduler(root: &Root, device: &str) -> String {
    let text = root.read(format!("/sys/block/{device}/queue/scheduler")).unwrap_or_default();
    assay_sys::kernel::parse::choice::parse(&text).map(|choice| choice.active).unwrap_or_default()
}

#[cfg(test)]
mod tests;
