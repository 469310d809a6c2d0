//! Disks that are divided by weights, and the weights that hold on each of them.

use assay_host::knob::weight_on;
use serde::Serialize;

use crate::finding::Reading;
use crate::host::{Host, Scope};
use crate::snapshot::{Disk, Snapshot};
use crate::tree::Node;
use crate::watched::WeightSetting;

/// What divides a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DividedBy {
    /// BFQ, which counts sectors.
    Bfq,
    /// `io.cost`, which counts the time that a request is expected to take.
    IoCost,
}

/// A disk that obeys weights.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskSetting {
    /// The kernel's name.
    pub name: String,
    /// Its numbers, `8:0`.
    pub device: String,
    /// What divides it.
    pub by: DividedBy,
    /// The file that says so.
    pub reading: Reading,
    /// The weights of the groups, parents before children.
    pub weights: Vec<WeightSetting>,
}

/// The disks that are divided by weights.
#[must_use]
pub fn weighted_disks(snapshot: &Snapshot) -> Vec<DiskSetting> {
    let host = Host::new(snapshot);
    let by_weight = |disk: &Disk| match disk.scheduler() {
        Some("bfq") => Some((DividedBy::Bfq, disk.reading())),
        _ => host.iocost(disk).map(|reading| (DividedBy::IoCost, reading)),
    };
    let disks = host.usable().filter_map(|disk| Some((disk, by_weight(disk)?)));
    disks
        .map(|(disk, (by, reading))| DiskSetting {
            name: disk.name.clone(),
            device: disk.device.clone(),
            by,
            reading,
            weights: weights(&host, disk, by),
        })
        .collect()
}

fn weights(host: &Host, disk: &Disk, by: DividedBy) -> Vec<WeightSetting> {
    let nodes = host.groups(Scope::Of("io")).filter(|node| !node.is_top());
    nodes
        .filter_map(|node| {
            let (file, weight) = weight_of(node, disk, by)?;
            Some(WeightSetting::new(host, node, file, weight as f64))
        })
        .collect()
}

/// The weight of a group on a disk, which may have a line of its own.
fn weight_of(node: Node, disk: &Disk, by: DividedBy) -> Option<(&'static str, u64)> {
    let files: &[&str] = match by {
        DividedBy::Bfq => {
            &["io.bfq.weight", "blkio.bfq.weight_device", "blkio.bfq.weight", "io.weight"]
        }
        DividedBy::IoCost => &["io.weight"],
    };
    files.iter().find_map(|file| Some((*file, weight_on(node.text(file)?, &disk.device)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn a_disk_under_bfq_has_the_weights_of_its_groups() {
        let snapshot = Fake::v2()
            .disk("sda", "8:0", "mq-deadline [bfq] none")
            .disk("sdb", "8:16", "[none]")
            .group("/a", &[("io.bfq.weight", "default 200\n8:0 300")])
            .group("/b", &[("io.bfq.weight", "default 50")])
            .group("/c", &[])
            .snapshot();
        let found = weighted_disks(&snapshot);
        assert_eq!((found.len(), found[0].by), (1, DividedBy::Bfq));
        let weights: Vec<f64> = found[0].weights.iter().map(|one| one.weight).collect();
        assert_eq!(weights, [300.0, 50.0]);
    }

    #[test]
    fn a_disk_under_iocost_has_them_of_its_own_file() {
        let snapshot = Fake::v2()
            .disk("sda", "8:0", "[none]")
            .top("io.cost.qos", "8:0 enable=1 ctrl=auto")
            .group("/a", &[("io.weight", "default 200")])
            .snapshot();
        let found = weighted_disks(&snapshot);
        assert_eq!((found[0].by, found[0].weights[0].weight), (DividedBy::IoCost, 200.0));
    }
}
