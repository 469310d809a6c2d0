//! Other settings of I/O: targets of latency, limits of v1, and writeback.

use std::collections::HashMap;

use assay_host::facts::owner::unit_of_system;
use assay_host::knob::field;

use crate::disks::MOST_NAMED;
use crate::finding::Class;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::snapshot::Disk;
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-LATENCY-STACKED",
        class: Class::NoEffect,
        condition: "`io.latency` has a line for a device with `slaves` and no scheduler of its own (not multipath)",
        versions: "v2, Linux 4.19",
        meaning: "the kernel accepts the target and never acts on it",
        remedy: "set the target for the disk below",
        source: "block/blk-iolatency.c; rq_qos hooks only in block/blk-mq.c; drivers/md/dm-mpath.c (DM_TYPE_REQUEST_BASED)",
        find: Find::Each(Scope::V2Of("io"), latency_stacked),
    },
    Rule {
        code: "A-LATENCY-ALONE",
        class: Class::NotNow,
        condition: "`io.latency` is set, and no sibling with threads has a higher target, or none, for the device",
        versions: "v2, Linux 4.19",
        meaning: "a target holds back siblings with a higher one, and there is none",
        remedy: "set the target where the competitors are, on a group above",
        source: "block/blk-iolatency.c; cgroup-v2.rst, \"IO Latency\"",
        find: Find::Host(latency_alone),
    },
    Rule {
        code: "A-FLAT-V1",
        class: Class::Weakened,
        condition: "a file `blkio.throttle.*_device` is set on a group of which only groups below have threads",
        versions: "v1",
        meaning: "throttling on v1 binds a group's own processes and is not inherited",
        remedy: "set the limit on the groups below",
        source: "block/blk-throttle.c (throtl_pd_init: parent_sq only on cgroup2)",
        find: Find::Each(Scope::V1Of("io"), flat),
    },
    Rule {
        code: "A-IO-NO-MEMORY",
        class: Class::Weakened,
        condition: "a setting of I/O stands on a group whose parent's `cgroup.subtree_control` names io and not memory",
        versions: "v2",
        meaning: "buffered writes are charged to the nearest group above that has memory, and to its settings of I/O",
        remedy: "enable memory beside io: echo +memory > cgroup.subtree_control of the parent",
        source: "cgroup-v2.rst, \"Writeback\"",
        find: Find::Each(Scope::V2Of("io"), io_without_memory),
    },
    Rule {
        code: "A-PRIORITY",
        class: Class::NoEffect,
        condition: "`io.prio.class`, `blkio.prio.class`, or `IOSchedulingClass=` of the group's unit is set, and no disk of the group, or \
                    none of the machine where those are unknown, has the scheduler bfq or mq-deadline",
        versions: "v1 and v2, Linux 5.14",
        meaning: "only bfq and mq-deadline read priorities of I/O",
        remedy: "echo mq-deadline > /sys/block/DISK/queue/scheduler",
        source: "block/ioprio.rst; block/mq-deadline.c (dd_prio); block/blk-ioprio.c",
        find: Find::Each(Scope::Of("io"), priority),
    },
];

/// Which class of I/O requests of a group have.
pub const PRIORITY: [&str; 2] = ["io.prio.class", "blkio.prio.class"];

fn priority(host: &Host, node: Node) -> Option<Found> {
    const KEY: &str = "IOSchedulingClass=";
    let unit = || {
        let (path, unit) = (node.path(), unit_of_system(node.path())?);
        let own = path.ends_with(unit).then(|| host.snapshot.units.get(unit))??;
        let last =
            own.iter().flat_map(|file| &file.settings).rfind(|line| line.starts_with(KEY))?;
        (last.len() > KEY.len()).then_some(last.as_str())
    };
    let file = node.first_set(&PRIORITY);
    let what = file.map(|file| format!("{file} {}", node.text(file).unwrap_or_default()));
    let what = what.or_else(|| unit().map(str::to_owned))?;
    let used = host.used(node);
    let mut disks: Vec<&Disk> = used.disks.iter().flat_map(|disk| host.bottom(disk)).collect();
    if disks.is_empty() {
        disks = host.usable().collect();
    }
    let reads = |disk: &&Disk| matches!(disk.scheduler(), Some("bfq" | "mq-deadline") | None);
    let first = disks.first().filter(|_| !disks.iter().any(reads))?;
    let names: Vec<&str> = disks.iter().take(MOST_NAMED).map(|disk| disk.name.as_str()).collect();
    let sentence =
        format!("{what} does nothing on {}: its scheduler reads no priorities", names.join(", "));
    let found = Found::new(node, file.as_slice(), sentence);
    Some(found.and_all(used.reading).and(first.reading()))
}

const THROTTLE: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

fn latency_stacked(host: &Host, node: Node) -> Option<Found> {
    let devices = node.device_lines("io.latency");
    let mut disks = devices.filter_map(|(device, _)| host.disk(device));
    let disk = disks.find(|disk| disk.is_stacked())?;
    let sentence = format!("io.latency on {} is accepted and does nothing", disk.name);
    Some(Found::new(node, &["io.latency"], sentence).and(disk.slaves_reading()))
}

fn latency_alone(host: &Host) -> Vec<Found> {
    let levels = host.groups(Scope::V2Of("io")).map(|node| (node, Targets::below(node)));
    levels
        .flat_map(|(node, targets)| {
            node.children().filter_map(|child| targets.alone(child)).collect::<Vec<_>>()
        })
        .collect()
}

/// The targets of the busy groups of one level: how many have one for a device, and the highest.
struct Targets<'h> {
    busy: usize,
    by_device: HashMap<&'h str, (usize, u64)>,
}

impl<'h> Targets<'h> {
    fn below(parent: Node<'h>) -> Self {
        let (mut busy, mut by_device) = (0, HashMap::new());
        for child in parent.children().filter(|child| child.is_populated()) {
            busy += 1;
            for (device, target) in targets(child) {
                let (number, highest): &mut (usize, u64) = by_device.entry(device).or_default();
                *number += 1;
                *highest = target.max(*highest);
            }
        }
        Self { busy, by_device }
    }

    /// A group whose target holds back none of its siblings: each that is busy has one for the device, and no higher one.
    fn alone(&self, node: Node) -> Option<Found> {
        let (device, _) = node.device_lines("io.latency").next()?;
        let own = *targets(node).get(device)?;
        let (number, highest) = self.by_device.get(device).copied().unwrap_or_default();
        if number < self.busy || highest > own {
            return None;
        }
        let sentence = format!(
            "io.latency of {device} holds nobody back: no busy sibling has a higher target"
        );
        Some(Found::new(node, &["io.latency"], sentence))
    }
}

/// The targets of a group by device.
fn targets(node: Node<'_>) -> HashMap<&str, u64> {
    let lines = node.device_lines("io.latency");
    let targets =
        lines.filter_map(|(device, line)| Some((device, field(line, "target")?.parse().ok()?)));
    targets.collect()
}

fn flat(_: &Host, node: Node) -> Option<Found> {
    let file = node.first_set(&THROTTLE)?;
    let below = node.children().filter(|child| child.threads_below().is_some_and(|all| all > 0));
    let count = below.count();
    if node.threads()? > 0 || count == 0 {
        return None;
    }
    let sentence = format!(
        "{file} binds only the group's own processes, of which there are none, not {count} groups below"
    );
    Some(Found::new(node, &[file, "tasks"], sentence))
}

fn io_without_memory(_: &Host, node: Node) -> Option<Found> {
    const ENABLED: &str = "cgroup.subtree_control";
    let file = node.first_set(&["io.max", "io.weight", "io.bfq.weight"])?;
    let above = node.parent().filter(|_| node.tree.serves("memory"))?;
    let sentence =
        format!("buffered writes are charged to {}: memory is not enabled beside io", above.path());
    (above.lists(ENABLED, "io")? && !above.lists(ENABLED, "memory")?)
        .then(|| Found::new(node, &[file], sentence).and(above.reading(ENABLED)))
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    #[test]
    fn a_target_on_a_stacked_device_does_nothing() {
        let host = |device: &str| {
            let target = format!("{device} target=10000");
            Fake::v2()
                .disk("sda", "8:0", "[none]")
                .stacked("dm-0", "253:0", &["sda"])
                .group("/g", &[("io.latency", &target)])
        };
        assert!(host("253:0").only("A-LATENCY-STACKED").sentence.contains("dm-0"));
        host("8:0").silent("A-LATENCY-STACKED");
    }

    #[test]
    fn a_target_needs_a_sibling_with_a_higher_one() {
        let host = |other: &str, threads: u64| {
            Fake::v2().group("/g", &[("io.latency", "8:0 target=10000")]).group_of(
                "/h",
                threads,
                &[("io.latency", other)],
            )
        };
        let alone = |fake: Fake| fake.codes().contains(&("A-LATENCY-ALONE", "/g".to_owned()));
        assert!(alone(host("8:0 target=10000", 1)) && alone(host("", 0)));
        assert!(!alone(host("", 1)) && !alone(host("8:0 target=20000", 1)));
    }

    /// ublue-os/bazzite#4375.
    #[test]
    fn a_class_of_io_needs_a_scheduler_that_reads_it() {
        let host = |scheduler: &str, class: &str, unit: &[&str]| {
            let stat = ("io.stat", "8:0 rbytes=4096 wbytes=0");
            let host = Fake::v2().disk("sda", "8:0", scheduler).disk("sdb", "8:16", "[bfq]");
            let host = host.group_of("/system.slice", 0, &[]);
            host.group("/system.slice/a.service", &[("io.prio.class", class), stat])
                .unit("a.service", unit)
        };
        let found = host("[none] mq-deadline", "idle", &[]).only("A-PRIORITY");
        assert!(found.sentence.starts_with("io.prio.class idle does nothing on sda"), "{found:?}");
        let unit = ["IOSchedulingClass=idle"];
        let found = host("[none]", "no-change", &unit).only("A-PRIORITY");
        assert!(found.sentence.starts_with("IOSchedulingClass=idle does nothing"), "{found:?}");
        host("none [mq-deadline]", "idle", &unit).silent("A-PRIORITY");
        host("[none]", "no-change", &[]).silent("A-PRIORITY");
    }

    #[test]
    fn a_limit_of_v1_does_not_reach_groups_below() {
        let host = |own: u64| {
            let limit = [("blkio.throttle.read_bps_device", "8:0 1048576")];
            Fake::v1("io").group_of("/p", own, &limit).group("/p/a", &[]).group_of("/p/b", 0, &[])
        };
        assert!(host(0).only("A-FLAT-V1").sentence.contains("not 1 groups below"));
        host(1).silent("A-FLAT-V1");
    }

    #[test]
    fn without_memory_buffered_writes_belong_to_the_group_above() {
        let host = |enabled: &str| {
            Fake::v2()
                .group("/p", &[("cgroup.subtree_control", enabled)])
                .group("/p/g", &[("io.max", "8:0 wbps=1048576")])
        };
        assert!(host("io pids").only("A-IO-NO-MEMORY").sentence.contains("charged to /p"));
        host("io memory").silent("A-IO-NO-MEMORY");
    }
}
