//! What the groups of a host were told, for what compares it with what they got.

use assay_facts::owner::Owner;
use serde::Serialize;

use crate::finding::Reading;
use crate::owner;
use crate::rule::Host;
use crate::snapshot::Snapshot;

/// The weight of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightSetting {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with the weight.
    pub reading: Reading,
    /// The weight in the scheduler's unit, in which a new group has 1024.
    pub weight: f64,
}

/// The weights of CPU of all groups that have one, parents before children.
#[must_use]
pub fn cpu_weights(snapshot: &Snapshot) -> Vec<WeightSetting> {
    let host = Host::new(snapshot);
    let Some(tree) = host.tree_of("cpu") else { return Vec::new() };
    let nodes = tree.nodes().filter(|node| !node.is_top());
    nodes
        .filter_map(|node| {
            Some(WeightSetting {
                group: node.path().to_owned(),
                owner: owner::named(snapshot, node.path()),
                reading: node.reading(node.weight_file()),
                weight: node.cpu_shares()?,
            })
        })
        .collect()
}

/// The groups of the hierarchy of cpu, without the top, parents before children.
#[must_use]
pub fn cpu_groups(snapshot: &Snapshot) -> Vec<String> {
    let host = Host::new(snapshot);
    let Some(tree) = host.tree_of("cpu") else { return Vec::new() };
    let nodes = tree.nodes().filter(|node| !node.is_top());
    nodes.map(|node| node.path().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn weights_are_in_one_unit_and_rest_on_their_files() {
        let v2 = Fake::v2()
            .group("/a", &[("cpu.weight", "300")])
            .group("/a/b", &[])
            .group("/c", &[("cpu.weight", "0"), ("cpu.idle", "1")])
            .snapshot();
        let found = cpu_weights(&v2);
        let weights: Vec<(&str, f64)> =
            found.iter().map(|one| (one.group.as_str(), one.weight)).collect();
        assert_eq!(weights, [("/a", 3072.0), ("/c", 3.0)]);
        assert_eq!(found[0].reading.file, "/sys/fs/cgroup/a/cpu.weight");
        assert_eq!(cpu_groups(&v2), ["/a", "/a/b", "/c"]);
        let v1 = Fake::v1("cpu").group("/a", &[("cpu.shares", "512")]).snapshot();
        assert_eq!(cpu_weights(&v1)[0].weight, 512.0);
    }
}
