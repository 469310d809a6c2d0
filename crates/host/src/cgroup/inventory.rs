//! An inventory of every group of every hierarchy at one moment, by any creator: the combined
//! information of `lscgroup` and `systemd-cgtop`. Only reads, and copes with groups that vanish while
//! they are read.

mod counters;
mod hierarchy;
mod knobs;
mod rates;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::facts::Available;
use assay_sys::kernel::{Root, clock};
use serde::Serialize;

pub use counters::Counts;
pub use hierarchy::{Mounted, hierarchies, mounted};
pub use knobs::SetKnob;
pub use rates::{Rates, rates};

/// One group, at the same path in one or several hierarchies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its path below the mounts, `/` for the roots.
    pub path: String,
    /// The names of the hierarchies that have it.
    pub hierarchies: Vec<String>,
    /// Processes in it (not in groups below), by id. On cgroup v1 a process may be in groups of
    /// different paths, and is then listed in each.
    pub processes: Vec<u32>,
    /// Threads in it.
    pub threads: usize,
    /// Knobs with other values than in a new group. Empty for the roots, which have values of their
    /// own.
    pub knobs: Vec<SetKnob>,
    /// Its counters.
    pub counts: Counts,
}

/// All groups at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inventory {
    /// CLOCK_MONOTONIC at the start of the reading, in nanoseconds.
    pub taken_ns: u64,
    /// The hierarchies that were read.
    pub hierarchies: Vec<Mounted>,
    /// The groups, parents before children.
    pub groups: Vec<Entry>,
}

/// Selects the groups to read.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only the hierarchy that serves this controller, by v2 name.
    pub controller: Option<String>,
    /// Only this group and those below, as a path below the mounts.
    pub below: Option<String>,
    /// Only down to this many levels below it.
    pub depth: Option<usize>,
    /// Only groups with processes in them or below, and the topmost one.
    pub populated: bool,
}

/// Reads every group below `root` that passes the filter.
#[must_use]
pub fn take(root: &Root, filter: &Filter) -> Inventory {
    let taken_ns = clock::monotonic_ns();
    let is_selected = |hierarchy: &Mounted| {
        let controller = filter.controller.as_ref();
        controller.is_none_or(|name| hierarchy.controllers.iter().any(|one| one == name))
    };
    let hierarchies: Vec<Mounted> = hierarchies(root).into_iter().filter(is_selected).collect();
    let mut by_path: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (index, hierarchy) in hierarchies.iter().enumerate() {
        for path in walk(root, hierarchy, filter) {
            by_path.entry(path).or_default().push(index);
        }
    }
    let mut groups: Vec<Entry> = by_path
        .into_iter()
        .filter_map(|(path, indices)| entry(root, &hierarchies, &path, &indices))
        .collect();
    if filter.populated {
        keep_populated(&mut groups);
    }
    Inventory { taken_ns, hierarchies, groups }
}

/// Paths of all groups of one hierarchy, as components, from the requested group downwards.
fn walk(root: &Root, hierarchy: &Mounted, filter: &Filter) -> Vec<Vec<String>> {
    let words = |path: &str| -> Vec<String> {
        path.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let top = words(filter.below.as_deref().unwrap_or("/"));
    let deepest = filter.depth.map_or(usize::MAX, |depth| top.len().saturating_add(depth));
    let mut open = vec![top];
    let mut paths = Vec::new();
    while let Some(path) = open.pop() {
        // A group that does not exist, or no longer, has no listing.
        let Ok(inside) = root.directories(directory(&hierarchy.mount, &path)) else { continue };
        let inside = inside.into_iter().take_while(|_| path.len() < deepest);
        open.extend(inside.map(|name| {
            let mut child = path.clone();
            child.push(name);
            child
        }));
        paths.push(path);
    }
    paths
}

/// Keeps the topmost group, and those with processes in them or in descendants.
fn keep_populated(groups: &mut Vec<Entry>) {
    let mut populated: BTreeSet<PathBuf> = BTreeSet::new();
    let top = groups.first().map(|entry| PathBuf::from(&entry.path));
    for entry in groups.iter().filter(|entry| !entry.processes.is_empty()) {
        populated.extend(Path::new(&entry.path).ancestors().map(Path::to_owned));
    }
    populated.extend(top);
    groups.retain(|entry| populated.contains(Path::new(&entry.path)));
}

fn directory(mount: &Path, path: &[String]) -> PathBuf {
    let mut directory = mount.to_owned();
    directory.extend(path);
    directory
}

/// Reads one group in all hierarchies that have it; `None` if it has vanished from all of them.
fn entry(
    root: &Root,
    hierarchies: &[Mounted],
    path: &[String],
    indices: &[usize],
) -> Option<Entry> {
    let (mut processes, mut threads) = (BTreeSet::new(), BTreeSet::new());
    let (mut names, mut directories, mut knobs) = (Vec::new(), Vec::new(), Vec::new());
    for &index in indices {
        let hierarchy = &hierarchies[index];
        let directory = directory(&hierarchy.mount, path);
        if !root.exists(&directory) {
            continue;
        }
        processes.extend(ids(root, &directory.join("cgroup.procs")));
        let tasks = if hierarchy.is_v2 { "cgroup.threads" } else { "tasks" };
        threads.extend(ids(root, &directory.join(tasks)));
        if !path.is_empty() {
            knobs.extend(hierarchy.differing(root, &directory));
        }
        names.push(hierarchy.name.clone());
        directories.push((hierarchy, directory));
    }
    (!names.is_empty()).then(|| Entry {
        path: format!("/{}", path.join("/")),
        hierarchies: names,
        processes: processes.into_iter().collect(),
        threads: threads.len(),
        knobs,
        counts: counters::read(root, &directories),
    })
}

/// Ids in a file with one per line. Reading `cgroup.procs` of a threaded group is refused (EOPNOTSUPP):
/// its processes are listed in its domain group.
fn ids(root: &Root, path: &Path) -> Vec<u32> {
    let text = root.read(path).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// The first value if available, else the second.
fn or<T>(one: Available<T>, other: impl FnOnce() -> Available<T>) -> Available<T> {
    if one.value().is_some() { one } else { other() }
}
