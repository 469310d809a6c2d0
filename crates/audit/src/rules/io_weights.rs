//! Weights of I/O: which of the two mechanisms divides a disk, and which file it reads.

use std::collections::HashSet;
use std::rc::Rc;

use crate::disks::{MOST_NAMED, names, with_schedulers};
use crate::finding::{Class, Reading};
use crate::host::COSTS;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::snapshot::Disk;
use crate::tree::Node;

const BFQ_FILES: [&str; 3] = ["io.bfq.weight", "blkio.bfq.weight", "blkio.bfq.weight_device"];

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-SCHEDULER",
        class: Class::NoEffect,
        condition: "`io.bfq.weight` or `blkio.bfq.weight` is set, and `[bfq]` does not stand in \
                    `queue/scheduler` of a disk that the group uses; where its disks cannot be seen, of no disk at all",
        versions: "v1 and v2, Linux 4.12",
        meaning: "only the scheduler bfq reads this weight",
        remedy: "echo bfq > /sys/block/DISK/queue/scheduler, or divide the disk by io.cost on v2",
        source: "block/bfq-cgroup.c; Documentation/block/bfq-iosched.rst",
        find: Find::Host(scheduler),
    },
    Rule {
        code: "A-IOCOST-OFF",
        class: Class::NoEffect,
        condition: "`io.weight` is set, `io.bfq.weight` is not, and `io.cost.qos` of the root has no line with \
                    `enable=1` for a disk that the group uses, which is not under bfq either; not in a container, which does not \
                    see the root",
        versions: "v2, Linux 5.4",
        meaning: "`io.weight` is read by io.cost alone, which is off for this disk",
        remedy: "echo 'MAJOR:MINOR enable=1' > /sys/fs/cgroup/io.cost.qos, after `io.cost.model` was measured",
        source: "block/blk-iocost.c (ioc_rqos_throttle); cgroup-v2.rst, \"IO Interface Files\"",
        find: Find::Host(iocost_off),
    },
    Rule {
        code: "A-WRONG-FILE",
        class: Class::NoEffect,
        condition: "one of `io.weight` and `io.bfq.weight` is set, and the disk is divided by the mechanism \
                    that reads the other",
        versions: "v2, Linux 5.4",
        meaning: "the weight stands in the file that nobody reads for this disk",
        remedy: "write the weight into the other file too, as systemd does",
        source: "block/bfq-cgroup.c, block/blk-iocost.c; runc writes io.bfq.weight as soon as bfq is loaded",
        find: Find::Each(Scope::V2Of("io"), wrong_file),
    },
    Rule {
        code: "A-STACKED",
        class: Class::NoEffect,
        condition: "a weight of I/O is set, the group uses a device with `slaves` and no scheduler of its own (LVM, md, dm-crypt, not \
                    multipath), and a disk below is divided neither by bfq nor by io.cost",
        versions: "all",
        meaning: "weights act on queues of requests: on the disks below such a device, and not on the device itself",
        remedy: "set the scheduler or io.cost of the disks below",
        source: "block/blk-mq.c: only queues of requests have schedulers and rq_qos; drivers/md/dm-mpath.c (DM_TYPE_REQUEST_BASED)",
        find: Find::Each(Scope::Of("io"), stacked),
    },
];

fn is_bfq(disk: &&Disk) -> bool {
    disk.scheduler() == Some("bfq")
}

/// Devices that are used directly, not below another that is used too: the bottom of a stack, or the disk with the
/// image of a loop device. I/O is counted there as well, on behalf of the same group.
fn plain<'h>(host: &'h Host, disks: &[&'h Disk]) -> Vec<&'h Disk> {
    let stacked = disks.iter().filter(|disk| disk.is_stacked());
    let images = disks.iter().filter_map(|disk| host.disk(disk.image_on.as_deref()?));
    let below: HashSet<&str> = stacked
        .flat_map(|disk| host.bottom(disk))
        .chain(images.flat_map(|disk| std::iter::once(disk).chain(host.bottom(disk))))
        .map(|disk| disk.name.as_str())
        .collect();
    let is_plain = |disk: &&&Disk| {
        !disk.is_stacked() && !disk.is_head_of_paths() && !below.contains(disk.name.as_str())
    };
    disks.iter().filter(is_plain).copied().collect()
}

fn scheduler(host: &Host) -> Vec<Found> {
    // Where the disks of a group are not known, it is certain only if no disk is under bfq.
    let has_none = !host.usable().any(|disk| is_bfq(&disk));
    let nowhere = Some(host.schedulers()).filter(|disks| has_none && !disks.is_empty());
    let find = |node: Node| no_bfq(host, node, node.first_set(&BFQ_FILES)?, nowhere.as_ref());
    host.groups(Scope::Of("io")).filter_map(find).collect()
}

fn no_bfq(host: &Host, node: Node, file: &str, nowhere: Option<&Rc<[Reading]>>) -> Option<Found> {
    let used = host.used(node);
    let value = node.text(file)?.replace('\n', ", ");
    if used.disks.is_empty() {
        let schedulers = nowhere?;
        let sentence = format!("{file} {value} does nothing: no disk of this machine is under bfq");
        return Some(Found::new(node, &[file], sentence).and_shared(schedulers));
    }
    // Where io.cost cannot be seen, it may read the other file.
    let is_read_elsewhere = |disk: &Disk| !host.has_no_iocost(disk) && node.is_set("io.weight");
    let is_dead =
        |disk: &&Disk| !is_bfq(disk) && host.iocost(disk).is_none() && !is_read_elsewhere(disk);
    let dead: Vec<&Disk> = plain(host, &used.disks).into_iter().filter(is_dead).collect();
    if dead.is_empty() {
        return None;
    }
    let sentence = format!("{file} {value} does nothing on {}", with_schedulers(&dead));
    let readings =
        used.reading.into_iter().chain(dead.iter().take(MOST_NAMED).map(|disk| disk.reading()));
    Some(Found::new(node, &[file], sentence).and_all(readings))
}

/// Whether neither mechanism divides a disk.
fn is_undivided(host: &Host, disk: &Disk) -> bool {
    !is_bfq(&disk) && host.has_no_iocost(disk) && !disk.is_head_of_paths()
}

fn iocost_off(host: &Host) -> Vec<Found> {
    let usable: Vec<&Disk> = host.usable().collect();
    // Without knowing the disks, one that obeys may be the one that matters.
    let nowhere = usable.iter().all(|disk| is_undivided(host, disk)).then_some(&usable[..]);
    let is_set = |node: &Node| node.is_set("io.weight") && node.first_set(&BFQ_FILES).is_none();
    let set = host.groups(Scope::Of("io")).filter(is_set);
    set.filter_map(|node| no_iocost(host, node, nowhere)).collect()
}

fn no_iocost(host: &Host, node: Node, nowhere: Option<&[&Disk]>) -> Option<Found> {
    let used = host.used(node);
    let own = plain(host, &used.disks).into_iter().filter(|disk| is_undivided(host, disk));
    let own: Vec<&Disk> = own.collect();
    let dead = if used.disks.is_empty() { nowhere? } else { &own[..] };
    if dead.is_empty() {
        return None;
    }
    let names = names(dead, |disk| disk.name.clone());
    let sentence = format!("io.weight does nothing on {names}: io.cost is off for it");
    let off = host.v2_of("io")?.top()?.reading(COSTS);
    Some(Found::new(node, &["io.weight"], sentence).and_all(used.reading).and(off))
}

fn wrong_file(host: &Host, node: Node) -> Option<Found> {
    let (for_bfq, for_iocost) = (node.is_set("io.bfq.weight"), node.is_set("io.weight"));
    if for_bfq == for_iocost {
        return None;
    }
    let used = host.used(node);
    let bottoms: Vec<&Disk> = used.disks.iter().flat_map(|disk| host.bottom(disk)).collect();
    let (disk, by): (&Disk, Reading) = bottoms.iter().find_map(|disk| match host.iocost(disk) {
        Some(reading) if for_bfq && !is_bfq(disk) => Some((*disk, reading)),
        None if for_iocost && is_bfq(disk) && host.has_no_iocost(disk) => {
            Some((*disk, disk.reading()))
        }
        _ => None,
    })?;
    let (file, other, mechanism) = match for_bfq {
        true => ("io.bfq.weight", "io.weight", "io.cost"),
        false => ("io.weight", "io.bfq.weight", "bfq"),
    };
    let sentence = format!(
        "the weight stands in {file}, but {} is divided by {mechanism}, which reads {other}",
        disk.name
    );
    Some(Found::new(node, &[file, other], sentence).and(by))
}

fn stacked(host: &Host, node: Node) -> Option<Found> {
    let file = node.first_set(&BFQ_FILES).or_else(|| node.first_set(&["io.weight"]))?;
    let used = host.used(node);
    let is_dead = |disk: &&Disk| is_undivided(host, disk);
    let (top, dead) = used.disks.iter().filter(|disk| disk.is_stacked()).find_map(|top| {
        let dead: Vec<&Disk> = host.bottom(top).into_iter().filter(is_dead).collect();
        (!dead.is_empty()).then_some((*top, dead))
    })?;
    let sentence = format!(
        "its files are on {}; weights act on the disks below, of which {} obeys none",
        top.name,
        with_schedulers(&dead)
    );
    let readings = dead.iter().take(MOST_NAMED).map(|disk| disk.reading());
    Some(
        Found::new(node, &[file], sentence)
            .and_all(used.reading)
            .and(top.slaves_reading())
            .and_all(readings),
    )
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    const STAT: (&str, &str) = ("io.stat", "8:0 rbytes=4096 wbytes=0\n8:16 rbytes=0 wbytes=0");

    fn bfq(scheduler: &str) -> Fake {
        Fake::v2()
            .disk("sda", "8:0", scheduler)
            .disk("sdb", "8:16", "[none]")
            .group("/g", &[("io.bfq.weight", "default 800"), ("io.weight", "default 100"), STAT])
    }

    #[test]
    fn a_weight_under_a_scheduler_that_does_not_read_it_does_nothing() {
        let found = bfq("[mq-deadline] bfq none").only("A-SCHEDULER");
        assert_eq!(found.group, "/g");
        assert_eq!(found.sentence, "io.bfq.weight default 800 does nothing on sda (mq-deadline)");
        let files: Vec<&str> = found.readings.iter().map(|one| one.file.as_str()).collect();
        assert_eq!(files[0], "/sys/fs/cgroup/g/io.bfq.weight");
        assert_eq!(files[2], "/sys/block/sda/queue/scheduler");
        bfq("mq-deadline [bfq] none").silent("A-SCHEDULER");
    }

    #[test]
    fn on_v1_the_disks_are_those_on_which_files_are_open() {
        let v1 = |on: &str| {
            Fake::v1("io")
                .disk("loop1", "7:1", "[none] bfq")
                .disk("loop2", "7:2", "none [bfq]")
                .group("/g", &[("blkio.bfq.weight", "800")])
                .change(|snapshot| {
                    let open = assay_host::facts::Available::Value(vec![on.to_owned()]);
                    snapshot.hierarchies[0].groups[1].open_on = Some(open);
                })
        };
        assert!(v1("7:1").only("A-SCHEDULER").sentence.contains("loop1 (none)"));
        v1("7:2").silent("A-SCHEDULER");
    }

    /// As on a host where fio used a loop device under bfq with its image on a disk under mq-deadline.
    #[test]
    fn the_disk_below_a_loop_device_is_not_what_the_group_uses() {
        let host = |scheduler: &str| {
            let files = [
                ("blkio.bfq.weight", "800"),
                ("blkio.bfq.io_service_bytes", "7:77 Read 4096"),
                ("blkio.throttle.io_service_bytes", "254:0 Read 4096"),
            ];
            Fake::v1("io")
                .disk("vda", "254:0", "[mq-deadline]")
                .disk("loop77", "7:77", scheduler)
                .change(|snapshot| snapshot.disks[1].image_on = Some("254:0".to_owned()))
                .group("/g", &files)
        };
        host("none [bfq]").silent("A-SCHEDULER");
        let sentence = host("[none] bfq").only("A-SCHEDULER").sentence;
        assert!(sentence.ends_with("does nothing on loop77 (none)"), "{sentence}");
    }

    #[test]
    fn without_a_known_disk_only_a_machine_without_bfq_is_certain() {
        let host = |scheduler: &str| {
            Fake::v1("io").disk("sda", "8:0", scheduler).group("/g", &[("blkio.bfq.weight", "800")])
        };
        assert!(
            host("[none] bfq").only("A-SCHEDULER").sentence.contains("no disk of this machine")
        );
        host("none [bfq]").silent("A-SCHEDULER");
    }

    #[test]
    fn io_weight_needs_io_cost() {
        let host = |qos: &str| {
            Fake::v2()
                .top("io.cost.qos", qos)
                .disk("nvme0n1", "259:0", "[none]")
                .group("/g", &[("io.weight", "default 50"), ("io.stat", "259:0 rbytes=1")])
        };
        assert_eq!(
            host("259:0 enable=0 ctrl=auto").only("A-IOCOST-OFF").sentence,
            "io.weight does nothing on nvme0n1: io.cost is off for it"
        );
        host("259:0 enable=1 ctrl=auto").silent("A-IOCOST-OFF");
    }

    #[test]
    fn a_weight_in_the_file_of_the_other_mechanism_does_nothing() {
        let host = bfq("[none]").top("io.cost.qos", "8:0 enable=1 ctrl=user");
        let sentence = host.only("A-WRONG-FILE").sentence;
        assert!(
            sentence.contains("sda is divided by io.cost, which reads io.weight"),
            "{sentence}"
        );
        let both = bfq("[none]").also("io.weight", "default 800");
        both.top("io.cost.qos", "8:0 enable=1 ctrl=user").silent("A-WRONG-FILE");
        let reverse = |scheduler: &str| {
            let files = [("io.bfq.weight", "default 100"), ("io.weight", "default 800"), STAT];
            Fake::v2().disk("sda", "8:0", scheduler).group("/g", &files)
        };
        assert!(reverse("[bfq]").only("A-WRONG-FILE").sentence.contains("divided by bfq"));
        reverse("[none]").silent("A-WRONG-FILE");
    }

    #[test]
    fn weights_do_not_act_on_a_stacked_device() {
        let host = |below: &str| {
            Fake::v2()
                .disk("sda", "8:0", below)
                .disk("sdb", "8:16", "[bfq]")
                .stacked("md0", "9:0", &["sda", "sdb"])
                .group(
                    "/g",
                    &[("io.bfq.weight", "default 800"), ("io.stat", "8:0 rbytes=1\n9:0 rbytes=1")],
                )
        };
        let sentence = host("[none] bfq").only("A-STACKED").sentence;
        assert!(sentence.contains("md0") && sentence.contains("sda (none)"), "{sentence}");
        assert!(!sentence.contains("sdb"), "{sentence}");
        host("[none] bfq").silent("A-SCHEDULER");
        host("none [bfq]").silent("A-STACKED");
    }

    /// As on a SAN: dm-mpath queues requests by itself unless told otherwise, and the weights act there.
    #[test]
    fn weights_act_on_a_multipath_device_and_behind_the_head_of_nvme_paths() {
        let host = |scheduler: &str, file: &str| {
            Fake::v2()
                .disk("sda", "8:0", "[none]")
                .stacked("dm-0", "253:0", &["sda"])
                .change(|host| {
                    host.disks[1].scheduler =
                        assay_host::facts::Available::Value(scheduler.to_owned());
                })
                .group("/g", &[(file, "default 800"), ("io.stat", "253:0 rbytes=1")])
        };
        host("none [bfq]", "io.bfq.weight").silent("A-STACKED");
        host("none [bfq]", "io.bfq.weight").silent("A-SCHEDULER");
        assert!(host("[none] bfq", "io.bfq.weight").only("A-SCHEDULER").sentence.contains("dm-0"));
        host("[none] bfq", "io.bfq.weight").silent("A-STACKED");
        // A device that queues nothing reads `none` up to 6.1.
        host("none", "io.bfq.weight").only("A-STACKED");
        let head = |name: &str| {
            let host = Fake::v2().stacked(name, "259:0", &[]);
            host.group("/g", &[("io.bfq.weight", "default 800"), ("io.stat", "259:0 rbytes=1")])
        };
        head("nvme0n1").silent("A-SCHEDULER");
        head("zram0").only("A-SCHEDULER");
    }

    /// `io.cost.qos` exists in the root of the hierarchy alone, which a container does not see.
    #[test]
    fn in_a_container_io_cost_is_not_known_to_be_off() {
        let on = |stat: &str, scheduler: &str, file: &str| {
            Fake::v2()
                .disk("sda", "8:0", scheduler)
                .stacked("dm-0", "253:0", &["sda"])
                .group("/g", &[(file, "default 200"), ("io.stat", stat)])
                .change(|host| host.hierarchies[0].is_whole = false)
        };
        let inside = |scheduler: &str, file: &str| on("8:0 rbytes=1", scheduler, file);
        on("8:0 rbytes=1\n253:0 rbytes=1", "[none]", "io.weight").silent("A-STACKED");
        for code in ["A-IOCOST-OFF", "A-WRONG-FILE"] {
            inside("[none]", "io.weight").silent(code);
            inside("[bfq]", "io.weight").silent(code);
        }
        let both = inside("[none]", "io.bfq.weight").also("io.weight", "default 200");
        both.silent("A-SCHEDULER");
        inside("[none]", "io.bfq.weight").only("A-SCHEDULER");
        let audit = crate::audit(&inside("[none]", "io.weight").snapshot());
        assert!(audit.not_looked_at.iter().any(|line| line.contains("io.cost")), "{audit:?}");
    }

    /// A snapshot from elsewhere may have 10 000 disks and 20 000 groups.
    #[test]
    fn a_finding_about_all_disks_names_only_the_first() {
        let host = |file: &str| {
            let fake = (0..100).fold(Fake::v2(), |fake, at| {
                fake.disk(&format!("d{at}"), &format!("8:{at}"), "[none]")
            });
            let stat: String = (0..100).map(|at| format!("8:{at} rbytes=1\n")).collect();
            fake.group("/g", &[(file, "default 800")])
                .group("/h", &[(file, "default 800"), ("io.stat", &stat)])
        };
        for (code, file) in [("A-SCHEDULER", "io.bfq.weight"), ("A-IOCOST-OFF", "io.weight")] {
            let audit = crate::audit(&host(file).snapshot());
            let found: Vec<_> = audit.findings.iter().filter(|one| one.code == code).collect();
            assert_eq!(found.len(), 2, "{audit:?}");
            assert!(found.iter().all(|one| one.readings.len() <= 18 && one.sentence.len() < 400));
        }
    }
}
