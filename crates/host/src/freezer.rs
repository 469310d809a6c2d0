//! Processes that a cgroup v1 freezer prevents from dying.

use std::path::PathBuf;

use assay_sys::kernel::parse::mountinfo;
use assay_sys::kernel::{Root, blocked, process};

/// A process in a freezer group of someone else.
struct Frozen {
    /// The group as named in the process's cgroup file, `/lxc/7`.
    group: String,
    /// Whether the group is confirmed to be frozen. A group outside the mounts visible here, as from
    /// inside a container, cannot be inspected.
    is_certain: bool,
}

/// The freezer group of a process that is blocked in the kernel; the root group is never frozen.
fn frozen(root: &Root, pid: u32) -> Option<Frozen> {
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

/// Whether the process is in a freezer group that is confirmed to be frozen, so that waiting for its
/// end is pointless.
#[must_use]
pub fn is_frozen(root: &Root, pid: u32) -> bool {
    frozen(root, pid).is_some_and(|freezer| freezer.is_certain)
}

/// Describes what keeps a process from dying, as far as it is visible from outside.
#[must_use]
pub fn describe_survivor(root: &Root, pid: u32) -> String {
    let name = root.read_trimmed(format!("/proc/{pid}/comm")).unwrap_or_default();
    let waits = blocked::describe(root, pid);
    let who = format!("{pid} ({}): {waits}", name.escape_debug());
    match frozen(root, pid) {
        // A group that someone else has frozen is not Assay's to thaw.
        Some(Frozen { group, .. }) => format!(
            "{who}, in the freezer group {group}: if it is frozen, write THAWED to its \
             freezer.state"
        ),
        None if waits.contains("state D") => {
            format!(
                "{who}, blocked in the kernel on a device or a file system: see /proc/{pid}/stack"
            )
        }
        None => who,
    }
}
