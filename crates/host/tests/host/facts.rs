//! Facts from fake host trees, and from this host compared with other tools.
// A failure in a shared helper is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod real;
mod tree;

use std::path::PathBuf;

use assay_host::facts::{Available, Hierarchy, Holder, HostFacts, Layout};
use assay_sys::units::Bytes;

use tree::{V1_AND_V2, V2_ONLY, gather, two_nodes};

fn hierarchy(facts: &HostFacts, controller: &str) -> Hierarchy {
    facts.cgroup.controllers[controller].hierarchy.clone()
}

#[test]
fn an_unreadable_host_still_has_facts() {
    let facts = gather(&[("proc/version", "")]);
    assert_eq!(facts.host_name, "unknown");
    assert_eq!(facts.cgroup.layout, Layout::None);
    assert_eq!(facts.nodes.len(), 1);
    assert_eq!(facts.nodes[0].distances, [10]);
    assert!(facts.disks.is_empty() && facts.caches.is_empty());
    assert_ne!(facts.effective_user, 0, "an unknown user does not count as root");
    assert!(matches!(&facts.pressure, Available::NotAvailable(why) if why.contains("CONFIG_PSI")));
    assert!(matches!(facts.parses_partitions, Available::NotAvailable(_)));
    assert!(
        matches!(&hierarchy(&facts, "io"), Hierarchy::Absent(why) if why.contains("not built"))
    );
}

#[test]
fn a_tree_without_proc_is_an_error_with_a_remedy() {
    let tree = tempfile::tempdir().unwrap();
    let error = assay_host::gather(&assay_sys::kernel::Root::at(tree.path())).unwrap_err();
    assert!(error.to_string().contains("mount -t proc"), "{error}");
}

#[test]
fn controllers_of_a_hybrid_host_are_found_in_their_hierarchies() {
    let facts = gather(V1_AND_V2);
    assert_eq!(facts.cgroup.layout, Layout::Hybrid);
    assert_eq!(facts.cgroup.v2_mount, Some(PathBuf::from("/sys/fs/cgroup/unified")));
    assert_eq!(hierarchy(&facts, "io"), Hierarchy::V1("/sys/fs/cgroup/blkio".into()));
    assert_eq!(hierarchy(&facts, "cpuacct"), Hierarchy::V1("/sys/fs/cgroup/cpu,cpuacct".into()));
    assert_eq!(hierarchy(&facts, "hugetlb"), Hierarchy::V2("/sys/fs/cgroup/unified".into()));
    assert_eq!(hierarchy(&facts, "perf_event"), Hierarchy::V2("/sys/fs/cgroup/unified".into()));
    assert_eq!(facts.cgroup.controllers["memory"].own_group, "/api/x");
    assert_eq!(facts.cgroup.controllers["hugetlb"].own_group, "/");
    assert!(!facts.cgroup.controllers.contains_key("blkio"));
    assert!(!facts.cgroup.controllers.contains_key("name=systemd"));
    assert!(matches!(hierarchy(&facts, "net_cls"), Hierarchy::Absent(why) if why.contains("v1")));
    assert!(matches!(hierarchy(&facts, "rdma"), Hierarchy::Absent(why) if why.contains("boot")));
}

#[test]
fn a_unified_host_has_a_single_mount() {
    let facts = gather(V2_ONLY);
    assert_eq!(facts.cgroup.layout, Layout::V2);
    for name in ["cpu", "io", "memory", "pids", "misc"] {
        assert_eq!(hierarchy(&facts, name), Hierarchy::V2("/sys/fs/cgroup".into()), "{name}");
        // In a container the mount shows only a part, and the path begins above it.
        assert_eq!(facts.cgroup.controllers[name].own_group, "/inner");
    }
    assert!(matches!(hierarchy(&facts, "freezer"), Hierarchy::Absent(_)));
}

#[test]
fn without_the_unified_hierarchy_a_host_is_v1() {
    let only_v1: Vec<(&str, String)> = V1_AND_V2
        .iter()
        .map(|(path, text)| {
            let kept = text.lines().filter(|line| !line.contains("cgroup2"));
            (*path, kept.map(|line| format!("{line}\n")).collect())
        })
        .collect();
    let only_v1: Vec<(&str, &str)> = only_v1.iter().map(|(p, t)| (*p, t.as_str())).collect();
    assert_eq!(gather(&only_v1).cgroup.layout, Layout::V1);
}

#[test]
fn two_nodes_with_smt_and_shared_caches_are_read() {
    let facts = gather(&two_nodes());
    assert_eq!(facts.cpus.online.to_string(), "0-7");
    assert_eq!(facts.cpus.allowed.to_string(), "0-3");
    assert_eq!(facts.cpus.model, "Test CPU 9000");
    let cores: Vec<String> = facts.cpus.cores.iter().map(ToString::to_string).collect();
    assert_eq!(cores, ["0,4", "1,5", "2,6", "3,7"]);
    assert_eq!(facts.caches.iter().filter(|cache| cache.level == 1).count(), 4);
    assert_eq!(facts.caches.iter().filter(|cache| cache.level == 3).count(), 2);
    assert_eq!(facts.caches.last().unwrap().size, Bytes::mebi(32));
    assert_eq!(facts.nodes.len(), 3);
    assert_eq!(facts.nodes[1].distances, [21, 10, 17]);
    assert_eq!(facts.nodes[1].cpus.to_string(), "2-3,6-7");
    assert_eq!(facts.nodes[2].memory, Bytes::new(0));
    assert_eq!(facts.memory_nodes.to_string(), "0-1");
    assert_eq!(facts.memory, Bytes::mebi(16));
    assert_eq!(facts.effective_user, 1000);
    assert_eq!(facts.virtual_machine.as_deref(), Some("KVM"));
    assert_eq!(facts.distribution, "Test Linux 1");
    assert_eq!(facts.pressure, Available::Value(true));
    assert_eq!(facts.parses_partitions, Available::Value(true));
}

#[test]
fn a_guest_of_arm64_without_firmware_is_known_by_its_device_tree() {
    let board = ("proc/device-tree/compatible", "linux,dummy-virt\0");
    let hypervisor = |files: &[_]| gather(files).virtual_machine;
    assert_eq!(hypervisor(&[board]).as_deref(), Some("unknown hypervisor"));
    let qemu = ("proc/device-tree/fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio\0");
    assert_eq!(hypervisor(&[board, qemu]).as_deref(), Some("QEMU"));
    assert_eq!(hypervisor(&[("proc/device-tree/compatible", "raspberrypi,5-model-b\0")]), None);
}

#[test]
fn a_disk_is_listed_with_its_users_and_partitions() {
    let facts = gather(&[
        ("proc/self/mountinfo", "27 1 8:1 / /data rw - ext4 /dev/sda1 rw\n"),
        ("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2\tpartition\t9\t0\t-2\n"),
        ("sys/block/sda/dev", "8:0\n"),
        ("sys/block/sda/size", "2048\n"),
        ("sys/block/sda/serial", "S1\n"),
        ("sys/block/sda/device/model", "DISK 1  \n"),
        ("sys/block/sda/queue/scheduler", "none [mq-deadline] bfq\n"),
        ("sys/block/sda/queue/rotational", "1\n"),
        ("sys/block/sda/queue/nr_requests", "256\n"),
        ("sys/block/sda/sda1/partition", "1\n"),
        ("sys/block/sda/sda1/dev", "8:1\n"),
        ("sys/block/sda/sda2/partition", "2\n"),
        ("sys/block/sda/sda2/dev", "8:2\n"),
        ("sys/block/sda/sda2/holders/dm-0/x", ""),
        ("sys/block/loop0/dev", "7:0\n"),
        ("sys/block/loop0/loop/backing_file", "/tmp/a b.img\n"),
        ("sys/block/zram0/dev", "253:0\n"),
    ]);
    let names: Vec<&str> = facts.disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["loop0", "sda", "zram0"]);
    let sda = &facts.disks[1];
    assert_eq!(sda.size, Bytes::mebi(1));
    assert_eq!((sda.major, sda.minor), (8, 0));
    assert_eq!(sda.scheduler.as_ref().unwrap().active, "mq-deadline");
    assert_eq!(sda.partitions, ["sda1", "sda2"]);
    assert_eq!(sda.model.as_deref(), Some("DISK 1"));
    assert_eq!(sda.serial.as_deref(), Some("S1"));
    let held = Holder::Held("dm-0".to_owned());
    assert_eq!(sda.holders, [Holder::Mounted("/data".into()), held, Holder::Swap]);
    assert_eq!(facts.disks[0].backing_file, Some(PathBuf::from("/tmp/a b.img")));
    assert_eq!(facts.disks[2].scheduler, None);
    assert_eq!(facts.schedulers, ["bfq", "mq-deadline", "none"]);
}
