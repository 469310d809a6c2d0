//! Which files the sampler reads in this trial.

use std::collections::BTreeMap;
use std::path::Path;

use assay_cgroup::Tree;
use assay_facts::CgroupLayout;
use assay_host::scratch::ScratchDisk;
use assay_kernel::Root;
use assay_plan::{GroupPlan, Trial};
use assay_sample::{
    CpuFile, DiskTarget, GroupTarget, IoFiles, MemoryFiles, ProcessTarget, Processes, Targets,
    ThrottleTarget,
};
use assay_study::DiskSource;

use crate::overrides::around;

/// The top group of the run, as [`Tree`] names it.
const TOP: &str = "";

/// The targets of a trial: all groups, all disks.
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

/// The processes of every group that workloads run in.
fn processes(tree: &Tree, trial: &Trial) -> Vec<ProcessTarget> {
    let groups = trial.groups.iter().filter(|group| !group.is_inner);
    groups
        .map(|group| ProcessTarget {
            name: group.name.clone(),
            // A process is in the same group of all hierarchies, so one of them says enough.
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
    blkio(root, &directory, disk, group.is_inner).map(|files| (files, device))
}

/// Where the throttling layer counts, its files are exact: every bio of the group passes there.
/// BFQ's own files leave out what was merged into a request after that was queued.
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

/// Makes the throttling layer count on a disk that this run has made, by a limit that nothing
/// reaches, on the run's own top group, where nothing runs. Since 6.10 the layer sleeps on
/// a disk until the first limit; it then counts for all groups until the disk is gone, which is
/// why a disk that the user owns is left alone.
pub(crate) fn count_io(tree: &Tree, trial: &Trial, disks: &[ScratchDisk]) {
    for (planned, disk) in trial.disks.iter().zip(disks) {
        if matches!(planned.source, DiskSource::Loop | DiskSource::NullBlk(_)) {
            let limit = format!("{}:{} {}", disk.major, disk.minor, 1u64 << 60);
            // A kernel without throttling has no such file, and BFQ's files are read instead.
            let _ = tree.write(TOP, "io", "blkio.throttle.read_bps_device", &limit);
        }
    }
}

/// Whether the throttling layer counts on this disk: a limit is set on the group above, or the
/// group already has a line for the disk.
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
    let is_v2 = trial.homes.iter().any(|home| home.is_v2 && home.controllers.contains("memory"));
    Ok(MemoryFiles { directory, is_v2 })
}

/// Groups that have a CPU quota, of the study or of somebody else, and groups around the run's own
/// that do: a quota counts only in the group that bears it, and holds for all below. Where the run
/// makes no groups for the controller `cpu`, its processes are in a group of it all the same.
fn throttles(
    root: &Root,
    tree: &Tree,
    trial: &Trial,
    layout: &CgroupLayout,
) -> Vec<ThrottleTarget> {
    let own = trial.groups.iter().filter_map(|group| {
        let directory = tree.directory(&group.name, "cpu")?;
        let asked = group.knobs.iter().any(|knob| knob.record.knob == "cpu.max");
        (asked || has_quota(root, &directory)).then(|| (group.name.clone(), directory))
    });
    let around = around(tree, layout, "cpu").into_iter();
    let above = around
        .filter(|path| has_quota(root, path))
        .map(|path| (format!("above:{}", path.display()), path));
    own.chain(above)
        .map(|(name, directory)| ThrottleTarget { name, path: directory.join("cpu.stat") })
        .collect()
}

fn has_quota(root: &Root, group: &Path) -> bool {
    let says = |file: &str, none: &str| {
        root.read_trimmed(group.join(file)).is_ok_and(|text| !text.starts_with(none))
    };
    says("cpu.max", "max") || says("cpu.cfs_quota_us", "-1")
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
