//! A group for what runs outside of the run's groups, so that it ends with them all the same.
//!
//! It has no knobs and no controllers of its own: it is made inside the group that Assay itself sits
//! in, so that what is in there counts where Assay counts. One hierarchy is enough to find all
//! processes again.

use std::path::{Path, PathBuf};

use assay_facts::Home;
use assay_host::Ledger;
use assay_kernel::parse::mountinfo::{self, Mount};
use assay_kernel::parse::{cgroups, cgroups::Place};
use assay_kernel::{Error, Root};

/// Hierarchies of cgroup v1 whose new groups take processes as they are, the first the best.
const PLAIN: [&str; 6] = ["name=systemd", "pids", "freezer", "cpuacct", "blkio", "cpu"];

/// Makes it; where Assay may make none in its own group, beside the run's top group.
pub(crate) fn make(
    root: &Root,
    ledger: &mut Ledger,
    homes: &[Home],
    name: &str,
) -> Result<PathBuf, Error> {
    let mounts = mountinfo::parse(&root.read("/proc/self/mountinfo")?);
    let places = cgroups::places(&root.read("/proc/self/cgroup")?);
    let beside = homes.iter().map(|home| home.base.clone());
    let mut result = Err(Error::unexpected(
        "make a group for what runs outside, in",
        Path::new("/proc/self/cgroup"),
        "no hierarchy of control groups is mounted here",
    ));
    for place in own(&places, &mounts).into_iter().chain(beside) {
        let group = place.join(name);
        result = ledger.make_group(root, &group).map(|()| group);
        if result.is_ok() {
            break;
        }
    }
    result.map_err(|error| {
        error.with_hint(
            "what runs outside has a group all the same, so that it ends with the run however that \
             ends: without root, start Assay in a group of your own, `systemd-run --user --scope -p \
             Delegate=yes assay ...`, or leave `outside` away",
        )
    })
}

/// The directories of the groups that this process sits in, as far as they are mounted.
fn own(places: &[Place], mounts: &[Mount]) -> Vec<PathBuf> {
    let v2 = places.iter().find(|place| place.controllers.is_empty());
    let v2 = v2.and_then(|place| {
        let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
        directory(mount, &place.group)
    });
    let v1 = PLAIN.iter().filter_map(|controller| {
        let place =
            places.iter().find(|place| place.controllers.iter().any(|c| c == controller))?;
        // A hierarchy with a cpuset in it wants its CPUs before it takes anybody.
        if place.controllers.iter().any(|name| name == "cpuset") {
            return None;
        }
        let mount = mounts.iter().find(|mount| mount.is_v1_of(controller))?;
        directory(mount, &place.group)
    });
    v2.into_iter().chain(v1).collect()
}

/// A group below a mount, of which a container may see a part only.
fn directory(mount: &Mount, group: &str) -> Option<PathBuf> {
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    let found = mount.target.join(below);
    // Joining nothing would leave a slash at the end.
    Some(if below.as_os_str().is_empty() { mount.target.clone() } else { found })
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
    fn it_is_inside_the_group_of_assay_itself_on_v2_first() {
        let mounts = mountinfo::parse(MOUNTS);
        let places = cgroups::places("3:cpuset:/x\n2:name=systemd:/user.slice\n0::/a/b\n");
        let found = own(&places, &mounts);
        let wanted = ["/sys/fs/cgroup/unified/a/b", "/sys/fs/cgroup/systemd/user.slice"];
        assert_eq!(found, wanted.map(PathBuf::from));
        let places = cgroups::places("0::/\n");
        assert_eq!(own(&places, &mounts), [PathBuf::from("/sys/fs/cgroup/unified")]);
        assert!(own(&[], &mounts).is_empty());
    }
}
