//! Which files of a group say something else than those of a new group.

use assay_facts::owner;

use crate::conversion::systemd;
use crate::tree::Node;
use crate::value::{Bound, bandwidth, bound, weight};

/// What a file says in a new group.
#[derive(Clone, Copy)]
enum Default {
    Weight(u64),
    Unlimited,
    NoQuota,
    Empty,
    Zero,
}

/// Files that hold settings, with what they say in a new group. A set of CPUs on v1 has no default: it
/// is copied from the parent.
const FILES: [(&str, Default); 31] = [
    ("cpu.weight", Default::Weight(100)),
    ("cpu.shares", Default::Weight(1024)),
    ("cpu.max", Default::NoQuota),
    ("cpu.cfs_quota_us", Default::Unlimited),
    ("cpu.idle", Default::Zero),
    ("io.weight", Default::Weight(100)),
    ("io.bfq.weight", Default::Weight(100)),
    ("blkio.bfq.weight", Default::Weight(100)),
    ("blkio.bfq.weight_device", Default::Weight(100)),
    ("blkio.weight", Default::Weight(500)),
    ("io.max", Default::Empty),
    ("io.latency", Default::Empty),
    ("blkio.throttle.read_bps_device", Default::Empty),
    ("blkio.throttle.write_bps_device", Default::Empty),
    ("blkio.throttle.read_iops_device", Default::Empty),
    ("blkio.throttle.write_iops_device", Default::Empty),
    ("memory.min", Default::Zero),
    ("memory.low", Default::Zero),
    ("memory.high", Default::Unlimited),
    ("memory.max", Default::Unlimited),
    ("memory.swap.max", Default::Unlimited),
    ("memory.swap.high", Default::Unlimited),
    ("memory.zswap.max", Default::Unlimited),
    ("memory.limit_in_bytes", Default::Unlimited),
    ("memory.memsw.limit_in_bytes", Default::Unlimited),
    ("memory.soft_limit_in_bytes", Default::Unlimited),
    ("pids.max", Default::Unlimited),
    ("cpu.uclamp.min", Default::Zero),
    ("cpu.uclamp.max", Default::Unlimited),
    ("cpu.cfs_burst_us", Default::Zero),
    ("cpu.max.burst", Default::Zero),
];

/// Files whose changes are told: those that hold settings, and those that say which of them exist.
pub const WATCHED: [&str; 40] = [
    "blkio.bfq.weight",
    "blkio.bfq.weight_device",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.write_iops_device",
    "blkio.weight",
    "cgroup.pressure",
    "cgroup.subtree_control",
    "cgroup.type",
    "cpu.cfs_burst_us",
    "cpu.cfs_period_us",
    "cpu.cfs_quota_us",
    "cpu.idle",
    "cpu.max",
    "cpu.max.burst",
    "cpu.shares",
    "cpu.uclamp.max",
    "cpu.uclamp.min",
    "cpu.weight",
    "cpuset.cpus",
    "cpuset.cpus.partition",
    "cpuset.mems",
    "io.bfq.weight",
    "io.cost.model",
    "io.cost.qos",
    "io.latency",
    "io.max",
    "io.weight",
    "memory.high",
    "memory.limit_in_bytes",
    "memory.low",
    "memory.max",
    "memory.memsw.limit_in_bytes",
    "memory.min",
    "memory.soft_limit_in_bytes",
    "memory.swap.high",
    "memory.swap.max",
    "memory.zswap.max",
    "pids.max",
];

/// Whether a file of a group exists and differs from that of a new group. Idle groups read a weight of
/// their own, which nobody has set.
pub(crate) fn is_set(node: Node, file: &str) -> bool {
    if node.is_root() {
        return false;
    }
    let Some(text) = node.text(file) else { return false };
    if file == "cpuset.cpus" {
        return node.tree.hierarchy.is_v2 && !text.is_empty();
    }
    if file == "cpu.weight" && node.text("cpu.idle") == Some("1") {
        return false;
    }
    if file.starts_with("blkio.bfq.weight") && is_usual_of_systemd(node, text) {
        return false;
    }
    let default = FILES.iter().find(|(name, _)| *name == file).map(|(_, default)| *default);
    default.is_some_and(|default| !is_default(default, text))
}

/// On v1 systemd writes a weight for each unit beside one with `IOWeight=`: the usual one of 100, translated twice.
fn is_usual_of_systemd(node: Node, text: &str) -> bool {
    let is_usual = weight(text) == Some(systemd::blkio_bfq_weight(100));
    is_usual && text.lines().count() == 1 && is_unit(node.path())
}

/// Whether the last name of a path is that of a unit of systemd which has a group.
pub(crate) fn is_unit(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(owner::is_unit)
}

/// Whether a file of a new group says this.
pub(crate) fn is_of_new_group(file: &str, text: &str) -> bool {
    let default = FILES.iter().find(|(name, _)| *name == file).map(|(_, default)| *default);
    default.is_some_and(|default| is_default(default, text))
}

fn is_default(default: Default, text: &str) -> bool {
    match default {
        Default::Weight(one) => weight(text) == Some(one) && text.lines().count() == 1,
        Default::Unlimited => bound(text) == Some(Bound::None),
        Default::NoQuota => bandwidth(text).is_none_or(|(quota, _)| quota.is_none()),
        Default::Empty => text.is_empty(),
        Default::Zero => {
            text.trim_end_matches('0').trim_end_matches('.').is_empty() || text == "0.00"
        }
    }
}

/// The files of a group that are set.
pub(crate) fn settings(node: Node) -> impl Iterator<Item = &'static str> {
    let names = FILES.iter().map(|(name, _)| *name).chain(["cpuset.cpus"]);
    names.filter(move |name| is_set(node, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::tree::Tree;

    #[test]
    fn every_setting_is_watched() {
        for (file, _) in FILES {
            assert!(WATCHED.contains(&file), "{file}");
        }
        assert!(WATCHED.is_sorted());
    }

    #[test]
    fn in_a_container_the_top_is_a_group_like_others() {
        let top = Fake::v2().top("memory.max", "4096").snapshot();
        let first = |snapshot: &crate::Snapshot| {
            let tree = Tree::new(&snapshot.hierarchies[0]);
            settings(tree.top().unwrap()).count()
        };
        assert_eq!(first(&top), 0);
        let inside = Fake::v2().top("memory.max", "4096").change(|snapshot| {
            snapshot.hierarchies[0].is_whole = false;
        });
        assert_eq!(first(&inside.snapshot()), 1);
    }

    /// As systemd 252 leaves every unit on v1 where one has `IOWeight=` (crates/audit/tests/fixtures/systemd-252-v1).
    #[test]
    fn the_usual_weight_of_a_unit_on_v1_is_no_setting() {
        let count = |path: &str, weight: &str, device: &str| {
            let files = [("blkio.bfq.weight", weight), ("blkio.bfq.weight_device", device)];
            let snapshot = Fake::v1("io").group(path, &files).snapshot();
            let tree = Tree::new(&snapshot.hierarchies[0]);
            tree.nodes().map(|node| settings(node).count()).sum::<usize>()
        };
        assert_eq!(count("/web.slice", "136", "default 136"), 0);
        assert_eq!(count("/web.slice", "136", "default 136\n8:0 200"), 1);
        assert_eq!(count("/web.slice", "181", "default 181"), 2);
        assert_eq!(count("/web", "136", "default 136"), 2);
    }

    #[test]
    fn a_new_group_has_no_settings() {
        let new = [
            ("cpu.weight", "100"),
            ("cpu.max", "max 100000"),
            ("io.weight", "default 100"),
            ("memory.low", "0"),
            ("memory.limit_in_bytes", "9223372036854771712"),
            ("cpu.uclamp.min", "0.00"),
            ("cpuset.cpus", ""),
            ("blkio.bfq.weight_device", "default 100"),
            ("io.max", ""),
        ];
        let set = [
            ("cpu.weight", "200"),
            ("cpu.max", "50000 100000"),
            ("io.weight", "default 100\n8:0 200"),
            ("memory.low", "4096"),
            ("memory.limit_in_bytes", "67108864"),
            ("cpu.uclamp.min", "10.00"),
            ("cpuset.cpus", "0"),
            ("io.max", "8:0 rbps=1"),
        ];
        let idle = [("cpu.weight", "1"), ("cpu.idle", "1")];
        let snapshot =
            Fake::v2().group("/new", &new).group("/set", &set).group("/idle", &idle).snapshot();
        let tree = Tree::new(&snapshot.hierarchies[0]);
        let counts: Vec<usize> = tree.nodes().map(|node| settings(node).count()).collect();
        assert_eq!(counts, [0, 0, set.len(), 1]);
    }
}
