//! The groups of one hierarchy, with the texts of their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_host::Owners;
use assay_host::cgroup::inventory::{Mounted, mounted};
use assay_host::facts::Available;
use assay_host::facts::owner::Claimant;
use assay_host::knob::is_of_new_group;
use assay_sys::exit::Error;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::mountinfo::Mount;

use super::open_files;
use super::read::present;
use super::reading_order::{Next, ReadingOrder};
use super::threads::Tasks;
use crate::snapshot::{Group, Hierarchy, MAX_DEPTH, MAX_GROUPS, MAX_PATHS};
use crate::{AMOUNTS, CPU_TIME, PRIORITY, WATCHED};

/// Longer paths no system call takes (PATH_MAX).
const LONGEST_PATH: usize = 4096;

/// Of so many claimants it is said how many of their groups were not read.
const CLAIMANTS: usize = 4;

/// Files of every group that rules read beside the settings. Counters are not among them: the kernel sums up those of all CPUs when they are read,
/// which costs more than all else.
const FILES: [&str; 8] = [
    "cgroup.controllers",
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
    "memory.current",
    "memory.oom_control",
    "memory.usage_in_bytes",
    "memory.use_hierarchy",
    "pids.current",
];

/// How often a limit has refused something, which costs no sum over CPUs.
const REFUSED: [&str; 2] = ["pids.events", "pids.events.local"];

/// Counters by disk, read for such groups.
const OF_DISKS: [&str; 3] =
    ["io.stat", "blkio.throttle.io_service_bytes", "blkio.bfq.io_service_bytes"];

/// The error of a host without control groups.
pub(super) fn none_mounted() -> Error {
    Error::host("no control groups are mounted\n  hint: mount -t cgroup2 none /sys/fs/cgroup")
}

/// Every mounted hierarchy once, without its groups: those of v1 first.
pub(super) fn hierarchies(root: &Root) -> Vec<Hierarchy> {
    let hierarchy = |(one, mount): (Mounted, Mount)| Hierarchy {
        is_whole: is_whole(root, &mount),
        name: one.name,
        is_v2: one.is_v2,
        mount: one.mount,
        options: mount.options,
        controllers: one.controllers,
        groups: Vec::new(),
        loose: None,
        left_out: None,
    };
    mounted(root).into_iter().map(hierarchy).collect()
}

/// Whether the mount shows the hierarchy from its top: the kernel gives a real top other files than groups. The table of mounts
/// does not tell: in a namespace of control groups its own top is shown as `/`, and the host's as `/..`.
fn is_whole(root: &Root, mount: &Mount) -> bool {
    let has = |file: &str| root.exists(mount.target.join(file));
    match mount.kind.as_str() {
        "cgroup2" => !has("cgroup.type") && !has("cgroup.events"),
        _ => has("release_agent"),
    }
}

/// Reads the groups of a hierarchy into it. A group that vanishes meanwhile is left out. What users and containers have made
/// comes last, so that however much of it there is hides nothing of the host, and nothing of one that is another's.
pub(super) fn read(root: &Root, owners: &Owners, hierarchy: &mut Hierarchy) {
    let has_cpu = hierarchy.controllers.iter().any(|name| name == "cpu");
    let tasks = Tasks::new(root);
    if has_cpu && hierarchy.is_whole {
        hierarchy.loose = Some(tasks.of_users(&hierarchy.mount));
    }
    // Beside each group, whether one above has a weight or quota of CPU.
    let mut order = ReadingOrder::at("/", None);
    let (mut deeper, mut unnamed, mut paths) = (false, 0, 0);
    while hierarchy.groups.len() < MAX_GROUPS && paths + LONGEST_PATH <= MAX_PATHS {
        let Some(Next { path, mut is_divided, by }) = order.next() else { break };
        paths += path.len();
        let directory = directory(&hierarchy.mount, &path);
        let Ok(entries) = root.entries(&directory) else { continue };
        unnamed += entries.unnamed;
        let mut group = group(&tasks, hierarchy.is_v2, &directory, path, &entries.others);
        is_divided |= has_cpu && CPU_TIME.into_iter().any(|name| is_set(&group.files, name));
        if is_divided {
            group.real_time = Some(tasks.real_time(&directory, hierarchy.is_v2));
        }
        let has_below = !entries.directories.is_empty();
        if group.path.trim_end_matches('/').split('/').count() > MAX_DEPTH {
            deeper |= has_below;
        } else if has_below {
            let by = by.or_else(|| owners.claimant_below(&hierarchy.mount, &group.path));
            order.add(by, &group.path, entries.directories, is_divided);
        }
        hierarchy.groups.push(group);
    }
    hierarchy.groups.sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
    let full = beyond(hierarchy.groups.len(), order, owners);
    let deep = deeper.then(|| format!("groups below {MAX_DEPTH} levels"));
    hierarchy.left_out = joined([full, deep, without_names(unnamed)]);
}

/// Groups for which there was no room, in words, with whose they are.
fn beyond(read: usize, order: ReadingOrder, owners: &Owners) -> Option<String> {
    let why = match read {
        MAX_GROUPS => String::new(),
        _ => format!(", whose paths are {} MiB", MAX_PATHS >> 20),
    };
    whose(order, owners).map(|whose| format!("groups beyond the first {read}{why}: {whose}"))
}

/// How many groups have not been read, with whose they are, if there are any. Those below them are not known.
pub(super) fn whose(order: ReadingOrder, owners: &Owners) -> Option<String> {
    let left = order.left();
    let (named, others) = left.split_at(left.len().min(CLAIMANTS));
    let mut parts: Vec<String> =
        named.iter().map(|(by, left)| format!("{left} {}", of(by.as_ref(), owners))).collect();
    if !others.is_empty() {
        let number: usize = others.iter().map(|(_, left)| left).sum();
        parts.push(format!("{number} of {} others", others.len()));
    }
    (!parts.is_empty()).then(|| format!("at least {}", parts.join(", ")))
}

fn of(by: Option<&Claimant>, owners: &Owners) -> String {
    match by {
        None => "of the host".to_owned(),
        Some(Claimant::Container(outer)) => format!("in {}", owners.named((**outer).clone())),
        Some(other) => format!("of {other}"),
    }
}

/// Groups that no text can name, in words.
pub(super) fn without_names(count: usize) -> Option<String> {
    let names = if count == 1 { "group whose name is" } else { "groups whose names are" };
    (count > 0).then(|| format!("{count} {names} not UTF-8, with all below"))
}

/// Reasons as one text, if there are any.
pub(super) fn joined<const N: usize>(reasons: [Option<String>; N]) -> Option<String> {
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// The directory of a group.
pub(super) fn directory(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim_start_matches('/'))
}

fn group(tasks: &Tasks, is_v2: bool, directory: &Path, path: String, names: &[String]) -> Group {
    let has = |name: &str| names.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
    let text = |name: &str| {
        Some((name.to_owned(), has(name).then(|| present(tasks.root, directory.join(name)))??))
    };
    let settings = WATCHED.iter().copied().chain(FILES);
    let mut files: BTreeMap<_, _> = settings.filter_map(text).collect();
    if is_set(&files, "memory.max") {
        let is_count = |name: &&String| name.starts_with("hugetlb.") && name.ends_with("B.current");
        files.extend(names.iter().filter(is_count).filter_map(|name| text(name)));
    }
    let threads = tasks.threads(directory, is_v2);
    let mut open_on = None;
    // Only for groups with a setting of I/O the disks are looked for.
    let of_io = AMOUNTS.iter().filter(|(_, controller)| *controller == "io");
    let mut of_io = of_io.map(|(name, _)| *name).chain(PRIORITY);
    if path != "/" && of_io.any(|name| is_set(&files, name)) {
        files.extend(OF_DISKS.into_iter().filter_map(text));
        open_on = Some(open_files::devices(tasks, directory));
    }
    if is_set(&files, "pids.max") {
        files.extend(REFUSED.into_iter().filter_map(text));
    }
    let is_refusal = |name: &&String| name.starts_with("hugetlb.") && name.ends_with(".events");
    let limited = files.iter().filter_map(|(name, text)| {
        let is_set = is_of_new_group(name, text.value()?) == Some(false);
        (name.starts_with("hugetlb.") && is_set).then_some(())
    });
    if limited.count() > 0 {
        files.extend(names.iter().filter(is_refusal).filter_map(|name| text(name)));
    }
    if path == "/" {
        files.extend(text("cgroup.stat"));
    }
    if is_set(&files, "memory.high") {
        files.extend(text("memory.stat"));
    }
    Group { path, threads, files, open_on, real_time: None }
}

/// Whether a setting differs from that of a new group.
fn is_set(files: &BTreeMap<String, Available<String>>, name: &str) -> bool {
    let text = files.get(name).and_then(Available::value);
    text.is_some_and(|text| is_of_new_group(name, text) == Some(false))
}
