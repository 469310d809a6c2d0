//! A forged ledger that names disks, mounts and folders of someone else in valid entries.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use assay_sys::kernel::{Root, loop_device};
use assay_test_support::Need;
use tempfile::TempDir;

use super::change::{Area, Change};
use super::foreign_host_tests::{
    assert_foreign_files_unchanged, forged, forged_as, host, in_memory, restore,
};
use super::{DiskIdentity, Layer, Ledger, restore_change};

/// A write to a file, to be restored as `evil`.
fn write(at: &str) -> Change {
    Change::WriteFile {
        path: at.into(),
        before: "evil".to_owned(),
        set: "set".to_owned(),
        disk: None,
    }
}

/// A write to a file of a group, to be restored as `before`.
fn group_file(at: &str, before: &str) -> Change {
    let (before, set) = (before.to_owned(), "set".to_owned());
    Change::SetGroup { path: at.into(), before, set, device: 0, inode: 0 }
}

/// Changes of files that belong to someone else, by any path.
fn changes_of_foreign_files() -> Vec<Change> {
    vec![
        write("/etc/shadow"),
        write("/sys/block/../../etc/shadow"),
        write("/sys/block/sda"),
        write("/sys/fs/cgroup/release_agent"),
        write("/proc/sys/kernel/core_pattern"),
        write("/sys/kernel/mm/hugepages/hugepages-2048kB/demote"),
        write("/sys/module/zswap/parameters/compressor"),
        Change::Request {
            path: "/etc/shadow".into(),
            inverse: "evil".to_owned(),
            set: "x".to_owned(),
        },
        Change::WriteOneOf {
            path: "/proc/sys/vm/dirty_ratio".into(),
            before: "evil".to_owned(),
            set: "x".to_owned(),
            other: "/etc/shadow".into(),
            other_before: "evil".to_owned(),
        },
        Change::KeepQueue {
            device: "../../etc".to_owned(),
            attributes: [("shadow".to_owned(), "evil".to_owned())].into(),
            disk: None,
        },
        Change::KeepQueue {
            device: "sda".to_owned(),
            attributes: [("../../../etc/shadow".to_owned(), "evil".to_owned())].into(),
            disk: None,
        },
    ]
}

/// Changes of files in the directories that runs write to, but that no run writes.
fn unwritten_files() -> Vec<Change> {
    let request = |at: &str, inverse: &str| Change::Request {
        path: at.into(),
        inverse: inverse.to_owned(),
        set: "x".to_owned(),
    };
    vec![
        write("/sys/block/sdb/device/delete"),
        write("/sys/block/sdb/queue/../uevent"),
        write("/sys/block/sdb/sdb1/uevent"),
        write("/sys/fs/cgroup/foreign/memory.max"),
        group_file("/sys/fs/cgroup/foreign/memory.max", "1"),
        group_file("/sys/fs/cgroup/foreign/cpu.max", "evil"),
        group_file("/sys/fs/cgroup/foreign/cgroup.freeze", "1"),
        group_file("/etc/shadow", "1"),
        write("/sys/kernel/mm/ksm/run"),
        write("/proc/sys/vm/overcommit_memory"),
        write("/proc/sys/vm/drop_caches"),
        request("/sys/fs/cgroup/foreign/cgroup.kill", "1"),
        request("/sys/fs/cgroup/foreign/io.cost.qos", "8:0 enable=0"),
        request("/sys/fs/cgroup/io.cost.qos", "8:0 enable=1 ctrl=user min=1 max=1"),
        request("/sys/fs/cgroup/cgroup.subtree_control", "+io"),
        Change::KeepQueue {
            device: "sdb".to_owned(),
            attributes: [("../device/delete".to_owned(), "1".to_owned())].into(),
            disk: None,
        },
    ]
}

fn stacked(name: &str, below: &str) -> Change {
    let (name, below) = (name.to_owned(), below.to_owned());
    Change::StackDisk { layer: Layer::DeviceMapper, name, below }
}

/// Groups, trees, mounts and devices that no run made.
fn foreign_objects() -> Vec<Change> {
    vec![
        Change::MakeGroup { path: "/sys/fs/cgroup/assayer".into() },
        Change::MakeTree { path: "/srv/assayer".into() },
        Change::OwnFolder { path: "/srv/theirs".into(), uid: 0, gid: 0 },
        Change::MakeGroup { path: "/sys/fs/cgroup/foreign".into() },
        Change::MakeTree { path: "/srv/theirs".into() },
        Change::MakeTree { path: "/srv/assay-link".into() },
        Change::MakeFile { path: "/etc/shadow".into() },
        Change::MakeDir { path: "/sys/fs/cgroup/foreign".into() },
        Change::Mount { target: "/home".into(), device: None, disk: None },
        Change::AttachLoop { image: "/srv/image".into(), file: None },
        Change::NullBlk { path: "/sys/fs/cgroup/foreign".into() },
        stacked("theirs", "sda"),
        stacked("md_theirs", "sda"),
        stacked("assay-../sda", "sda"),
        stacked("assay-1", "../sda"),
        Change::WriteSignatures {
            device: "/srv/theirs/inner/file".into(),
            areas: vec![Area { start: 0, length: 8 }],
            disk: None,
            first_sector: None,
        },
    ]
}

#[test]
fn a_forged_ledger_can_request_only_changes_that_runs_make() {
    let (tree, root) = host();
    let state = in_memory();
    symlink(tree.path().join("srv/theirs"), tree.path().join("srv/assay-link")).unwrap();
    symlink(tree.path().join("etc/shadow"), tree.path().join("sys/block/sda")).unwrap();
    for file in FOREIGN {
        let file = tree.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "theirs").unwrap();
    }
    let changes = [changes_of_foreign_files(), unwritten_files(), foreign_objects()].concat();
    let count = changes.len();
    forged(state.path(), changes);
    let report = restore(state.path(), &root);
    assert_eq!(report.damaged, []);
    assert_eq!(report.changes.len(), count);
    for change in &report.changes {
        assert!(matches!(change.restored, Some(Err(_))), "{change:?}");
    }
    assert!(!report.complete);
    assert_foreign_files_unchanged(&tree);
    for file in FOREIGN {
        assert_eq!(fs::read_to_string(tree.path().join(file)).unwrap(), "theirs", "{file}");
    }
}

/// Files next to those that runs write.
const FOREIGN: [&str; 14] = [
    "sys/kernel/mm/hugepages/hugepages-2048kB/demote",
    "sys/module/zswap/parameters/compressor",
    "sys/block/sdb/device/delete",
    "sys/block/sdb/uevent",
    "sys/block/sdb/queue/scheduler",
    "sys/block/sdb/sdb1/uevent",
    "sys/fs/cgroup/foreign/memory.max",
    "sys/fs/cgroup/foreign/cgroup.kill",
    "sys/fs/cgroup/io.cost.qos",
    "sys/fs/cgroup/cgroup.subtree_control",
    "sys/fs/cgroup/assayer/cgroup.procs",
    "sys/kernel/mm/ksm/run",
    "proc/sys/vm/overcommit_memory",
    "srv/assayer/file",
];

#[test]
fn an_entry_without_an_identity_is_refused() {
    let (_tree, root) = host();
    let ours = PathBuf::from("/var/tmp/assay-disk-1.img");
    let theirs = PathBuf::from("/var/tmp/theirs.img");
    let file = Some((1, 2));
    let changes = vec![
        Change::AttachLoop { image: ours.clone(), file: None },
        Change::AttachLoop { image: theirs.clone(), file },
        Change::AddLoop { number: 9, image: None, file: None },
        Change::AddLoop { number: 9, image: Some(ours), file: None },
        Change::AddLoop { number: 9, image: Some(theirs), file },
        Change::Mount { target: "/run/assay-1/assay-disk-1".into(), device: None, disk: None },
        Change::AddPartition { device: "/dev/sda".into(), number: 1, disk: None },
    ];
    let count = changes.len();
    let state = in_memory();
    forged(state.path(), changes);
    let report = restore(state.path(), &root);
    assert_eq!(report.changes.len(), count);
    for change in report.changes {
        // That a fake tree has no devices does not count as a refusal.
        let refused = change.restored.unwrap().unwrap_err();
        assert!(refused.to_string().contains("forged"), "{}: {refused}", change.what);
    }
}

/// Device, inode and contents are those of a run folder, but it is in a folder of root's.
#[test]
fn a_run_folder_is_given_only_to_the_owner_of_its_parent() {
    const USER: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return assay_test_support::skip(
            "a run folder of root's",
            "it takes root to give a folder away",
        );
    }
    let (tree, root) = host();
    let run = tree.path().join("srv/theirs");
    fs::write(run.join("events.jsonl"), "").unwrap();
    let metadata = run.metadata().unwrap();
    let take = |state: &TempDir| {
        let change = Change::OwnFolder { path: "/srv/theirs".into(), uid: USER, gid: USER };
        forged_as(state.path(), vec![change], &|_| Some((metadata.dev(), metadata.ino())));
        let restored = restore(state.path(), &root).changes.remove(0).restored.unwrap();
        (restored, run.metadata().unwrap().uid())
    };
    let (refused, owner) = take(&in_memory());
    assert_eq!(owner, 0, "it is root's");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("it is not in a folder of user 65534"), "{refused}");
    std::os::unix::fs::chown(tree.path().join("srv"), Some(USER), None).unwrap();
    assert_eq!(take(&in_memory()), (Ok(()), USER));
}

/// A mount in the table of a fake tree, where nothing can be unmounted: an attempt is an error.
fn mounted(tree: &TempDir, line: &str) {
    let table = tree.path().join("proc/self/mountinfo");
    fs::create_dir_all(table.parent().unwrap()).unwrap();
    fs::write(table, line).unwrap();
}

#[test]
fn a_forged_mount_unmounts_no_other_mount_of_that_disk() {
    let (tree, root) = host();
    let disk = tree.path().join("sys/block/sda");
    fs::create_dir_all(&disk).unwrap();
    fs::write(disk.join("diskseq"), "7").unwrap();
    fs::create_dir_all(tree.path().join("sys/dev/block")).unwrap();
    symlink("../../block/sda", tree.path().join("sys/dev/block/8:0")).unwrap();
    let disk = DiskIdentity::read(&root, "sda");
    assert!(disk.as_ref().unwrap().is_behind(&root, "8:0"));
    let target = Path::new("/nowhere-at-all/assay-disk-1");
    let unmount = || restore_change::unmount(&root, target, Some("8:0"), disk.as_ref());
    for theirs in [
        "27 1 8:0 / /nowhere-at-all/home rw - ext4 /dev/sda rw\n",
        "27 1 8:0 /part /nowhere-at-all/assay-disk-1 rw - ext4 /dev/sda rw\n",
        "27 1 8:0 /part /nowhere-else/assay-disk-1 rw - ext4 /dev/sda rw\n",
    ] {
        mounted(&tree, theirs);
        assert_eq!(unmount(), Ok(()), "{theirs}");
    }
    for ours in ["nowhere-at-all", "renamed"] {
        let line = format!("27 1 8:0 / /{ours}/assay-disk-1 rw - ext4 /dev/sda rw\n");
        mounted(&tree, &line);
        assert!(unmount().is_err(), "it is unmounted: {line}");
    }
}

#[test]
fn a_forged_entry_detaches_no_foreign_image() {
    let Some(_lock) = assay_test_support::host_lock("a forged loop device", &[Need::Loop]) else {
        return;
    };
    let root = Root::real();
    let (temp, forgery) = (tempfile::tempdir().unwrap(), in_memory());
    let image = temp.path().join("theirs.img");
    let file = File::create_new(&image).unwrap();
    file.set_len(1 << 20).unwrap();
    let metadata = file.metadata().unwrap();
    let mut theirs = Ledger::begin(temp.path(), "theirs").unwrap();
    let file = File::options().read(true).write(true).open(&image).unwrap();
    let device = theirs.attach_loop(&root, &file, &image).unwrap();
    let id = loop_device::backing(&device.node).unwrap();
    assert_eq!(id, (metadata.dev(), metadata.ino()));
    let image = PathBuf::from("/var/tmp/assay-theirs.img");
    forged(forgery.path(), vec![Change::AttachLoop { image, file: Some(id) }]);
    let report = restore(forgery.path(), &root);
    let is_attached = loop_device::backing(&device.node).is_ok();
    assert_eq!(theirs.restore(&root), []);
    assert!(theirs.finish().unwrap());
    assert!(report.complete && is_attached, "{report:?}");
}
