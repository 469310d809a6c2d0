//! The machine around a command: swapping, throttling because of heat, the CPU time of other groups, and the quotas of
//! those above its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_host::cgroup::inventory::hierarchies;
use assay_host::facts::Available;
use assay_sys::kernel::Root;
use assay_sys::kernel::counters::{keyed, number};
use assay_sys::units::CpuSet;

/// Pages swapped in and out since the boot.
pub(super) fn swapped_pages(root: &Root) -> Available<u64> {
    let text = match root.read("/proc/vmstat") {
        Ok(text) => text,
        Err(error) => return Available::NotAvailable(error.to_string()),
    };
    let count = |key| keyed(text.as_bytes(), key);
    match (count("pswpin"), count("pswpout")) {
        (Some(pages_in), Some(pages_out)) => Available::Value(pages_in + pages_out),
        _ => Available::NotAvailable("this kernel was built without swap".to_owned()),
    }
}

/// How often a core, or its package, was throttled because of heat since the boot.
pub(super) fn too_hot(root: &Root, cpus: &CpuSet) -> Available<u64> {
    let counts = cpus.iter().flat_map(|cpu| {
        ["core", "package"].map(|part| {
            let file = format!("{part}_throttle_count");
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{file}");
            number(root.read(path).ok()?.as_bytes())
        })
    });
    let known: Vec<u64> = counts.flatten().collect();
    match known.is_empty() {
        true => Available::NotAvailable(
            "this machine does not count throttling because of heat (no `thermal_throttle` of its CPUs)"
                .to_owned(),
        ),
        false => Available::Value(known.iter().sum()),
    }
}

// Which group used the CPU time that was not the command's.

/// How far down groups are read, and how many: enough to name a service or a pod.
const DEEPEST: usize = 4;
const MOST: usize = 4096;

/// A group is named instead of the one above if it used this part of that one's time.
const MAINLY: f64 = 0.5;

/// CPU time of the groups by directory, in microseconds. One that vanishes meanwhile is left out.
pub(super) fn group_times(root: &Root) -> BTreeMap<PathBuf, u64> {
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

// Quotas of the groups above the command's own, such as that of the container or the CI job that it runs in.

/// For how many seconds each group above this directory was throttled so far.
pub(super) fn throttled_above(
    root: &Root,
    directory: Option<&Path>,
) -> Available<BTreeMap<String, f64>> {
    let Some(directory) = directory else {
        let why = "the command is in no group of the controller `cpu`".to_owned();
        return Available::NotAvailable(why);
    };
    let above = directory.ancestors().skip(1);
    let throttled = above.map_while(|group| {
        let text = root.read(group.join("cpu.stat")).ok()?;
        let text = text.as_bytes();
        let on_v2 = keyed(text, "throttled_usec").map(|time| time as f64 * 1e-6);
        let time = on_v2.or_else(|| Some(keyed(text, "throttled_time")? as f64 * 1e-9));
        Some((group.display().to_string(), time.unwrap_or(0.0)))
    });
    Available::Value(throttled.collect())
}

/// What each of them was throttled between two readings.
pub(super) fn throttled_since(
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
) -> Vec<(String, f64)> {
    let grown = |(group, time): (&String, &f64)| {
        let earlier = before.get(group).copied().unwrap_or(0.0);
        (group.clone(), (time - earlier).max(0.0))
    };
    after.iter().map(grown).filter(|(_, held)| *held > 0.0).collect()
}
