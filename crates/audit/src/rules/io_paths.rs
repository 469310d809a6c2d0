//! I/O that reaches a disk as that of another group: through a stack, or from the page cache.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use assay_host::knob::field;

use crate::finding::Class;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::snapshot::{Disk, ZFS};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-STACK-LOST",
        class: Class::Weakened,
        condition: "`io.max` has a limit for a disk, and the group uses a device on it that issues writes by threads of its own: \
                    dm-crypt (`CRYPT` in `dm/uuid`) on a disk without zones, RAID 4, 5 or 6 (`md/level`), bcache; whether the table \
                    of dm-crypt has `no_write_workqueue` stands in no file",
        versions: "v2",
        meaning: "writes reach the lower disk as those of the root group, for which no limit holds; dm-crypt with no_write_workqueue \
                  (`dmsetup table`) issues them as the writer",
        remedy: "set the limit for the upper device: io.max acts on stacked devices too",
        source: "drivers/md/dm-crypt.c (kcryptd_queue_crypt, DM_CRYPT_NO_WRITE_WORKQUEUE); drivers/md/raid5.c; block/blk-core.c (submit_bio_noacct)",
        find: Find::Each(Scope::V2Of("io"), lost),
    },
    Rule {
        code: "A-BUFFERED-V1",
        class: Class::Weakened,
        condition: "`blkio.throttle.write_bps_device` or `write_iops_device` is set, and the group has threads",
        versions: "v1",
        meaning: "only direct and synchronous writes are limited; buffered ones are issued by the kernel as the root group",
        remedy: "limit them on cgroup2, or write with O_DIRECT",
        source: "cgroup-v1/blkio-controller.rst, \"Known Issues\"; block/blk-cgroup.c",
        find: Find::Each(Scope::V1Of("io"), buffered_on_v1),
    },
    Rule {
        code: "A-FS-NO-CGWB",
        class: Class::Weakened,
        condition: "`io.max` limits writes to a disk with file systems, none of which, on it or on what is stacked on it, is ext2, ext3, \
                    ext4, btrfs, f2fs or xfs, where ext3 and ext4 mounted with `data=journal` do not count; nor do those below \
                    /boot and /efi; udev's database tells which disks are in a pool of ZFS",
        versions: "v2, Linux 4.2",
        meaning: "the file system does not say whose buffered writes it issues: they count for the root group",
        remedy: "write with O_DIRECT, or use one of these file systems",
        source: "cgroup-v2.rst, \"Writeback\" (Filesystem Support for Writeback); fs/ext4/super.c (SB_I_CGROUPWB, not with data=journal; also \
                 serves ext3); openzfs/zfs#1952",
        find: Find::Host(without_attribution),
    },
];

/// Keys of `io.max` that limit writes.
const OF_WRITES: [&str; 2] = ["wbps", "wiops"];

/// Kinds of stacked devices that issue writes themselves.
const OWN_THREADS: [&str; 5] = ["crypt", "raid4", "raid5", "raid6", "bcache"];

/// File systems that attribute writeback.
const ATTRIBUTING: [&str; 6] = ["ext2", "ext3", "ext4", "btrfs", "f2fs", "xfs"];

/// Disks for which `io.max` limits writes.
fn limited<'h>(host: &'h Host, node: Node<'h>) -> impl Iterator<Item = &'h Disk> {
    let lines = node.device_lines("io.max");
    let limits_writes = |line: &str| {
        OF_WRITES.iter().any(|key| field(line, key).is_some_and(|value| value != "max"))
    };
    lines.filter(move |(_, line)| limits_writes(line)).filter_map(|(device, _)| host.disk(device))
}

fn lost(host: &Host, node: Node) -> Option<Found> {
    let used = host.used(node);
    let is_lossy =
        |disk: &&&Disk| disk.stack.as_deref().is_some_and(|kind| OWN_THREADS.contains(&kind));
    let mut above: HashMap<&str, &Disk> = HashMap::new();
    for upper in used.disks.iter().filter(is_lossy).filter(|upper| !upper.slaves.is_empty()) {
        for lower in host.bottom(upper) {
            above.entry(&lower.name).or_insert(upper);
        }
    }
    let (lower, upper) =
        limited(host, node).find_map(|lower| Some((lower, *above.get(lower.name.as_str())?)))?;
    let kind = upper.stack.as_deref().unwrap_or_default();
    let unless = if kind == "crypt" { ", unless its table has no_write_workqueue" } else { "" };
    let sentence = format!(
        "writes reach {} as the root group's: {} ({kind}) issues them itself{unless}",
        lower.name, upper.name
    );
    let found = Found::new(node, &["io.max"], sentence).and(upper.slaves_reading());
    Some(found.and_all(used.reading.clone()))
}

fn buffered_on_v1(_: &Host, node: Node) -> Option<Found> {
    let file =
        node.first_set(&["blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device"])?;
    let sentence =
        format!("{file} binds direct writes only: buffered ones are issued as the root group's");
    (node.threads()? > 0).then(|| Found::new(node, &[file], sentence))
}

fn without_attribution(host: &Host) -> Vec<Found> {
    let attributing = attributing(host);
    host.groups(Scope::V2Of("io"))
        .filter_map(|node| {
            let disks: Vec<&Disk> = limited(host, node)
                .filter(|disk| !attributing.contains(disk.name.as_str()) && !is_for_boot(disk))
                .collect();
            if let Some(disk) = disks.iter().find(|disk| is_of_pool(disk)) {
                let sentence = format!(
                    "writes to {} are not limited: ZFS issues them by threads of its own",
                    disk.name
                );
                return Some(Found::new(node, &["io.max"], sentence).remedied(Some(OF_POOL)));
            }
            let first =
                |disk: &&Disk| Some((disk.name.clone(), disk.file_systems.first()?.clone()));
            let (disk, kind) = disks.iter().find_map(first)?;
            let sentence = format!(
                "buffered writes to {disk} are not limited: {kind} does not say whose they are"
            );
            Some(Found::new(node, &["io.max"], sentence))
        })
        .collect()
}

const OF_POOL: &str = "use another file system: no limit of a group holds for writes to ZFS";

fn is_of_pool(disk: &Disk) -> bool {
    disk.file_systems.iter().any(|kind| kind == ZFS)
}

/// Names of the disks that have a file system which attributes writeback, or are below one that has.
fn attributing<'h>(host: &'h Host) -> HashSet<&'h str> {
    let attributes = |kind: &String| ATTRIBUTING.contains(&kind.as_str());
    let mut seen = HashSet::new();
    for disk in host.snapshot.disks.iter().filter(|disk| disk.file_systems.iter().any(attributes)) {
        host.stack(disk, &mut seen);
    }
    seen
}

/// Whether all file systems that are known of a disk are for booting, as an EFI partition is. Others of the disk are then
/// not known.
fn is_for_boot(disk: &Disk) -> bool {
    let is_below =
        |path: &String| ["/boot", "/efi"].iter().any(|folder| Path::new(path).starts_with(folder));
    !disk.mounted.is_empty() && disk.mounted.iter().all(is_below) && !is_of_pool(disk)
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    fn stack(kind: &str, limited: &str, counted: &str) -> Fake {
        let limit = format!("{limited} rbps=max wbps=1048576");
        let counted = format!("{counted} rbytes=1 wbytes=4096 rios=1 wios=1 dbytes=0 dios=0");
        Fake::v2()
            .disk("sda", "8:0", "[none]")
            .stacked("dm-0", "253:0", &["sda"])
            .change(|snapshot| snapshot.disks[1].stack = Some(kind.to_owned()))
            .group("/g", &[("io.max", &limit), ("io.stat", &counted)])
    }

    #[test]
    fn writes_through_a_stack_with_threads_of_its_own_are_lost() {
        let found = stack("crypt", "8:0", "253:0").only("A-STACK-LOST");
        assert!(found.sentence.starts_with("writes reach sda as the root group's: dm-0 (crypt)"));
        assert!(found.sentence.ends_with("unless its table has no_write_workqueue"));
        assert!(stack("raid5", "8:0", "253:0").only("A-STACK-LOST").sentence.ends_with("itself"));
        stack("crypt zoned", "8:0", "253:0").silent("A-STACK-LOST");
        stack("linear", "8:0", "253:0").silent("A-STACK-LOST");
        stack("crypt", "253:0", "253:0").silent("A-STACK-LOST");
        stack("crypt", "8:0", "8:0").silent("A-STACK-LOST");
    }

    #[test]
    fn on_v1_buffered_writes_are_not_limited() {
        let host = |file: &str, threads: u64| {
            Fake::v1("io").group_of("/g", threads, &[(file, "8:0 1048576")])
        };
        host("blkio.throttle.write_bps_device", 1).only("A-BUFFERED-V1");
        host("blkio.throttle.read_bps_device", 1).silent("A-BUFFERED-V1");
        host("blkio.throttle.write_bps_device", 0).silent("A-BUFFERED-V1");
    }

    #[test]
    fn a_file_system_without_attribution_is_named() {
        let host = |kinds: &str, limit: &str| {
            let kinds = kinds.split('+').map(str::to_owned).collect();
            Fake::v2()
                .disk("sda", "8:0", "[none]")
                .change(|snapshot| snapshot.disks[0].file_systems = kinds)
                .group("/g", &[("io.max", limit)])
        };
        let found = host("vfat", "8:0 wiops=100").only("A-FS-NO-CGWB");
        assert!(found.sentence.contains("vfat does not say"), "{found:?}");
        host("vfat+xfs", "8:0 wiops=100").silent("A-FS-NO-CGWB");
        host("ext3", "8:0 wiops=100").silent("A-FS-NO-CGWB");
        let journal = host("ext4 data=journal", "8:0 wiops=100").only("A-FS-NO-CGWB");
        assert!(journal.sentence.contains("ext4 data=journal does not say"), "{journal:?}");
        host("vfat", "8:0 riops=100 wiops=max").silent("A-FS-NO-CGWB");
    }

    /// lxd#3524: beside an EFI partition, as on most such hosts.
    #[test]
    fn nobody_limits_writes_to_a_pool_of_zfs() {
        let host = |limit: &str| {
            Fake::v2()
                .disk("sda", "8:0", "[none]")
                .change(|snapshot| {
                    snapshot.disks[0].file_systems = ["vfat", "zfs"].map(str::to_owned).into();
                    snapshot.disks[0].mounted = vec!["/boot/efi".to_owned()];
                })
                .group("/g", &[("io.max", limit)])
        };
        let found = host("8:0 wiops=100").only("A-FS-NO-CGWB");
        assert_eq!(
            found.sentence,
            "writes to sda are not limited: ZFS issues them by threads of its own"
        );
        host("8:0 riops=100").silent("A-FS-NO-CGWB");
    }

    /// As on a host with the system of LVM or LUKS beside an EFI partition, and on one with nothing known beside it.
    #[test]
    fn a_file_system_on_top_of_the_disk_attributes_too() {
        let host = |upper: &str, mounted: &str| {
            let (upper, mounted) = (vec![upper.to_owned()], vec![mounted.to_owned()]);
            Fake::v2()
                .disk("sda", "8:0", "[none]")
                .stacked("dm-0", "253:0", &["sda2"])
                .stacked("dm-1", "253:1", &["dm-0"])
                .change(|host| {
                    host.disks[0].partitions.insert("sda2".to_owned(), "8:2".to_owned());
                    host.disks[0].file_systems = vec!["vfat".to_owned()];
                    host.disks[0].mounted = mounted;
                    host.disks[2].file_systems = upper;
                })
                .group("/g", &[("io.max", "8:0 wbps=1048576")])
        };
        host("ext4", "/data").silent("A-FS-NO-CGWB");
        host("ntfs", "/data").only("A-FS-NO-CGWB");
        host("ntfs", "/boot/efi").silent("A-FS-NO-CGWB");
    }
}
