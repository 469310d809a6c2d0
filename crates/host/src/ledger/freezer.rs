//! Processes that a cgroup v1 freezer prevents from dying.

use std::path::PathBuf;

use assay_kernel::parse::mountinfo;
use assay_kernel::{Root, process};

/// A process in a freezer group of someone else.
pub(super) struct Frozen {
    /// The group as named in the process's cgroup file, `/lxc/7`.
    pub(super) group: String,
    /// Whether the group is confirmed to be frozen. A group outside the mounts visible here, as from
    /// inside a container, cannot be inspected.
    pub(super) is_certain: bool,
}

/// The freezer group of a process that is blocked in the kernel; the root group is never frozen.
pub(super) fn frozen(root: &Root, pid: u32) -> Option<Frozen> {
    if process::state(root, pid) != Some('D') {
        return None;
    }
    let groups = root.read(format!("/proc/{pid}/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| Some(line.split_once(":freezer:")?.1))?;
    if group == "/" {
        return None;
    }
    let state = hierarchy(root).map(|mount| mount.join(&group[1..]).join("freezer.state"));
    let state = state.and_then(|path| root.read_trimmed(path).ok());
    Some(Frozen { group: group.to_owned(), is_certain: state.as_deref() == Some("FROZEN") })
}

fn hierarchy(root: &Root) -> Option<PathBuf> {
    let mounts = mountinfo::parse(&root.read("/proc/self/mountinfo").ok()?);
    mounts.into_iter().find(|mount| mount.is_v1_of("freezer")).map(|mount| mount.target)
}
