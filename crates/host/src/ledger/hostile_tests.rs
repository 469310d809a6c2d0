//! Interference by others: in the ledger, in a scratch directory during a run, in a disk slot. Root
//! then restores only what this run changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assay_sys::kernel::Root;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use super::change::{Area, Change};
use super::foreign_host_tests::{assert_foreign_files_unchanged, host, in_memory, restore};
use super::{Ledger, restore_all, restore_change};

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

/// A partition of the disk in the fake host tree, with a node that holds something. In sysfs a link leads to it.
fn part_in(tree: &TempDir, first_sector: &str) {
    put_in(tree, "7", "S3R1AL");
    let directory = tree.path().join("sys/block/sdz/sdz1");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("partition"), "1").unwrap();
    fs::write(directory.join("start"), first_sector).unwrap();
    fs::create_dir_all(tree.path().join("sys/class/block")).unwrap();
    let link = tree.path().join("sys/class/block/sdz1");
    if link.symlink_metadata().is_err() {
        symlink(&directory, link).unwrap();
    }
    fs::write(tree.path().join("dev/sdz1"), "\0\0SIG\0\0\0").unwrap();
}

/// A host after a run that was killed once it had formatted a partition, and the ledgers.
fn with_formatted_part() -> (TempDir, Root, TempDir) {
    let (tree, root) = host();
    let state = in_memory();
    part_in(&tree, "2048");
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    let area = Area { start: 0, length: 8 };
    ledger.write_signatures(&root, Path::new("/dev/sdz1"), vec![area]).unwrap();
    drop(ledger);
    (tree, root, state)
}

/// The error of restoring after a partition was formatted and something was done to its disk.
fn refusal_after(act: impl FnOnce(&TempDir)) -> String {
    let (tree, root, state) = with_formatted_part();
    act(&tree);
    let report = restore(state.path(), &root);
    assert!(!report.complete, "{report:?}");
    assert_eq!(fs::read(tree.path().join("dev/sdz1")).unwrap(), b"\0\0SIG\0\0\0");
    let Some(Err(error)) = &report.changes[0].restored else { panic!("{report:?}") };
    error.to_string()
}

#[test]
fn another_part_of_the_same_disk_is_not_wiped() {
    let error = refusal_after(|tree| part_in(tree, "4096"));
    for word in ["sector 4096", "sector 2048", "wipefs"] {
        assert!(error.contains(word), "{error}");
    }
    let error = refusal_after(|tree| {
        fs::remove_file(tree.path().join("sys/class/block/sdz1")).unwrap();
        fs::remove_dir_all(tree.path().join("sys/block/sdz/sdz1")).unwrap();
    });
    assert!(error.contains("it is missing") && error.contains("S3R1AL"), "{error}");
}

#[test]
fn the_same_part_of_a_disk_is_wiped() {
    let (tree, root, state) = with_formatted_part();
    assert!(restore(state.path(), &root).complete);
    assert_eq!(fs::read(tree.path().join("dev/sdz1")).unwrap(), [0; 8]);
}

/// A forged size does not wrap around, and wipes nothing.
#[test]
fn an_area_beyond_any_disk_is_refused() {
    let (tree, root) = host();
    put_in(&tree, "7", "S3R1AL");
    let image = tree.path().join("dev/sdz");
    let areas = [Area { start: u64::MAX - 8, length: 4096 }];
    let error =
        restore_change::wipe_signatures(&root, &image, &areas, None, None).unwrap_err().to_string();
    assert!(error.contains("beyond any disk"), "{error}");
    assert_eq!(fs::read(&image).unwrap(), b"\0\0SIG\0\0\0");
    assert!(restore_all(tree.path(), &root).is_ok());
}
