//! Kills under adverse conditions: the ledger's disk is full or read-only, workloads are frozen by another
//! program, another run is in progress. Some of each, at random instants of the window; a restore reports what
//! it cannot do, and the next one completes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use assay_test_support::{HostSnapshot, entries, skip};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::draw::seed;
use super::studies::Changes;
use super::times;
use crate::bench::Bench;
use crate::delegated::{self, as_nobody, delegated};
use crate::freezer::Freezer;
use crate::own_device::{Mounted, OwnDevice};
use crate::running::{Running, processes_in};
use crate::study::Weights;

/// Kills of each kind.
fn kills() -> usize {
    2 * times()
}

/// A run with this state directory, killed some time after its window has begun.
struct Victim {
    state: PathBuf,
    out: PathBuf,
    running: Running,
}

impl Victim {
    fn start(bench: &Bench, name: &str, state: &Path) -> Self {
        let data = bench.path("data");
        let _ = fs::create_dir(&data);
        let text = Changes::Queue.study(&data).replace("\"1 s\"", "\"60 s\"");
        let study = bench.write(&format!("{name}.toml"), &text);
        let out = bench.path(name);
        let output = bench.path(&format!("output-{name}"));
        fs::create_dir(&output).unwrap();
        let mut command = bench.program();
        command.env("ASSAY_STATE", state).args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
        let mut running = Running::start(command, &output, out.clone());
        running.wait_until("the window", |run| run.says("run"));
        Self { state: state.to_owned(), out, running }
    }

    fn kill(self) -> (PathBuf, PathBuf) {
        self.running.kill();
        (self.state, self.out)
    }
}

fn restoring(bench: &Bench, state: &Path) -> Command {
    let mut command = bench.program();
    command.env("ASSAY_STATE", state).arg("restore");
    command
}

fn restore(bench: &Bench, state: &Path) -> crate::running::Ended {
    bench.finish(restoring(bench, state))
}

fn pause(random: &mut SmallRng) {
    sleep(Duration::from_millis(random.random_range(0..400)));
}

#[test]
fn kills_while_the_disk_of_the_ledger_is_full_leave_no_trace() {
    let Some(bench) = Bench::on_host("kills with a full disk") else { return };
    let state = Mounted::tmpfs(bench.path("small"), 1);
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let before = HostSnapshot::take();
    for number in 0..kills() {
        let when = format!("seed {seed}, kill {number}");
        let victim = Victim::start(&bench, &format!("run-{number}"), &state.at);
        state.fill();
        pause(&mut random);
        let (place, out) = victim.kill();
        let first = restore(&bench, &place);
        assert_eq!(first.status.code(), Some(0), "{when}\n{}", first.stderr);
        fs::remove_file(state.filler()).unwrap();
        HostSnapshot::assert_same(&before, &when);
        assert!(processes_in(&out).is_empty(), "{when}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn kills_with_a_read_only_state_folder_are_reported_and_restored_afterwards() {
    let Some(bench) = Bench::on_host("kills with a read-only state folder") else { return };
    let state = Mounted::tmpfs(bench.path("small"), 1);
    // The run has its ledger open for writing, so the file system can only become read-only after the run
    // is dead.
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let before = HostSnapshot::take();
    for number in 0..kills() {
        let victim = Victim::start(&bench, &format!("run-{number}"), &state.at);
        pause(&mut random);
        let (place, out) = victim.kill();
        state.remount("ro");
        let refused = restore(&bench, &place);
        refused.assert_code(6);
        refused.assert_says(&["Read-only file system"]);
        state.remount("rw");
        restore(&bench, &place).assert_code(0);
        HostSnapshot::assert_same(&before, &format!("seed {seed}, kill {number}"));
        fs::remove_dir_all(&out).unwrap();
    }
}

/// All at once, since each restore waits for the frozen processes.
#[test]
fn kills_with_a_frozen_workload_name_it_and_restore_when_it_is_thawed() {
    let test = "kills with frozen workloads";
    let Some(bench) = Bench::on_host(test) else { return };
    if Freezer::make().is_none() {
        skip(test, "no freezer on cgroup v1");
        return;
    }
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let before = HostSnapshot::take();
    let dead: Vec<_> = (0..kills())
        .map(|number| {
            let state = bench.path(&format!("state-{number}"));
            let victim = Victim::start(&bench, &format!("run-{number}"), &state);
            let freezer = Freezer::make().unwrap();
            processes_in(&victim.out).into_iter().for_each(|process| freezer.put(process));
            freezer.freeze();
            pause(&mut random);
            (victim.kill(), freezer)
        })
        .collect();
    let restores = dead.iter().map(|((state, out), _)| {
        let output = state.with_extension("output");
        fs::create_dir(&output).unwrap();
        Running::start(restoring(&bench, state), &output, out.clone())
    });
    for (number, restore) in restores.collect::<Vec<_>>().into_iter().enumerate() {
        let ended = restore.end(Duration::from_secs(120));
        assert_eq!(ended.status.code(), Some(6), "seed {seed}, kill {number}\n{}", ended.stderr);
        ended.assert_says(&["survived SIGKILL", " (fio)", "write THAWED to its freezer.state"]);
    }
    dead.iter().for_each(|(_, freezer)| freezer.thaw());
    sleep(Duration::from_millis(200));
    for ((state, out), freezer) in dead {
        drop(freezer);
        restore(&bench, &state).assert_code(0);
        assert!(processes_in(&out).is_empty(), "seed {seed}");
    }
    HostSnapshot::assert_same(&before, &format!("seed {seed}"));
}

/// The disk is replaced by another one before the restore.
#[test]
fn kills_before_a_disk_is_replaced_leave_the_new_disk_unchanged() {
    let Some(bench) = Bench::on_host("kills and exchanged disks") else { return };
    let before = HostSnapshot::take();
    let device = OwnDevice::attach(&bench.path("disk"), 64);
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let disk = format!("{}\nformat = \"ext4\"", device.as_disk());
    let study = Weights { disk, groups: 2, at_most: "60 s", ..Weights::small() };
    let study = bench.write("study.toml", &study.text().replace("iodepth = 8", "size = \"4m\""));
    let mut run = bench.start(&study, &[]);
    run.wait_until("the window", |run| run.says("run"));
    pause(&mut random);
    run.kill();
    // Workloads, and then the mount, hold the disk until they are removed.
    super::end_processes_in(&bench.out());
    let mounts = || fs::read_to_string("/proc/self/mounts").unwrap();
    let of_device = format!("{} ", device.node.display());
    let call = |words: &[&str]| {
        let done = Command::new(words[0]).args(&words[1..]).arg(&device.node).status().unwrap();
        assert!(done.success(), "seed {seed}: {words:?}");
    };
    for _ in 0..100 {
        if !mounts().lines().any(|line| line.starts_with(&of_device)) {
            break;
        }
        let _ = Command::new("umount").arg(&device.node).status();
        sleep(Duration::from_millis(50));
    }
    call(&["losetup", "--detach"]);
    let other = bench.path("other");
    File::create(&other).unwrap().set_len(64 << 20).unwrap();
    let attach = [device.node.as_os_str(), other.as_os_str()];
    assert!(Command::new("losetup").args(attach).status().unwrap().success());
    device.make_ext4();
    let restored = bench.assay(["restore"]);
    restored.assert_code(6);
    restored.assert_says(&["another disk has this name now", "--set-aside"]);
    call(&["dumpe2fs", "-h"]);
    let ledger = fs::read_dir(bench.path("state/ledger")).unwrap().next().unwrap().unwrap().path();
    let run = ledger.file_stem().unwrap().to_owned();
    bench.assay(["restore".as_ref(), "--set-aside".as_ref(), run.as_os_str()]).assert_code(0);
    drop(device);
    HostSnapshot::assert_same(&before, "after the test");
}

#[test]
fn kills_of_two_runs_at_once_leave_each_other_alone() {
    let Some(bench) = Bench::on_host("kills of two runs at once") else { return };
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let before = HostSnapshot::take();
    for number in 0..kills() {
        let when = format!("seed {seed}, kill {number}");
        let start = |user: &str| {
            Victim::start(
                &bench,
                &format!("{user}-{number}"),
                &bench.path(&format!("state-{user}")),
            )
        };
        let (one, mut other) = (start("one"), start("other"));
        pause(&mut random);
        let (state, out) = one.kill();
        restore(&bench, &state).assert_code(0);
        assert!(processes_in(&out).is_empty(), "{when}");
        assert!(!other.running.has_ended(), "{when}");
        assert!(!processes_in(&other.out).is_empty(), "{when}: workloads of the other run ended");
        pause(&mut random);
        let (state, out) = other.kill();
        restore(&bench, &state).assert_code(0);
        assert!(processes_in(&out).is_empty(), "{when}");
        HostSnapshot::assert_same(&before, &when);
    }
}

/// The owner of the directory puts a link to a directory of root's in the place of the scratch directory.
#[test]
fn kills_before_a_directory_is_exchanged_for_a_link_leave_its_target_unchanged() {
    let Some(bench) = Bench::on_host("kills and links") else { return };
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let before = HostSnapshot::take();
    let (data, victim) = (bench.path("data"), bench.path("victim"));
    for path in [&data, &victim] {
        fs::create_dir(path).unwrap();
    }
    fs::write(victim.join("file"), "root's").unwrap();
    let text = Changes::Directory.study(&data).replace("\"1 s\"", "\"60 s\"");
    let study = bench.write("study.toml", &text);
    for number in 0..kills() {
        let when = format!("seed {seed}, kill {number}");
        let mut run = bench.start(&study, &[]);
        run.wait_until("the window", |run| run.says("run"));
        pause(&mut random);
        run.kill();
        let scratch = entries(&data).pop().unwrap();
        let moved = bench.path("moved");
        fs::rename(&scratch, &moved).unwrap();
        std::os::unix::fs::symlink(&victim, &scratch).unwrap();
        let refused = bench.assay(["restore"]);
        assert_eq!(refused.status.code(), Some(6), "{when}\n{}", refused.stderr);
        refused.assert_says(&[scratch.file_name().unwrap().to_str().unwrap()]);
        assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "root's", "{when}");
        fs::remove_file(&scratch).unwrap();
        fs::rename(&moved, &scratch).unwrap();
        bench.assay(["restore"]).assert_code(0);
        assert_eq!(entries(&data), [""; 0].map(PathBuf::from), "{when}");
        HostSnapshot::assert_same(&before, &when);
        fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn kills_of_the_runs_of_two_users_leave_each_other_alone() {
    let Some((bench, _groups)) = delegated("kills of two users", &["cpu", "cpuacct"]) else {
        return;
    };
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let study = delegated::study(&bench, "\"cpu.weight\" = [100, 300]");
    let text = fs::read_to_string(&study).unwrap().replace("\"1 s\"", "\"60 s\"");
    fs::write(&study, text).unwrap();
    drop(as_nobody(&bench));
    let before = HostSnapshot::take_with(&[&bench.path("home/data")]);
    for number in 0..kills() {
        let when = format!("seed {seed}, kill {number}");
        let (out, output) = (bench.path("home/run"), bench.path(&format!("output-{number}")));
        fs::create_dir(&output).unwrap();
        let mut of_user = as_nobody(&bench);
        of_user.args(["run", "--yes"]).arg(&study).arg("--out").arg(&out);
        let mut of_user = Running::start(of_user, &output, out.clone());
        of_user.wait_until("the window", |run| run.says("run"));
        let of_root = Victim::start(&bench, &format!("root-{number}"), &bench.path("state-root"));
        pause(&mut random);
        of_user.kill();
        let (state, out_of_root) = (of_root.state.clone(), of_root.out.clone());
        let mut restore_of_user = as_nobody(&bench);
        restore_of_user.arg("restore");
        bench.finish(restore_of_user).assert_code(0);
        assert!(processes_in(&out).is_empty(), "{when}");
        assert!(!processes_in(&out_of_root).is_empty(), "{when}: the other user's run ended");
        of_root.kill();
        restore(&bench, &state).assert_code(0);
        assert!(processes_in(&out_of_root).is_empty(), "{when}");
        HostSnapshot::assert_same(&before, &when);
        fs::remove_dir_all(&out).unwrap();
    }
}
