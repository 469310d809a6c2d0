//! Every group of every hierarchy, whoever made it, as it is now: what `lscgroup` and
//! `systemd-cgtop` tell together. Only reads, and takes it in its stride when a group goes while
//! it is being read.

mod counters;
mod hierarchy;
mod knobs;
mod rates;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_facts::{Available, CgroupLayout};
use assay_kernel::{Root, clock};
use serde::Serialize;

pub use counters::Counts;
pub use hierarchy::{Mounted, hierarchies};
pub use knobs::SetKnob;
pub use rates::{Rates, rates};

use knobs::Defaults;

/// One group, under this path in one hierarchy or in several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its path below the mounts, `/` for the roots.
    pub path: String,
    /// The hierarchies that have it, by name.
    pub hierarchies: Vec<String>,
    /// Processes in it (not in groups below), by id. On cgroup v1 a process may be in groups of
    /// different paths, and is then listed in each.
    pub processes: Vec<u32>,
    /// Threads in it.
    pub threads: usize,
    /// Knobs that say something else than in a new group. Empty for the roots, which have values
    /// of their own.
    pub knobs: Vec<SetKnob>,
    /// What its counters say.
    pub counts: Counts,
}

/// All groups at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inventory {
    /// CLOCK_MONOTONIC at the start of the reading, in nanoseconds.
    pub taken_ns: u64,
    /// The hierarchies that were read.
    pub hierarchies: Vec<Mounted>,
    /// The groups, each before those inside it.
    pub groups: Vec<Entry>,
}

/// Which part is wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only the hierarchy that serves this controller, by v2 name.
    pub controller: Option<String>,
    /// Only this group and those below, as a path below the mounts.
    pub below: Option<String>,
    /// Only so many levels below it.
    pub depth: Option<usize>,
    /// Only groups with processes in them or below, and the one at the top.
    pub populated: bool,
}

/// Reads every group below `root` that passes the filter.
#[must_use]
pub fn take(root: &Root, layout: &CgroupLayout, filter: &Filter) -> Inventory {
    let taken_ns = clock::monotonic_ns();
    let wanted = |found: &Mounted| {
        let controller = filter.controller.as_ref();
        controller.is_none_or(|name| found.controllers.iter().any(|one| one == name))
    };
    let hierarchies: Vec<Mounted> = hierarchies(root).into_iter().filter(wanted).collect();
    let mut places: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (index, hierarchy) in hierarchies.iter().enumerate() {
        for path in walk(root, hierarchy, filter) {
            places.entry(path).or_default().push(index);
        }
    }
    let defaults: Vec<Defaults> =
        hierarchies.iter().map(|found| Defaults::new(found, layout)).collect();
    let mut groups: Vec<Entry> = places
        .into_iter()
        .filter_map(|(path, indices)| entry(root, &hierarchies, &defaults, &path, &indices))
        .collect();
    if filter.populated {
        keep_populated(&mut groups);
    }
    Inventory { taken_ns, hierarchies, groups }
}

/// Paths of all groups of one hierarchy, as words, from the group asked for downwards.
fn walk(root: &Root, hierarchy: &Mounted, filter: &Filter) -> Vec<Vec<String>> {
    let words = |path: &str| -> Vec<String> {
        path.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let top = words(filter.below.as_deref().unwrap_or("/"));
    let deepest = filter.depth.map_or(usize::MAX, |depth| top.len().saturating_add(depth));
    let mut open = vec![top];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        // A group that is not there, or no longer, has no listing.
        let Ok(inside) = root.directories(place(&hierarchy.mount, &path)) else { continue };
        let inside = inside.into_iter().take_while(|_| path.len() < deepest);
        open.extend(inside.map(|name| {
            let mut child = path.clone();
            child.push(name);
            child
        }));
        found.push(path);
    }
    found
}

/// Leaves the group at the top, and those that hold processes themselves or further down.
fn keep_populated(groups: &mut Vec<Entry>) {
    let mut holding: BTreeSet<PathBuf> = BTreeSet::new();
    let top = groups.first().map(|entry| PathBuf::from(&entry.path));
    for entry in groups.iter().filter(|entry| !entry.processes.is_empty()) {
        holding.extend(Path::new(&entry.path).ancestors().map(Path::to_owned));
    }
    holding.extend(top);
    groups.retain(|entry| holding.contains(Path::new(&entry.path)));
}

fn place(mount: &Path, path: &[String]) -> PathBuf {
    let mut place = mount.to_owned();
    place.extend(path);
    place
}

/// Reads one group in all hierarchies that have it; `None` when it has gone from all of them.
fn entry(
    root: &Root,
    hierarchies: &[Mounted],
    defaults: &[Defaults],
    path: &[String],
    indices: &[usize],
) -> Option<Entry> {
    let (mut processes, mut threads) = (BTreeSet::new(), BTreeSet::new());
    let (mut names, mut homes, mut knobs) = (Vec::new(), Vec::new(), Vec::new());
    for &index in indices {
        let hierarchy = &hierarchies[index];
        let directory = place(&hierarchy.mount, path);
        if !root.exists(&directory) {
            continue;
        }
        processes.extend(ids(root, &directory.join("cgroup.procs")));
        let tasks = if hierarchy.is_v2 { "cgroup.threads" } else { "tasks" };
        threads.extend(ids(root, &directory.join(tasks)));
        if !path.is_empty() {
            knobs.extend(defaults[index].differing(root, &directory));
        }
        names.push(hierarchy.name.clone());
        homes.push((hierarchy, directory));
    }
    (!names.is_empty()).then(|| Entry {
        path: format!("/{}", path.join("/")),
        hierarchies: names,
        processes: processes.into_iter().collect(),
        threads: threads.len(),
        knobs,
        counts: counters::read(root, &homes),
    })
}

/// Ids in a file of one a line. Reading `cgroup.procs` of a threaded group is refused
/// (EOPNOTSUPP): its processes are listed at the head of its domain.
fn ids(root: &Root, path: &Path) -> Vec<u32> {
    let text = root.read(path).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// The value or the reason, as a value that is there wins over one that is not.
fn or<T>(one: Available<T>, other: impl FnOnce() -> Available<T>) -> Available<T> {
    if one.value().is_some() { one } else { other() }
}
