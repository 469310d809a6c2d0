//! Another user swaps names while root creates, replaces and removes: no file of anyone else is
//! touched, however the race ends.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use assay_files::Dir;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Swaps two names as fast as it can.
struct Renamer {
    stop: Arc<AtomicBool>,
    exchanges: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Renamer {
    fn start(one: PathBuf, other: PathBuf) -> Self {
        let (stop, exchanges) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&exchanges));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                if renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok() {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self { stop, exchanges, thread: Some(thread) }
    }

    fn count(&self) -> u64 {
        self.exchanges.load(Ordering::Relaxed)
    }
}

impl Drop for Renamer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A folder in memory where possible: the test is about the race, not about the disk.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A tree of another user, which must not change.
fn victim(temp: &Path) -> PathBuf {
    let victim = temp.join("victim");
    fs::create_dir_all(victim.join("inner")).unwrap();
    for name in ["a", "inner/b", "verdict.json", "inner/verdict.json"] {
        fs::write(victim.join(name), "theirs").unwrap();
    }
    victim
}

fn assert_whole(victim: &Path) {
    let mut names = Vec::new();
    for folder in ["", "inner"] {
        for entry in fs::read_dir(victim.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                assert_eq!(fs::read_to_string(&path).unwrap(), "theirs", "{}", path.display());
                assert_eq!(
                    path.metadata().unwrap().uid(),
                    fs::metadata("/proc/self").unwrap().uid()
                );
            }
            names.push(path.strip_prefix(victim).unwrap().display().to_string());
        }
    }
    names.sort();
    assert_eq!(names, ["a", "inner", "inner/b", "inner/verdict.json", "verdict.json"]);
}

fn remove_against_a_renamer(tries: usize) {
    let temp = in_memory();
    let victim = victim(temp.path());
    let (work, link) = (temp.path().join("work"), temp.path().join("work/link"));
    fs::create_dir(&work).unwrap();
    symlink(&victim, &link).unwrap();
    let dir = Dir::open(&work).unwrap();
    let (mut removed, mut exchanged) = (0, 0);
    for _ in 0..tries {
        let own = dir.make_new_dir("scratch").unwrap();
        let identity = own.identity().unwrap();
        own.replace("data", b"ours").unwrap();
        own.make_dir("inner").unwrap().replace("b", b"ours").unwrap();
        let renamer = Renamer::start(work.join("scratch"), link.clone());
        let first = renamer.count();
        while renamer.count() < first + 2 {
            std::hint::spin_loop();
        }
        match dir.remove_own_tree("scratch", identity, &mut || Ok(())) {
            Ok(()) => removed += 1,
            Err(_) => exchanged += 1,
        }
        drop(renamer);
        assert_whole(&victim);
        // Whatever name our directory ends up with, it is removed by its identity.
        for name in ["scratch", "link"] {
            let _ = dir.remove_own_tree(name, identity, &mut || Ok(()));
            if work.join(name).is_symlink() {
                fs::remove_file(work.join(name)).unwrap();
            }
        }
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
        symlink(&victim, &link).unwrap();
    }
    assert_whole(&victim);
    assert_eq!(removed + exchanged, tries);
    println!("{tries} tries: {removed} removed, {exchanged} found something else there");
}

fn replace_against_a_renamer(tries: usize) {
    let temp = in_memory();
    let victim = victim(temp.path());
    let run = temp.path().join("run");
    fs::create_dir_all(run.join("export")).unwrap();
    symlink(&victim, run.join("away")).unwrap();
    symlink(victim.join("verdict.json"), run.join("hook")).unwrap();
    fs::write(run.join("verdict.json"), "old").unwrap();
    let dir = Dir::open(&run).unwrap();
    let folders = Renamer::start(run.join("export"), run.join("away"));
    let files = Renamer::start(run.join("verdict.json"), run.join("hook"));
    let mut refused = 0;
    for _ in 0..tries {
        refused += usize::from(dir.replace("export/verdict.json", b"ours").is_err());
        refused += usize::from(dir.replace("export/inner/verdict.json", b"ours").is_err());
        refused += usize::from(dir.make_dir("export/inner").is_err());
        let _ = dir.replace("verdict.json", b"ours");
        let _ = dir.append("verdict.json").map(|mut file| {
            use std::io::Write;
            file.write_all(b"ours")
        });
        let _ = dir.remove_file("export/a");
    }
    assert!(folders.count() > 0 && files.count() > 0);
    drop((folders, files));
    println!("{tries} tries: {refused} refused");
    assert_whole(&victim);
}

#[test]
fn a_tree_is_removed_by_identity_and_not_by_name() {
    remove_against_a_renamer(300);
}

#[test]
fn writes_never_leave_the_folder() {
    replace_against_a_renamer(300);
}

/// The full count; takes some minutes on a busy machine.
#[test]
#[ignore = "long: cargo test -p assay-files -- --ignored"]
fn ten_thousand_tries_of_each_touch_no_foreign_file() {
    remove_against_a_renamer(10_000);
    replace_against_a_renamer(10_000);
}
