//! Which group used the CPU time that was not the command's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_cgroup::inventory::hierarchies;
use assay_kernel::Root;
use assay_kernel::counters::{keyed, number};

/// How far down groups are read, and how many: enough to name a service or a pod.
const DEEPEST: usize = 4;
const MOST: usize = 4096;

/// A group is named instead of the one above if it used this part of that one's time.
const MAINLY: f64 = 0.5;

/// CPU time of the groups by directory, in microseconds. One that vanishes meanwhile is left out.
pub(super) fn read(root: &Root) -> BTreeMap<PathBuf, u64> {
    let mounted = hierarchies(root);
    let counts = |name: &&str| mounted.iter().find(|one| one.controllers.iter().any(|c| c == name));
    let by_v1 = ["cpuacct"].iter().find_map(counts);
    let Some(hierarchy) = by_v1.or_else(|| mounted.iter().find(|one| one.is_v2)) else {
        return BTreeMap::new();
    };
    let mut open = vec![(hierarchy.mount.clone(), 0)];
    let mut found = BTreeMap::new();
    while let Some((directory, depth)) = open.pop() {
        let Some(time) = time(root, &directory).filter(|_| found.len() < MOST) else { continue };
        if depth < DEEPEST {
            let inside = root.directories(&directory).unwrap_or_default();
            open.extend(inside.into_iter().map(|name| (directory.join(name), depth + 1)));
        }
        found.insert(directory, time);
    }
    // The root's time is that of the machine, and is in no file on some kernels.
    found
}

fn time(root: &Root, directory: &Path) -> Option<u64> {
    if let Ok(text) = root.read(directory.join("cpuacct.usage")) {
        return Some(number(text.as_bytes())? / 1000);
    }
    let text = root.read(directory.join("cpu.stat")).unwrap_or_default();
    Some(keyed(text.as_bytes(), "usage_usec").unwrap_or(0))
}

/// The group that used most CPU time between two readings, with its CPUs; those of the command and the ones
/// around them are left out.
pub(super) fn busiest(
    before: &BTreeMap<PathBuf, u64>,
    after: &BTreeMap<PathBuf, u64>,
    own: &[PathBuf],
    seconds: f64,
) -> Option<(String, f64)> {
    let top = after.keys().next()?;
    let grown = |path: &Path| after.get(path)?.checked_sub(*before.get(path)?);
    let busiest_in = |directory: &Path| {
        let inside = after.keys().filter(|path| path.parent() == Some(directory));
        let others = inside.filter(|path| !own.iter().any(|own| own.starts_with(path)));
        let times = others.filter_map(|path| Some((path, grown(path)?)));
        times.max_by_key(|(_, time)| *time).filter(|(_, time)| *time > 0)
    };
    let (mut path, mut time) = busiest_in(top)?;
    while let Some((inner, part)) = busiest_in(path)
        && part as f64 >= MAINLY * time as f64
    {
        (path, time) = (inner, part);
    }
    let name = path.strip_prefix(top).ok()?.display();
    Some((format!("/{name}"), time as f64 * 1e-6 / seconds))
}
