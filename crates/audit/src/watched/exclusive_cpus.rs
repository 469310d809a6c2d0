//! CPUs that a group was given for itself: a set that none of its siblings overlaps, and smaller than that of the group above.

use std::collections::HashMap;

use assay_host::facts::owner::Owner;
use assay_sys::units::CpuSet;
use serde::Serialize;

use crate::finding::Reading;
use crate::host::Host;
use crate::owner;
use crate::snapshot::Snapshot;
use crate::tree::{Node, Tree};

/// A set of CPUs of a group's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnSet {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with the set.
    pub reading: Reading,
    /// The CPUs.
    pub cpus: Vec<u16>,
}

/// The sets of CPUs that populated groups have for themselves.
#[must_use]
pub fn own_sets(snapshot: &Snapshot) -> Vec<OwnSet> {
    let host = Host::new(snapshot);
    let Some(tree) = host.tree_of("cpuset") else { return Vec::new() };
    let users = users(tree);
    let nodes = tree.nodes().filter(|node| !node.is_top() && node.is_populated());
    nodes.filter_map(|node| own_set(snapshot, &users, node)).collect()
}

/// How many children of a group have a CPU in their sets. A user may make thousands of groups, which are not compared one by one.
type Users = HashMap<(usize, u16), usize>;

fn users(tree: &Tree) -> Users {
    let mut users = Users::new();
    for node in tree.nodes() {
        let Some((above, set)) = node.parent().zip(set(node)) else { continue };
        set.iter().for_each(|cpu| *users.entry((above.index(), cpu)).or_default() += 1);
    }
    users
}

fn own_set(snapshot: &Snapshot, users: &Users, node: Node) -> Option<OwnSet> {
    let own = set(node)?;
    let above = node.parent()?;
    let mut whole = effective(above).or_else(|| set(above))?;
    if let Some(held) = effective(node) {
        if !held.iter().any(|cpu| own.contains(cpu)) {
            return None;
        }
        // The kernel takes the CPUs of a valid partition away from the group above.
        whole = whole.iter().chain(held.iter()).collect();
    }
    let is_shared = |cpu| users.get(&(above.index(), cpu)).is_some_and(|number| *number > 1);
    if own.len() >= whole.len() || own.iter().any(is_shared) {
        return None;
    }
    Some(OwnSet {
        group: node.path().to_owned(),
        owner: owner::named(snapshot, node.path()),
        reading: node.reading("cpuset.cpus"),
        cpus: own.iter().collect(),
    })
}

fn set(node: Node) -> Option<CpuSet> {
    let set: CpuSet = node.text("cpuset.cpus")?.parse().ok()?;
    (!set.is_empty()).then_some(set)
}

fn effective(node: Node) -> Option<CpuSet> {
    let files = ["cpuset.cpus.effective", "cpuset.effective_cpus"].into_iter();
    files.filter_map(|file| node.text(file)?.parse().ok()).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn a_set_is_of_its_own_if_no_sibling_overlaps_it() {
        let snapshot = Fake::v2()
            .top("cpuset.cpus.effective", "0-7")
            .group("/a", &[("cpuset.cpus", "2-3")])
            .group("/b", &[("cpuset.cpus", "4-5")])
            .group("/c", &[("cpuset.cpus", "5-6")])
            .group("/d", &[("cpuset.cpus", "")])
            .group_of("/e", 0, &[("cpuset.cpus", "7")])
            .snapshot();
        let found: Vec<(String, Vec<u16>)> =
            own_sets(&snapshot).into_iter().map(|one| (one.group, one.cpus)).collect();
        assert_eq!(found, [("/a".to_owned(), vec![2, 3])]);
        let whole = Fake::v2()
            .top("cpuset.cpus.effective", "0-7")
            .group("/a", &[("cpuset.cpus", "0-7")])
            .snapshot();
        assert!(own_sets(&whole).is_empty());
    }

    /// The kernel takes the CPUs of a valid partition out of the set of the group above.
    #[test]
    fn a_partition_of_half_the_machine_is_a_set_of_its_own() {
        let host = |effective: &str| {
            let files = [("cpuset.cpus", "4-7"), ("cpuset.cpus.effective", effective)];
            let fake = Fake::v2().top("cpuset.cpus.effective", "0-3").group("/rt.slice", &files);
            own_sets(&fake.snapshot()).len()
        };
        assert_eq!((host("4-7"), host("0-3")), (1, 0));
    }
}
