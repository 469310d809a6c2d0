//! Which files of a group say something else than those of a new group.

use assay_facts::owner;
use assay_knob::is_of_new_group;

use crate::conversion::systemd;
use crate::tree::Node;
use crate::value::weight;

/// Files that hold settings, in the order in which findings name them. What they say in a new group is in the table of interface files; a set of
/// CPUs on v1 is copied from the parent.
const FILES: [&str; 31] = [
    "cpu.weight",
    "cpu.shares",
    "cpu.max",
    "cpu.cfs_quota_us",
    "cpu.idle",
    "io.weight",
    "io.bfq.weight",
    "blkio.bfq.weight",
    "blkio.bfq.weight_device",
    "io.max",
    "io.latency",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.max",
    "memory.swap.max",
    "memory.swap.high",
    "memory.zswap.max",
    "memory.limit_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.soft_limit_in_bytes",
    "pids.max",
    "cpu.uclamp.min",
    "cpu.uclamp.max",
    "cpu.cfs_burst_us",
    "cpu.max.burst",
    "cpuset.cpus",
];

/// Files whose changes are told: those that hold settings, and those that say which of them exist.
pub const WATCHED: [&str; 39] = [
    "blkio.bfq.weight",
    "blkio.bfq.weight_device",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.write_iops_device",
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
    FILES.contains(&file) && is_of_new_group(file, text) == Some(false)
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

/// The files of a group that are set.
pub(crate) fn settings(node: Node) -> impl Iterator<Item = &'static str> {
    FILES.into_iter().filter(move |name| is_set(node, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::tree::Tree;

    #[test]
    fn every_setting_is_watched() {
        for file in FILES {
            assert!(WATCHED.contains(&file), "{file}");
            assert!(assay_knob::find(file).is_some_and(|knob| knob.default().is_some()), "{file}");
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
