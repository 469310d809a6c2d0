//! File systems that stop answering beneath a command: nothing of the host stays changed, whatever its own thread waits for.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_test_support::{HostSnapshot, SilentFs, entries, skip};
use rustix::process::Signal;

use crate::bench::Bench;
use crate::ends::BESIDE;
use crate::own_device::{Mounted, OwnDevice};
use crate::running::Running;

/// A file system in which nothing can be written any more, until this value is dropped.
pub(crate) struct Frozen<'p>(&'p Path);

impl<'p> Frozen<'p> {
    pub(crate) fn freeze(at: &'p Path) -> Self {
        assert!(Command::new("fsfreeze").arg("-f").arg(at).status().unwrap().success());
        Self(at)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(self.0).status();
    }
}

/// A loop device of this many mebibytes with ext4, and its mount.
pub(crate) fn ext4(bench: &Bench, mebi: u64) -> (OwnDevice, Mounted) {
    let device = OwnDevice::attach(&bench.path("image"), mebi);
    device.make_ext4();
    let mounted = Mounted::device(&device, bench.path("mounted"));
    (device, mounted)
}

/// Waits for this line on stderr, which comes last, and says how long that took.
fn wait_for_stand_in(run: &mut Running, name: &str) {
    let begun = Instant::now();
    run.wait_until("stand-in", |run| run.stderr().contains("file system that does not answer"));
    eprintln!("{name}: another thread was done after {:?}", begun.elapsed());
}

#[test]
fn ledgers_on_a_file_system_that_never_answers_are_named_with_code_6() {
    let bench = Bench::aside();
    let Some(silent) = SilentFs::mount(&bench.path("silent")) else {
        skip("ledgers on a silent file system", "no FUSE");
        return;
    };
    let start = |name: &str, words: &[&str]| {
        let folder = bench.path(name);
        fs::create_dir(&folder).unwrap();
        let mut command = bench.program();
        command.args(words).env("ASSAY_STATE", &silent.at);
        Running::start(command, &folder, bench.out())
    };
    let study = bench.write("study.toml", BESIDE);
    let commands: [(&str, &[&str]); 6] = [
        ("restore", &["restore"]),
        ("run", &["run", "--yes", study.to_str().unwrap()]),
        ("exec", &["exec", "--", "true"]),
        ("blame", &["blame", "--", "true"]),
        ("conform", &["conform", "--yes", "pids"]),
        ("probe", &["probe", "--group", "/x"]),
    ];
    let runs = commands.map(|(name, words)| start(name, words));
    let interrupted = start("interrupted", &["restore"]);
    silent.wait_for_a_victim();
    interrupted.signal(Signal::TERM);
    assert_eq!(interrupted.end(Duration::from_secs(60)).status.code(), None);
    for run in runs {
        let ended = run.end(Duration::from_secs(60));
        ended.assert_code(6);
        ended.assert_says(&[silent.at.to_str().unwrap(), "did not answer within 15s"]);
    }
}

#[test]
fn a_run_folder_that_stops_answering_does_not_hold_up_the_restore() {
    let test = "a frozen run folder";
    let Some(bench) = Bench::on_host(test) else { return };
    let (_device, mounted) = ext4(&bench, 64);
    let before = HostSnapshot::take();
    let study = bench.write("study.toml", BESIDE);
    let out = mounted.at.join("run");
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
    let mut run = Running::start(command, bench.folder(), out);
    run.wait_until("the window", |run| run.says("run"));
    // The sampler writes once a second.
    let frozen = Frozen::freeze(&mounted.at);
    sleep(Duration::from_millis(1500));
    run.signal(Signal::TERM);
    wait_for_stand_in(&mut run, test);
    HostSnapshot::assert_same(&before, test);
    assert!(entries(&bench.path("state/ledger")).is_empty());
    drop(frozen);
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(130);
    ended.assert_says(&["nothing of the host is left changed"]);
    bench.assay(["restore"]).assert_code(0);
}

#[test]
fn ledgers_that_stop_answering_do_not_hold_up_the_restore_and_stay() {
    let test = "frozen ledgers";
    let Some(bench) = Bench::on_host(test) else { return };
    let (_device, mounted) = ext4(&bench, 64);
    let before = HostSnapshot::take();
    let state = mounted.at.join("state");
    let mut command = bench.program();
    command.env("ASSAY_STATE", &state);
    command.args([
        "exec",
        "--set",
        "cpu.weight=50",
        "--",
        "sh",
        "-c",
        "touch ready; exec sleep 77",
    ]);
    let mut run = Running::start(command, bench.folder(), bench.out());
    let ready = bench.path("ready");
    run.wait_until("the command", |_| ready.exists());
    let frozen = Frozen::freeze(&mounted.at);
    run.signal(Signal::TERM);
    wait_for_stand_in(&mut run, test);
    HostSnapshot::assert_same(&before, test);
    drop(frozen);
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(6);
    ended.assert_says(&[
        "everything is restored, but ",
        state.to_str().unwrap(),
        "stays: `assay restore`",
    ]);
    let mut restore = bench.program();
    restore.env("ASSAY_STATE", &state).arg("restore");
    bench.finish(restore).assert_code(0);
    HostSnapshot::assert_same(&before, test);
    assert!(entries(&state.join("ledger")).is_empty());
}

/// Not on FUSE: an exec(2) that closes a copy of its file would hang there, and with it each reader of /proc/PID of that process.
#[test]
fn a_file_behind_stdout_that_stops_answering_does_not_hold_up_a_signal() {
    let test = "frozen stdout";
    let Some(bench) = Bench::on_host(test) else { return };
    let (_device, mounted) = ext4(&bench, 64);
    let out = mounted.at.join("stdout");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" audit watch --interval 100ms > mounted/stdout"]);
    command.arg(bench.executable());
    bench.settle(&mut command);
    let mut run = Running::start(command, bench.folder(), bench.out());
    run.wait_until("first line", |_| fs::read_to_string(&out).is_ok_and(|text| !text.is_empty()));
    let frozen = Frozen::freeze(&mounted.at);
    // It writes its last line then.
    run.signal(Signal::TERM);
    wait_for_stand_in(&mut run, test);
    drop(frozen);
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(130);
    ended.assert_says(&["nothing of the host is left changed"]);
}
