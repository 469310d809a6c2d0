//! Somebody else's hand: in the ledger, in a scratch directory while a run lasts, in the slot of a
//! disk. What root then takes back is what this run made, and nothing else.

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

/// A host in a folder, with something of somebody else's on it.
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

fn assert_theirs_is_whole(tree: &TempDir) {
    for file in ["srv/theirs/inner/file", "etc/shadow", "proc/sys/kernel/core_pattern"] {
        assert_eq!(fs::read_to_string(tree.path().join(file)).unwrap(), "theirs", "{file}");
    }
    let agent = tree.path().join("sys/fs/cgroup/release_agent");
    assert_eq!(fs::read_to_string(agent).unwrap(), "theirs");
    assert!(tree.path().join("sys/fs/cgroup/foreign").is_dir());
}

/// A ledger as somebody writes it who knows the format, seals and all.
pub(super) fn forged(state: &Path, changes: Vec<Change>) {
    let is_tree = |change: &Change| {
        matches!(change, Change::MakeTree { .. } | Change::MakeFile { .. }).then_some((0, 0))
    };
    forged_as(state, changes, &is_tree);
}

/// The same, with the device and inode of what each change is said to have made.
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
fn a_forged_ledger_asks_for_nothing_that_no_run_does() {
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
        // What is in the places that runs write to and no run writes.
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
    assert_theirs_is_whole(&tree);
    for file in FOREIGN {
        assert_eq!(fs::read_to_string(tree.path().join(file)).unwrap(), "theirs", "{file}");
    }
}

/// Beside what runs write.
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
    let error = super::undo::wipe_signatures(&image, &areas, None).unwrap_err().to_string();
    assert!(error.contains("beyond any disk"), "{error}");
    assert_eq!(fs::read(&image).unwrap(), b"\0\0SIG\0\0\0");
    assert!(restore_all(tree.path(), &root).is_ok());
}

#[test]
fn a_state_directory_or_a_ledger_of_somebody_else_is_refused_with_owner_mode_and_remedy() {
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

    // A link into a home, as the review had it.
    let (state, home) = (in_memory(), in_memory());
    forged(home.path(), change());
    fs::create_dir(state.path().join("ledger")).unwrap();
    let (from, to) = ("ledger/forged.jsonl", "ledger/x.jsonl");
    symlink(home.path().join(from), state.path().join(to)).unwrap();
    let error = not_restored(state.path(), &root).to_string();
    assert!(error.contains("it is a link"), "{error}");
}

/// Why a restore did nothing with the one ledger that there is.
fn not_restored(state: &Path, root: &Root) -> Error {
    match restore_all(state, root) {
        Err(error) => error,
        Ok(mut report) => {
            assert!(!report.is_complete() && report.ledgers.is_empty());
            report.held.remove(0)
        }
    }
}

/// One file that is no ledger, whoever put it there, and the restore of all others goes on.
#[test]
fn an_odd_file_stops_the_restore_of_no_other_and_can_be_set_aside() {
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
        fs::create_dir(ledgers.join("unborn.new")).unwrap();
        let report = restore_all(state.path(), &root).unwrap();
        assert!(!report.is_complete(), "{kind}");
        assert!(report.ledgers.iter().any(|ledger| ledger.complete), "{kind}: {report:?}");
        assert!(!tree.path().join("srv/assay-x").exists(), "{kind}");
        let said: Vec<String> = report.held.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|error| error.contains("unborn.new")), "{said:?}");
        for name in ["a-odd", "z-odd"] {
            let is_named = said.iter().any(|error| error.contains(name))
                || report.ledgers.iter().any(|found| found.run_id == name && !found.complete);
            assert!(is_named, "{kind}: {said:?}");
            set_aside(state.path(), name).unwrap();
        }
        fs::remove_dir(ledgers.join("unborn.new")).unwrap();
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

/// As an older version has left them, or somebody with a wide umask.
#[test]
fn what_is_open_to_others_becomes_its_owner_s_alone() {
    let place = in_memory();
    let state = place.path().join("assay");
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
fn ledgers_and_their_directory_are_their_owner_s_alone() {
    let state = in_memory();
    let below = state.path().join("new");
    let ledger = Ledger::begin(&below, "run").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&below), 0o700);
    assert_eq!(mode(&below.join("ledger")), 0o700);
    assert_eq!(mode(ledger.path()), 0o600);
    assert!(ledger.finish().unwrap());
}

/// Nobody of this run has put anything in before it was written down which directory it is.
#[test]
fn a_directory_of_which_nothing_was_written_down_goes_only_when_it_is_empty() {
    let (tree, root) = host();
    let place = tree.path().join("srv/assay-x");
    for (content, goes) in [(false, true), (true, false)] {
        let state = in_memory();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger
            .record(Change::MakeTree { path: "/srv/assay-x".into() }, || {
                root.make_dir("/srv/assay-x")
            })
            .unwrap();
        if content {
            fs::write(place.join("file"), "theirs").unwrap();
        }
        drop(ledger);
        assert_eq!(restore(state.path(), &root).complete, goes);
        assert_eq!(place.exists(), !goes);
    }
}

/// S1: a scratch directory in a directory of somebody else, who exchanges it for a link.
fn against_a_renamer(tries: usize) {
    let (tree, root) = host();
    let victim = tree.path().join("srv/theirs");
    let work = tree.path().join("mine");
    fs::create_dir(&work).unwrap();
    let (name, hook) = (work.join("assay-scratch"), work.join("hook"));
    let mut back = 0;
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
        back += usize::from(ledger.restore(&root).is_empty());
        stop.store(true, Ordering::Release);
        renamer.join().unwrap();
        assert_theirs_is_whole(&tree);
        drop(ledger);
        for path in [&name, &hook] {
            let found = path.symlink_metadata();
            match found.map(|found| found.is_dir()) {
                Ok(true) => fs::remove_dir_all(path).unwrap(),
                Ok(false) => fs::remove_file(path).unwrap(),
                Err(_) => {}
            }
        }
    }
    println!("{tries} tries, {back} taken back, nothing of theirs touched");
}

#[test]
fn a_scratch_directory_that_is_exchanged_for_a_link_leads_nowhere() {
    against_a_renamer(300);
}

#[test]
#[ignore = "long: cargo test -p assay-host hostile -- --ignored"]
fn a_scratch_directory_is_exchanged_ten_thousand_times() {
    against_a_renamer(10_000);
}

#[test]
fn a_link_or_another_directory_in_the_place_of_a_scratch_directory_is_refused_and_named() {
    let (tree, root) = host();
    for exchange in ["link", "directory"] {
        let state = in_memory();
        let name = tree.path().join("srv/assay-scratch");
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger.make_tree(&root, Path::new("/srv/assay-scratch")).unwrap();
        fs::rename(&name, tree.path().join("srv/moved")).unwrap();
        match exchange {
            "link" => symlink(tree.path().join("srv/theirs"), &name).unwrap(),
            _ => fs::rename(tree.path().join("srv/theirs"), &name).unwrap(),
        }
        let errors = ledger.restore(&root);
        assert!(errors[0].to_string().contains("somebody has put something else"), "{errors:?}");
        match exchange {
            "link" => fs::remove_file(&name).unwrap(),
            _ => fs::rename(&name, tree.path().join("srv/theirs")).unwrap(),
        }
        assert_theirs_is_whole(&tree);
        fs::remove_dir(tree.path().join("srv/moved")).unwrap();
    }
}

/// A disk in the tree that stands in for a host.
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
fn another_disk_of_the_same_name_is_neither_wiped_nor_set() {
    let (tree, root) = host();
    let state = in_memory();
    disk_run(&tree, &root, state.path());
    // Pulled, and another one put in: its name and size are the same, and it has data.
    put_in(&tree, "8", "0TH3R");
    let report = restore(state.path(), &root);
    assert!(!report.complete);
    let [wipe, keep, scheduler, requests] = &report.changes[..] else { panic!("{report:?}") };
    let Some(Err(error)) = &wipe.restored else { panic!("{wipe:?}") };
    for word in ["0TH3R", "S3R1AL", "another disk", "wipefs"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    for queue in [keep, scheduler, requests] {
        assert_eq!(queue.restored, Some(Ok(())), "its queue went with it");
    }
    assert_eq!(fs::read(tree.path().join("dev/sdz")).unwrap(), b"\0\0SIG\0\0\0");
    assert_eq!(root.read("/sys/block/sdz/queue/nr_requests").unwrap(), "64");
}

#[test]
fn the_same_disk_is_wiped_and_set_and_one_that_is_gone_needs_nothing() {
    let (tree, root) = host();
    let state = in_memory();
    disk_run(&tree, &root, state.path());
    assert!(restore(state.path(), &root).complete);
    assert_eq!(fs::read(tree.path().join("dev/sdz")).unwrap(), [0; 8]);
    assert_eq!(root.read("/sys/block/sdz/queue/nr_requests").unwrap(), "64");
    assert_eq!(root.read("/sys/block/sdz/queue/scheduler").unwrap(), "none");

    disk_run(&tree, &root, state.path());
    fs::remove_dir_all(tree.path().join("sys/block/sdz")).unwrap();
    assert!(restore(state.path(), &root).complete, "a disk that went away counts as taken back");
}

/// S15.
#[test]
fn a_ledger_in_which_nothing_stands_open_hinders_nobody() {
    let state = in_memory();
    drop(Ledger::begin(state.path(), "died-before-its-first-change").unwrap());
    assert_eq!(unfinished(state.path()).unwrap(), []);
    drop(Ledger::begin(state.path(), "died").unwrap());
    let next = Ledger::begin(state.path(), "next").unwrap();
    assert!(next.finish().unwrap());
    assert_eq!(fs::read_dir(state.path().join("ledger")).unwrap().count(), 0);
}
