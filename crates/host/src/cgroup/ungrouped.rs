//! A group for workloads outside of the run's groups, so that they end with the run too.
//!
//! It has no knobs and no controllers of its own: it is created inside the group of Assay itself, so
//! that its usage counts as Assay's does. One hierarchy is enough to find all processes again.

use std::path::{Path, PathBuf};

use crate::Ledger;
use crate::facts::UsedHierarchy;
use assay_sys::kernel::parse::mountinfo::{self, Mount};
use assay_sys::kernel::parse::{cgroups, cgroups::ProcessGroup};
use assay_sys::kernel::{Error, Root};

/// cgroup v1 hierarchies whose new groups accept processes without set-up, in order of preference.
const PLAIN: [&str; 6] = ["name=systemd", "pids", "freezer", "cpuacct", "blkio", "cpu"];

/// Creates it; where Assay may not create one in its own group, beside the run's top group.
pub(crate) fn make(
    root: &Root,
    ledger: &mut Ledger,
    hierarchies: &[UsedHierarchy],
    name: &str,
) -> Result<PathBuf, Error> {
    let mounts = mountinfo::parse(&root.read("/proc/self/mountinfo")?);
    let own_groups = cgroups::process_groups(&root.read("/proc/self/cgroup")?);
    let beside = hierarchies.iter().map(|hierarchy| hierarchy.base.clone());
    let mut result = Err(Error::unexpected(
        "create a group for ungrouped workloads in",
        Path::new("/proc/self/cgroup"),
        "no cgroup hierarchy is mounted here",
    ));
    for parent in own(&own_groups, &mounts).into_iter().chain(beside) {
        let group = parent.join(name);
        result = ledger.make_group(root, &group).map(|()| group);
        if result.is_ok() {
            break;
        }
    }
    result.map_err(|error| {
        error.with_hint(
            "ungrouped workloads need a group too, so that they end with the run however that \
             ends: without root, start Assay in a group of your own, `systemd-run --user --scope -p \
             Delegate=yes assay ...`, or leave out `outside`",
        )
    })
}

/// The directories of the groups of this process, as far as they are mounted.
fn own(own_groups: &[ProcessGroup], mounts: &[Mount]) -> Vec<PathBuf> {
    let v2 = own_groups.iter().find(|group| group.controllers.is_empty());
    let v2 = v2.and_then(|group| {
        let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
        directory(mount, &group.group)
    });
    let v1 = PLAIN.iter().filter_map(|controller| {
        let group =
            own_groups.iter().find(|group| group.controllers.iter().any(|c| c == controller))?;
        // A hierarchy with a cpuset needs CPUs before it accepts processes.
        if group.controllers.iter().any(|name| name == "cpuset") {
            return None;
        }
        let mount = mounts.iter().find(|mount| mount.is_v1_of(controller))?;
        directory(mount, &group.group)
    });
    v2.into_iter().chain(v1).collect()
}

/// A group below a mount; in a container the mount may show only a part of the hierarchy.
fn directory(mount: &Mount, group: &str) -> Option<PathBuf> {
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    let directory = mount.target.join(below);
    // Joining an empty path would leave a trailing slash.
    Some(if below.as_os_str().is_empty() { mount.target.clone() } else { directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
31 25 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
32 25 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
33 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    #[test]
    fn the_group_of_assay_itself_is_preferred_on_v2_first() {
        let mounts = mountinfo::parse(MOUNTS);
        let groups = cgroups::process_groups("3:cpuset:/x\n2:name=systemd:/user.slice\n0::/a/b\n");
        let directories = own(&groups, &mounts);
        let expected = ["/sys/fs/cgroup/unified/a/b", "/sys/fs/cgroup/systemd/user.slice"];
        assert_eq!(directories, expected.map(PathBuf::from));
        let groups = cgroups::process_groups("0::/\n");
        assert_eq!(own(&groups, &mounts), [PathBuf::from("/sys/fs/cgroup/unified")]);
        assert!(own(&[], &mounts).is_empty());
    }
}
