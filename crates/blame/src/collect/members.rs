//! The processes of a group, and the group of another hierarchy that has the same ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_sys::kernel::parse::cgroups::process_groups;
use assay_sys::kernel::{Error, Root};

/// Processes of a group and of all groups below it.
pub(super) fn members(root: &Root, directory: &Path) -> Result<BTreeSet<u32>, Error> {
    let listed = |directory: &Path| root.read(directory.join("cgroup.procs"));
    let below = |directory: &Path| -> Result<Vec<PathBuf>, Error> {
        Ok(root.directories(directory)?.iter().map(|name| directory.join(name)).collect())
    };
    let mut texts = vec![listed(directory)?];
    let mut open = below(directory)?;
    while let Some(directory) = open.pop() {
        // It may be gone by now.
        texts.extend(listed(&directory));
        open.extend(below(&directory).unwrap_or_default());
    }
    let lines = texts.iter().flat_map(|text| text.lines());
    Ok(lines.filter_map(|line| line.trim().parse().ok()).collect())
}

/// The directory below `mount` whose group, with all below it, has exactly these processes; none if they share one
/// with others. `has` chooses the hierarchy's line in /proc/PID/cgroup.
pub(super) fn group_of(
    root: &Root,
    mount: &Path,
    processes: &BTreeSet<u32>,
    has: impl Fn(&[String]) -> bool,
) -> Option<PathBuf> {
    let mut common: Option<PathBuf> = None;
    for process in processes {
        // It may have ended.
        let Ok(text) = root.read(format!("/proc/{process}/cgroup")) else { continue };
        let groups = process_groups(&text);
        let group = PathBuf::from(&groups.iter().find(|one| has(&one.controllers))?.group);
        common = Some(match common {
            None => group,
            Some(common) => shared(&common, &group),
        });
    }
    let common = common.filter(|path| path != Path::new("/"))?;
    let directory = mount.join(common.strip_prefix("/").ok()?);
    let found = members(root, &directory).ok()?;
    let is_alive = |process: &&u32| root.exists(format!("/proc/{process}"));
    let others = found.difference(processes).filter(is_alive).count();
    (others == 0).then_some(directory)
}

/// What two paths begin with.
fn shared(one: &Path, other: &Path) -> PathBuf {
    let parts = one.components().zip(other.components());
    parts.take_while(|(one, other)| one == other).map(|(part, _)| part).collect()
}
