//! What the groups of a host were told, for what compares it with what they got.

use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::finding::Reading;
use crate::host::{Host, Scope};
use crate::owner;
use crate::snapshot::Snapshot;
use crate::tree::Node;

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
    let nodes = host.groups(Scope::Of("cpu")).filter(|node| !node.is_top());
    let setting =
        |node: Node| Some(WeightSetting::new(&host, node, node.weight_file(), node.cpu_shares()?));
    nodes.filter_map(setting).collect()
}

/// The groups of the hierarchy of a controller, without the top, parents before children.
#[must_use]
pub fn groups_of(snapshot: &Snapshot, controller: &'static str) -> Vec<String> {
    let host = Host::new(snapshot);
    let nodes = host.groups(Scope::Of(controller)).filter(|node| !node.is_top());
    nodes.map(|node| node.path().to_owned()).collect()
}

impl WeightSetting {
    /// The weight in a file of a group.
    pub(crate) fn new(host: &Host, node: Node, file: &str, weight: f64) -> Self {
        Self {
            group: node.path().to_owned(),
            owner: owner::named(host.snapshot, node.path()),
            reading: node.reading(file),
            weight,
        }
    }
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
        assert_eq!(groups_of(&v2, "cpu"), ["/a", "/a/b", "/c"]);
        let v1 = Fake::v1("cpu").group("/a", &[("cpu.shares", "512")]).snapshot();
        assert_eq!(cpu_weights(&v1)[0].weight, 512.0);
    }
}
