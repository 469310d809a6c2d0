//! Another user swaps names while root creates, replaces and removes: no file of anyone else is
//! touched, however the race ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test")]

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_sys::files::{Caller, Dir};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

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

/// Another user owns the directory and two in it, and creates files in all of them without end. `sh` ends
/// when it may not create one any more.
#[test]
fn a_tree_is_removed_while_its_owner_creates_files_in_it() {
    const OWNER: u32 = 65534;
    let temp = in_memory();
    if fs::metadata(temp.path()).unwrap().uid() != 0 {
        return;
    }
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let dir = Dir::open(temp.path()).unwrap();
    let identity = dir.make_new_dir("scratch").unwrap().identity().unwrap();
    let mut creators = Vec::new();
    for name in ["scratch", "scratch/inner", "scratch/inner/deep"] {
        let path = dir.make_dir(name).unwrap().path().to_owned();
        chown(&path, Some(OWNER), Some(OWNER)).unwrap();
        let script = "i=0; while :; do : > f$i; i=$((i + 1)); done 2>/dev/null";
        let mut sh = Command::new("sh");
        sh.args(["-c", script]).current_dir(&path).uid(OWNER).gid(OWNER);
        creators.push(sh.spawn().unwrap());
        while fs::read_dir(&path).unwrap().count() < 100 {
            std::thread::yield_now();
        }
    }
    let mut count = 0;
    let removed = dir.remove_own_tree("scratch", identity, &mut || {
        count += 1;
        // The calls it takes without an end in sight.
        if count < 5_000_000 { Ok(()) } else { Err(std::io::Error::other("it does not end")) }
    });
    for mut creator in creators {
        let _ = creator.kill();
        creator.wait().unwrap();
    }
    removed.unwrap();
    assert!(!temp.path().join("scratch").exists());
}

/// A FUSE file system that never answers, as a user can mount one over a directory that they own. Removed
/// when dropped; whatever waits for it then gets an error.
struct Silent {
    target: PathBuf,
    _daemon: fs::File,
}

impl Silent {
    fn mount(target: &Path) -> Option<Self> {
        let daemon = fs::File::options().read(true).write(true).open("/dev/fuse").ok()?;
        let data = format!("fd={},rootmode=40000,user_id=0,group_id=0", daemon.as_raw_fd());
        let data = CString::new(data).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("assay-silent", target, "fuse", flags, Some(data.as_c_str())).ok()?;
        Some(Self { target: target.to_owned(), _daemon: daemon })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        unmount(&self.target, UnmountFlags::DETACH | UnmountFlags::FORCE).unwrap();
    }
}

/// Runs the test again in a mount namespace of its own, in which this function returns true: other tests compare
/// the mounts of the host. Without root nothing is run.
fn has_own_mounts(test: &str) -> bool {
    const INSIDE: &str = "ASSAY_TEST_HAS_OWN_MOUNTS";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("unshare");
        command.arg("--mount").arg(std::env::current_exe().unwrap()).args(["--exact", test]);
        assert!(command.env(INSIDE, "1").status().unwrap().success());
    }
    false
}

/// A process that asks it about a file waits for ever.
#[test]
fn a_file_system_that_does_not_answer_is_not_asked() {
    if !has_own_mounts("a_file_system_that_does_not_answer_is_not_asked") {
        return;
    }
    let temp = tempfile::Builder::new().prefix("assay-silent").tempdir().unwrap();
    let dir = Dir::open(temp.path()).unwrap();
    let identity = dir.make_new_dir("scratch").unwrap().identity().unwrap();
    let target = dir.make_dir("scratch/silent").unwrap().path().to_owned();
    let Some(silent) = Silent::mount(&target) else { return };
    let (send, receive) = mpsc::channel();
    let above = temp.path().to_owned();
    let thread = std::thread::spawn(move || {
        let dir = Dir::open(&above).unwrap();
        send.send(dir.remove_own_tree("scratch", identity, &mut || Ok(()))).unwrap();
        let caller = Caller { uid: 65534, gid: 65534 };
        send.send(dir.hand_over_tree(caller)).unwrap();
        send.send(dir.remove_tree("scratch/silent").map(|_| ())).unwrap();
        let scratch = dir.dir("scratch").unwrap();
        send.send(scratch.dir_on_mount("silent").map(|_| ())).unwrap();
        send.send(scratch.make_dir_on_mount("silent").map(|_| ())).unwrap();
    });
    let answers = [(); 5].map(|()| receive.recv_timeout(Duration::from_secs(10)));
    drop(silent);
    thread.join().unwrap();
    let answers = answers.map(|answer| answer.expect("it waits for the file system"));
    let [removed, handed_over, whole, opened, made] = answers;
    for opened in [opened, made].map(|error| error.unwrap_err().to_string()) {
        assert!(opened.contains("EXDEV") || opened.contains("cross-device"), "{opened}");
    }
    for error in [removed.unwrap_err(), whole.unwrap_err()] {
        assert!(error.to_string().contains("another file system is mounted there"), "{error}");
    }
    handed_over.unwrap();
    assert_eq!(fs::metadata(temp.path().join("scratch")).unwrap().uid(), 65534);
    assert_eq!(fs::metadata(&target).unwrap().uid(), 0);
}

/// The full count; takes some minutes on a busy machine.
#[test]
#[ignore = "long: cargo test -p assay-sys -- --ignored"]
fn ten_thousand_tries_of_each_touch_no_foreign_file() {
    remove_against_a_renamer(10_000);
    replace_against_a_renamer(10_000);
}
