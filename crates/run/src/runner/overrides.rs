//! Influences besides the study's knobs on how resources are divided: limits on the run's groups and their
//! ancestors, scheduling attributes of threads, a CPU scheduler that ignores weights, stacked disks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_host::cgroup::Tree;
use assay_host::facts::{Available, CgroupLayout, Hierarchy};
use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::{LimitReading, OverridesRecord, ThreadReading};
use assay_study::plan::Trial;
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::{Root, priority};

/// Threads are examined this long after the start, then after twice as long, and so on: scheduling options
/// of a program take effect when it starts, and each examination costs two calls per thread.
const FIRST_LOOK_NS: u64 = 500_000_000;

/// At most this many threads are examined at a time.
const MOST_THREADS: usize = 4096;

/// Values from here on count as no limit: the run's own top group has a limit of 2^60 bytes a second, which
/// makes the throttling layer count.
const NO_LIMIT: u64 = 1 << 59;

/// The run's own top group, as [`Tree`] names it.
const TOP: &str = "";

/// Files that limit a group or assign it a class, by controller, with their neutral value. Those with `None`
/// have a line for each device that is limited.
const FILES: [(&str, &str, Option<&str>); 11] = [
    ("io", "io.max", None),
    ("io", "io.latency", None),
    ("io", "io.prio.class", Some("no-change")),
    ("io", "blkio.prio.class", Some("no-change")),
    ("io", "blkio.throttle.read_bps_device", None),
    ("io", "blkio.throttle.write_bps_device", None),
    ("io", "blkio.throttle.read_iops_device", None),
    ("io", "blkio.throttle.write_iops_device", None),
    ("cpu", "cpu.max", Some("max")),
    ("cpu", "cpu.cfs_quota_us", Some("-1")),
    ("cpu", "cpu.idle", Some("0")),
];

/// Limits by group and file.
type Limits = BTreeMap<(String, String), String>;

/// Reads these files and keeps the results.
pub(crate) struct Overrides<'r> {
    root: &'r Root,
    tree: &'r Tree,
    trial: &'r Trial,
    layout: &'r CgroupLayout,
    disks: &'r [ScratchDisk],
    at_start: Limits,
    /// Threads of each group with equal scheduling attributes: the largest number in one examination.
    threads: BTreeMap<(String, String, i32, String), u64>,
    due_ns: u64,
    wait_ns: u64,
}

impl<'r> Overrides<'r> {
    /// Reads the limits at the start.
    pub(crate) fn at_start(
        root: &'r Root,
        tree: &'r Tree,
        trial: &'r Trial,
        layout: &'r CgroupLayout,
        disks: &'r [ScratchDisk],
    ) -> Self {
        let mut overrides = Self {
            root,
            tree,
            trial,
            layout,
            disks,
            at_start: Limits::new(),
            threads: BTreeMap::new(),
            due_ns: monotonic_ns() + FIRST_LOOK_NS,
            wait_ns: FIRST_LOOK_NS,
        };
        overrides.at_start = overrides.limits();
        overrides
    }

    /// Examines the threads if it is due.
    pub(crate) fn look_if_due(&mut self) {
        let now = monotonic_ns();
        if now < self.due_ns {
            return;
        }
        self.look();
        self.wait_ns *= 2;
        self.due_ns = now + self.wait_ns;
    }

    fn look(&mut self) {
        let mut now: BTreeMap<_, u64> = BTreeMap::new();
        let groups = self.trial.groups.iter().filter(|group| !group.is_inner);
        let threads = groups.flat_map(|group| {
            let ids = self.threads_of(&group.name);
            ids.into_iter().map(|id| (group.name.clone(), id))
        });
        for (group, id) in threads.take(MOST_THREADS) {
            let Some((policy, nice)) = priority::cpu_policy(self.root, id) else { continue };
            let class = priority::io_class(id).unwrap_or("unknown").to_owned();
            *now.entry((group, policy.to_owned(), nice, class)).or_insert(0) += 1;
        }
        for (kind, count) in now {
            let most = self.threads.entry(kind).or_insert(0);
            *most = count.max(*most);
        }
    }

    /// The threads of a group. A process is in the same group in all hierarchies, so one of them is
    /// sufficient.
    fn threads_of(&self, group: &str) -> Vec<u32> {
        let Some(directory) = self.tree.directories(group).into_iter().next() else {
            return Vec::new();
        };
        let mut files = ["cgroup.threads", "tasks"].iter();
        let text = files.find_map(|file| self.root.read(directory.join(file)).ok());
        text.unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// The results, with the limits as they are now.
    pub(crate) fn finish(&mut self) -> OverridesRecord {
        let at_end = self.limits();
        let keys: BTreeSet<_> = self.at_start.keys().chain(at_end.keys()).cloned().collect();
        let value = |limits: &Limits, key| limits.get(key).cloned().unwrap_or_default();
        let limits = keys.iter().map(|key| LimitReading {
            group: key.0.clone(),
            file: key.1.clone(),
            at_start: value(&self.at_start, key),
            at_end: value(&at_end, key),
        });
        let threads = self.threads.iter().map(|((group, policy, nice, class), threads)| {
            let (group, policy, io_class) = (group.clone(), policy.clone(), class.clone());
            ThreadReading { group, policy, nice: *nice, io_class, threads: *threads }
        });
        OverridesRecord {
            limits: limits.collect(),
            threads: threads.collect(),
            sched_ext: sched_ext(self.root),
            stacked: stacked(self.root, self.trial, self.disks),
        }
    }

    /// Every limit of the trial's groups and of the groups around the run's own.
    fn limits(&self) -> Limits {
        let mut limits = Limits::new();
        let numbers = |disk: &ScratchDisk| format!("{}:{}", disk.major, disk.minor);
        let devices: Vec<String> = self.disks.iter().map(numbers).collect();
        for (controller, file, default) in FILES {
            let mut add = |group: String, directory: &Path| {
                let text = self.root.read_trimmed(directory.join(file)).unwrap_or_default();
                let text = match default {
                    Some(default) if text.starts_with(default) => String::new(),
                    Some(_) => text,
                    None => limiting_lines(&text, &devices),
                };
                if !text.is_empty() {
                    limits.insert((group, file.to_owned()), text);
                }
            };
            for group in &self.trial.groups {
                if let Some(directory) = self.tree.directory(&group.name, controller) {
                    add(group.name.clone(), &directory);
                }
            }
            for directory in around(self.tree, self.trial, self.layout, controller) {
                add(format!("above:{}", directory.display()), &directory);
            }
        }
        limits
    }
}

/// The lines of these devices that set a limit.
fn limiting_lines(text: &str, devices: &[String]) -> String {
    let limits = |line: &&str| {
        let mut words = line.split_whitespace();
        let ours = words.next().is_some_and(|device| devices.iter().any(|own| own == device));
        let limit = |word: &str| {
            let value = word.rsplit_once('=').map_or(word, |(_, value)| value);
            value.parse::<u64>().is_ok_and(|value| value < NO_LIMIT)
        };
        ours && words.any(limit)
    };
    text.lines().filter(limits).collect::<Vec<_>>().join("\n")
}

/// The groups around those of a trial in the hierarchy of a controller, innermost first, without the root of the
/// hierarchy, which has no limits.
pub(crate) fn around(
    tree: &Tree,
    trial: &Trial,
    layout: &CgroupLayout,
    controller: &str,
) -> Vec<PathBuf> {
    let existing = trial.groups.iter().filter(|group| group.existing.is_some());
    let existing = existing.filter_map(|group| tree.directory(&group.name, controller));
    let mut all: Vec<PathBuf> =
        existing.flat_map(|group| below(tree.mount(controller), group.parent())).collect();
    if trial.makes_groups() {
        all.extend(around_the_run(tree, layout, controller));
    }
    let mut seen = BTreeSet::new();
    all.retain(|group| seen.insert(group.clone()));
    all
}

/// Those around the run's own. If it creates no groups there, those that its own processes are in.
fn around_the_run(tree: &Tree, layout: &CgroupLayout, controller: &str) -> Vec<PathBuf> {
    let (mount, innermost) = match (tree.mount(controller), tree.directory(TOP, controller)) {
        (Some(mount), Some(top)) => (mount.to_path_buf(), top.parent().map(Path::to_path_buf)),
        _ => {
            let Some(found) = layout.controllers.get(controller) else { return Vec::new() };
            let (Hierarchy::V1(mount) | Hierarchy::V2(mount)) = &found.hierarchy else {
                return Vec::new();
            };
            (mount.clone(), Some(mount.join(found.own_group.trim_start_matches('/'))))
        }
    };
    below(Some(&mount), innermost.as_deref())
}

/// A group and the groups around it below the mount, innermost first.
fn below(mount: Option<&Path>, innermost: Option<&Path>) -> Vec<PathBuf> {
    let (Some(mount), Some(innermost)) = (mount, innermost) else { return Vec::new() };
    let inside = innermost.ancestors().take_while(|path| path.starts_with(mount));
    inside.filter(|path| *path != mount).map(Path::to_path_buf).collect()
}

/// Whether a BPF program schedules the CPUs, and its name (Documentation/scheduler/sched-ext.rst).
fn sched_ext(root: &Root) -> Available<String> {
    match root.read_trimmed("/sys/kernel/sched_ext/state") {
        Err(error) => Available::NotAvailable(error.to_string()),
        Ok(state) => {
            let name = root.read_trimmed("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
            Available::Value(format!("{state} {name}").trim().to_owned())
        }
    }
}

fn stacked(root: &Root, trial: &Trial, disks: &[ScratchDisk]) -> BTreeMap<String, Vec<String>> {
    let each = trial.disks.iter().zip(disks).map(|(planned, disk)| {
        let slaves = root.list(format!("/sys/block/{}/slaves", disk.device)).unwrap_or_default();
        (planned.name.clone(), slaves)
    });
    each.filter(|(_, slaves)| !slaves.is_empty()).collect()
}

#[cfg(test)]
mod tests;
