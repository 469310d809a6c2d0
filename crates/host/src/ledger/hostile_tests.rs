//! Interference by others: in the ledger, in a scratch directory during a run, in a disk slot. Root
//! then restores only what this run changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assay_kernel::{Error, Root};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use super::change::{Area, Change};
use super::line::{FORMAT, Header, Line};
use super::{Ledger, LedgerRestore, restore_all, set_aside, unfinished};

pub(super) fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A host in a folder, with files of someone else on it.
pub(super) fn host() -> (TempDir, Root) {
    let tree = in_memory();
    for folder in
        ["srv/theirs/inner", "sys/fs/cgroup/foreign", "sys/block", "etc", "proc/sys/kernel"]
    {
        fs::create_dir_all(tree.path().join(folder)).unwrap();
    }
    for file in ["srv/theirs/inner/file", "etc/shadow", "proc/sys/kernel/core_pattern"] {
        fs::write(tree.path().join(file), "theirs").unwrap();
    }
    fs::write(tree.path().join("sys/fs/cgroup/release_agent"), "theirs").unwrap();
    let root = Root::at(tree.path());
    (tree, root)
}

fn assert_foreign_files_unchanged(tree: &TempDir) {
    for file in ["srv/theirs/inner/file", "etc/shadow", "proc/sys/kernel/core_pattern"] {
        assert_eq!(fs::read_to_string(tree.path().join(file)).unwrap(), "theirs", "{file}");
    }
    let agent = tree.path().join("sys/fs/cgroup/release_agent");
    assert_eq!(fs::read_to_string(agent).unwrap(), "theirs");
    assert!(tree.path().join("sys/fs/cgroup/foreign").is_dir());
}

/// A ledger written by someone who knows the format, including the seals.
pub(super) fn forged(state: &Path, changes: Vec<Change>) {
    let is_tree = |change: &Change| {
        matches!(change, Change::MakeTree { .. } | Change::MakeFile { .. }).then_some((0, 0))
    };
    forged_as(state, changes, &is_tree);
}

/// The same, with a claimed device and inode for what each change created.
pub(super) fn forged_as(
    state: &Path,
    changes: Vec<Change>,
    made: &dyn Fn(&Change) -> Option<(u64, u64)>,
) {
    let header = Header {
        format: FORMAT,
        run: "forged".to_owned(),
        pid: 1 << 30,
        started: None,
        boot: super::boot_id(&Root::real()),
    };
    let mut text = Line::Begin(header).to_text().unwrap();
    for (entry, change) in (0..).zip(changes) {
        let made = made(&change);
        text += &Line::Intend { entry, boot: String::new(), change }.to_text().unwrap();
        if let Some((device, inode)) = made {
            text += &Line::Made { entry, device, inode }.to_text().unwrap();
        }
    }
    let ledgers = state.join("ledger");
    fs::create_dir_all(&ledgers).unwrap();
    fs::set_permissions(&ledgers, fs::Permissions::from_mode(0o700)).unwrap();
    let file = ledgers.join("forged.jsonl");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

pub(super) fn restore(state: &Path, root: &Root) -> LedgerRestore {
    restore_all(state, root).unwrap().ledgers.remove(0)
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
    let path = |path: &str| PathBuf::from(path);
    let write = |at: &str| Change::WriteFile {
        path: path(at),
        before: "evil".to_owned(),
        set: "set".to_owned(),
        disk: None,
    };
    let request = |at: &str, inverse: &str| Change::Request {
        path: path(at),
        inverse: inverse.to_owned(),
        set: "x".to_owned(),
    };
    let changes = vec![
        write("/etc/shadow"),
        write("/sys/block/../../etc/shadow"),
        write("/sys/block/sda"),
        write("/sys/fs/cgroup/release_agent"),
        write("/proc/sys/kernel/core_pattern"),
        write("/sys/kernel/mm/hugepages/hugepages-2048kB/demote"),
        write("/sys/module/zswap/parameters/compressor"),
        Change::Request {
            path: path("/etc/shadow"),
            inverse: "evil".to_owned(),
            set: "x".to_owned(),
        },
        Change::WriteOneOf {
            path: path("/proc/sys/vm/dirty_ratio"),
            before: "evil".to_owned(),
            set: "x".to_owned(),
            other: path("/etc/shadow"),
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
        // Files in the directories that runs write to, but that no run writes.
        write("/sys/block/sdb/device/delete"),
        write("/sys/block/sdb/queue/../uevent"),
        write("/sys/block/sdb/sdb1/uevent"),
        write("/sys/fs/cgroup/foreign/memory.max"),
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
        Change::MakeGroup { path: path("/sys/fs/cgroup/assayer") },
        Change::MakeTree { path: path("/srv/assayer") },
        Change::OwnFolder { path: path("/srv/theirs"), uid: 0, gid: 0 },
        Change::MakeGroup { path: path("/sys/fs/cgroup/foreign") },
        Change::MakeTree { path: path("/srv/theirs") },
        Change::MakeTree { path: path("/srv/assay-link") },
        Change::MakeFile { path: path("/etc/shadow") },
        Change::MakeDir { path: path("/sys/fs/cgroup/foreign") },
        Change::Mount { target: path("/home"), device: None, disk: None },
        Change::AttachLoop { image: path("/srv/image"), file: None },
        Change::NullBlk { path: path("/sys/fs/cgroup/foreign") },
        Change::WriteSignatures {
            device: path("/srv/theirs/inner/file"),
            areas: vec![Area { start: 0, length: 8 }],
            disk: None,
        },
    ];
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

/// A forged size does not wrap around, and wipes nothing.
#[test]
fn an_area_beyond_any_disk_is_refused() {
    let (tree, root) = host();
    put_in(&tree, "7", "S3R1AL");
    let image = tree.path().join("dev/sdz");
    let areas = [Area { start: u64::MAX - 8, length: 4096 }];
    let error =
        super::restore_change::wipe_signatures(&image, &areas, None).unwrap_err().to_string();
    assert!(error.contains("beyond any disk"), "{error}");
    assert_eq!(fs::read(&image).unwrap(), b"\0\0SIG\0\0\0");
    assert!(restore_all(tree.path(), &root).is_ok());
}

#[test]
fn a_foreign_state_directory_or_ledger_is_refused_with_owner_mode_and_remedy() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give a file away");
        return;
    }
    let (_tree, root) = host();
    let refused = |state: &Path, says: &str| {
        for error in [
            not_restored(state, &root),
            unfinished(state).map(|_| ()).unwrap_err(),
            Ledger::begin(state, "run").map(|_| ()).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(says), "{error}");
            assert!(
                error.contains("0755") || error.contains("06") || error.contains("07"),
                "{error}"
            );
            assert!(error.contains("chown"), "{error}");
        }
    };
    let change = || vec![Change::MakeDir { path: "/srv/assay-x".into() }];
    let state = in_memory();
    forged(state.path(), change());
    chown(state.path().join("ledger/forged.jsonl"), Some(65534), None).unwrap();
    refused(state.path(), "user 65534");

    let state = in_memory();
    forged(state.path(), change());
    let file = state.path().join("ledger/forged.jsonl");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    refused(state.path(), "0666");

    let state = in_memory();
    forged(state.path(), change());
    chown(state.path().join("ledger"), Some(65534), None).unwrap();
    refused(state.path(), "user 65534");

    let state = in_memory();
    forged(state.path(), change());
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).unwrap();
    refused(state.path(), "0777");

    // A link into a home directory, as in the security review.
    let (state, home) = (in_memory(), in_memory());
    forged(home.path(), change());
    fs::create_dir(state.path().join("ledger")).unwrap();
    let (from, to) = ("ledger/forged.jsonl", "ledger/x.jsonl");
    symlink(home.path().join(from), state.path().join(to)).unwrap();
    let error = not_restored(state.path(), &root).to_string();
    assert!(error.contains("it is a link"), "{error}");
}

/// The error with which a restore refused the only ledger.
fn not_restored(state: &Path, root: &Root) -> Error {
    match restore_all(state, root) {
        Err(error) => error,
        Ok(mut report) => {
            assert!(!report.is_complete() && report.ledgers.is_empty());
            report.held.remove(0)
        }
    }
}

/// A file that is not a ledger does not stop the restore of the others.
#[test]
fn an_odd_file_does_not_stop_other_restores_and_can_be_set_aside() {
    let (tree, root) = host();
    for kind in ["directory", "link", "pipe", "second name", "readable by others", "not text"] {
        let state = in_memory();
        let mut ledger = Ledger::begin(state.path(), "m-killed").unwrap();
        ledger.make_dir(&root, Path::new("/srv/assay-x")).unwrap();
        drop(ledger);
        let ledgers = state.path().join("ledger");
        for name in ["a-odd.jsonl", "z-odd.jsonl"] {
            odd(kind, &ledgers, &ledgers.join(name));
        }
        fs::create_dir(ledgers.join("temporary.new")).unwrap();
        let report = restore_all(state.path(), &root).unwrap();
        assert!(!report.is_complete(), "{kind}");
        assert!(report.ledgers.iter().any(|ledger| ledger.complete), "{kind}: {report:?}");
        assert!(!tree.path().join("srv/assay-x").exists(), "{kind}");
        let errors: Vec<String> = report.held.iter().map(ToString::to_string).collect();
        assert!(errors.iter().any(|error| error.contains("temporary.new")), "{errors:?}");
        for name in ["a-odd", "z-odd"] {
            let is_named = errors.iter().any(|error| error.contains(name))
                || report.ledgers.iter().any(|ledger| ledger.run_id == name && !ledger.complete);
            assert!(is_named, "{kind}: {errors:?}");
            set_aside(state.path(), name).unwrap();
        }
        fs::remove_dir(ledgers.join("temporary.new")).unwrap();
        assert!(restore_all(state.path(), &root).unwrap().is_complete(), "{kind}");
        Ledger::begin(state.path(), "next").unwrap();
    }
}

fn odd(kind: &str, ledgers: &Path, path: &Path) {
    let mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    match kind {
        "directory" => fs::create_dir(path).unwrap(),
        "link" => symlink("/etc/hostname", path).unwrap(),
        "pipe" => {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
            rustix::fs::mknodat(CWD, path, kind, mode, 0).unwrap();
        }
        "second name" => {
            let other = ledgers.join(format!("{}.other", path.display()));
            fs::write(&other, "").unwrap();
            fs::hard_link(&other, path).unwrap();
        }
        "readable by others" => {
            fs::write(path, "").unwrap();
            mode(0o666);
        }
        _ => {
            fs::write(path, [0xff; 64]).unwrap();
            mode(0o600);
        }
    }
}

/// As left by an older version, or by someone with a wide umask.
#[test]
fn files_open_to_others_are_restricted_to_their_owner() {
    let folder = in_memory();
    let state = folder.path().join("assay");
    fs::create_dir_all(state.join("ledger")).unwrap();
    let mode = |name: &str| state.join(name).metadata().unwrap().permissions().mode() & 0o777;
    let wide = |name: &str, mode| {
        fs::set_permissions(state.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    for name in ["lock", "fleet.lock"] {
        fs::write(state.join(name), "").unwrap();
        wide(name, 0o644);
    }
    wide("", 0o755);
    wide("ledger", 0o755);
    let ledger = Ledger::begin(&state, "run").unwrap();
    drop(super::lock_file(&super::private_state(&state).unwrap(), "fleet.lock").unwrap());
    assert_eq!(["", "ledger", "lock", "fleet.lock"].map(mode), [0o700, 0o700, 0o600, 0o600]);
    assert!(ledger.finish().unwrap());
}

#[test]
fn ledgers_and_their_directory_are_accessible_to_the_owner_only() {
    let state = in_memory();
    let below = state.path().join("new");
    let ledger = Ledger::begin(&below, "run").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&below), 0o700);
    assert_eq!(mode(&below.join("ledger")), 0o700);
    assert_eq!(mode(ledger.path()), 0o600);
    assert!(ledger.finish().unwrap());
}

/// This run puts nothing into a directory before its identity is written down.
#[test]
fn a_directory_without_a_recorded_identity_is_removed_only_when_empty() {
    let (tree, root) = host();
    let folder = tree.path().join("srv/assay-x");
    for (content, goes) in [(false, true), (true, false)] {
        let state = in_memory();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger
            .record(Change::MakeTree { path: "/srv/assay-x".into() }, || {
                root.make_dir("/srv/assay-x")
            })
            .unwrap();
        if content {
            fs::write(folder.join("file"), "theirs").unwrap();
        }
        drop(ledger);
        assert_eq!(restore(state.path(), &root).complete, goes);
        assert_eq!(folder.exists(), !goes);
    }
}

/// S1: a scratch directory in a directory of someone else, who swaps it for a link.
fn against_a_renamer(tries: usize) {
    let (tree, root) = host();
    let victim = tree.path().join("srv/theirs");
    let work = tree.path().join("mine");
    fs::create_dir(&work).unwrap();
    let (name, hook) = (work.join("assay-scratch"), work.join("hook"));
    let mut restored = 0;
    for _ in 0..tries {
        let state = in_memory();
        symlink(&victim, &hook).unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger.make_tree(&root, Path::new("/mine/assay-scratch")).unwrap();
        fs::create_dir(name.join("inner")).unwrap();
        fs::write(name.join("inner/file"), "ours").unwrap();
        let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let renamer = std::thread::spawn({
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            let (name, hook) = (name.clone(), hook.clone());
            move || {
                while !stop.load(Ordering::Acquire) {
                    let done = renameat_with(CWD, &name, CWD, &hook, RenameFlags::EXCHANGE);
                    count.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
                }
            }
        });
        while count.load(Ordering::Relaxed) < 2 {
            std::hint::spin_loop();
        }
        restored += usize::from(ledger.restore(&root).is_empty());
        stop.store(true, Ordering::Release);
        renamer.join().unwrap();
        assert_foreign_files_unchanged(&tree);
        drop(ledger);
        for path in [&name, &hook] {
            let metadata = path.symlink_metadata();
            match metadata.map(|metadata| metadata.is_dir()) {
                Ok(true) => fs::remove_dir_all(path).unwrap(),
                Ok(false) => fs::remove_file(path).unwrap(),
                Err(_) => {}
            }
        }
    }
    println!("{tries} tries, {restored} restored, no foreign file touched");
}

#[test]
fn a_scratch_directory_swapped_for_a_link_is_not_followed() {
    against_a_renamer(300);
}

#[test]
#[ignore = "long: cargo test -p assay-host hostile -- --ignored"]
fn a_scratch_directory_is_swapped_ten_thousand_times() {
    against_a_renamer(10_000);
}

#[test]
fn a_link_or_directory_swapped_in_for_a_scratch_directory_is_refused() {
    let (tree, root) = host();
    for swapped in ["link", "directory"] {
        let state = in_memory();
        let name = tree.path().join("srv/assay-scratch");
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger.make_tree(&root, Path::new("/srv/assay-scratch")).unwrap();
        fs::rename(&name, tree.path().join("srv/moved")).unwrap();
        match swapped {
            "link" => symlink(tree.path().join("srv/theirs"), &name).unwrap(),
            _ => fs::rename(tree.path().join("srv/theirs"), &name).unwrap(),
        }
        let errors = ledger.restore(&root);
        assert!(errors[0].to_string().contains("something else has taken its name"), "{errors:?}");
        match swapped {
            "link" => fs::remove_file(&name).unwrap(),
            _ => fs::rename(&name, tree.path().join("srv/theirs")).unwrap(),
        }
        assert_foreign_files_unchanged(&tree);
        fs::remove_dir(tree.path().join("srv/moved")).unwrap();
    }
}

/// A disk in the fake host tree.
fn put_in(tree: &TempDir, diskseq: &str, serial: &str) {
    for (file, text) in [
        ("sys/block/sdz/diskseq", diskseq),
        ("sys/block/sdz/dev", "8:400"),
        ("sys/block/sdz/size", "2048"),
        ("sys/block/sdz/device/serial", serial),
        ("sys/block/sdz/queue/scheduler", "none"),
        ("sys/block/sdz/queue/nr_requests", "64"),
        ("dev/sdz", "\0\0SIG\0\0\0"),
    ] {
        let path = tree.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A run that is killed after it has changed a disk.
fn disk_run(tree: &TempDir, root: &Root, state: &Path) {
    put_in(tree, "7", "S3R1AL");
    let mut ledger = Ledger::begin(state, "run").unwrap();
    let area = Area { start: 0, length: 8 };
    ledger.write_signatures(root, Path::new("/dev/sdz"), vec![area]).unwrap();
    ledger.keep_queue(root, "sdz").unwrap();
    ledger.write_file(root, Path::new("/sys/block/sdz/queue/scheduler"), "bfq").unwrap();
    ledger.write_file(root, Path::new("/sys/block/sdz/queue/nr_requests"), "128").unwrap();
}

#[test]
fn another_disk_of_the_same_name_is_neither_wiped_nor_changed() {
    let (tree, root) = host();
    let state = in_memory();
    disk_run(&tree, &root, state.path());
    // The disk is replaced by another one of the same name and size, which holds data.
    put_in(&tree, "8", "0TH3R");
    let report = restore(state.path(), &root);
    assert!(!report.complete);
    let [wipe, keep, scheduler, requests] = &report.changes[..] else { panic!("{report:?}") };
    let Some(Err(error)) = &wipe.restored else { panic!("{wipe:?}") };
    for word in ["0TH3R", "S3R1AL", "another disk", "wipefs"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    for queue in [keep, scheduler, requests] {
        assert_eq!(queue.restored, Some(Ok(())), "its queue vanished with it");
    }
    assert_eq!(fs::read(tree.path().join("dev/sdz")).unwrap(), b"\0\0SIG\0\0\0");
    assert_eq!(root.read("/sys/block/sdz/queue/nr_requests").unwrap(), "64");
}

#[test]
fn the_same_disk_is_restored_and_a_removed_one_needs_nothing() {
    let (tree, root) = host();
    let state = in_memory();
    disk_run(&tree, &root, state.path());
    assert!(restore(state.path(), &root).complete);
    assert_eq!(fs::read(tree.path().join("dev/sdz")).unwrap(), [0; 8]);
    assert_eq!(root.read("/sys/block/sdz/queue/nr_requests").unwrap(), "64");
    assert_eq!(root.read("/sys/block/sdz/queue/scheduler").unwrap(), "none");

    disk_run(&tree, &root, state.path());
    fs::remove_dir_all(tree.path().join("sys/block/sdz")).unwrap();
    assert!(restore(state.path(), &root).complete, "a removed disk counts as restored");
}

/// S15.
#[test]
fn a_ledger_without_open_changes_does_not_block_a_run() {
    let state = in_memory();
    drop(Ledger::begin(state.path(), "died-before-its-first-change").unwrap());
    assert_eq!(unfinished(state.path()).unwrap(), []);
    drop(Ledger::begin(state.path(), "died").unwrap());
    let next = Ledger::begin(state.path(), "next").unwrap();
    assert!(next.finish().unwrap());
    assert_eq!(fs::read_dir(state.path().join("ledger")).unwrap().count(), 0);
}
