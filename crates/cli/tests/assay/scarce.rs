//! No room for ledgers, no right to write them, few descriptors: each command says what is missing, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_test_support::{HostSnapshot, Need, entries};
use rustix::io::Errno;

use crate::bench::Bench;
use crate::kills::times;
use crate::own_device::Mounted;
use crate::running::{Ended, Running};

const SLEEPS: &str = r#"
title = "Two sleep"
[design]
repeats = 1
at_most = "1 s"
[[groups]]
name = "task"
count = 2
knobs = { "cpu.weight" = [100, 200] }
run = "sleeper"
[workloads.sleeper]
use = "command"
command = ["sh", "-c", "sleep 77 & wait"]
"#;

/// Those that have a ledger, and one that only watches.
const COMMANDS: [&[&str]; 6] = [
    &["audit", "watch", "--for", "1s"],
    &["run", "--yes", "study.toml", "--out", "run"],
    &["exec", "--set", "pids.max=50", "--", "true"],
    &["blame", "--", "true"],
    &["conform", "--yes", "pids"],
    &["restore"],
];

/// Runs one behind `prefix`, and compares the host.
fn run(bench: &Bench, prefix: &[&str], words: &[&str], state: &Path) -> Ended {
    let before = HostSnapshot::take();
    let mut command = Command::new("env");
    command.args(prefix).arg(bench.executable()).args(words);
    bench.settle(&mut command);
    command.env("ASSAY_STATE", state);
    let ended = bench.finish(command);
    let when = format!("{prefix:?} {words:?}");
    let code = ended.status.code().unwrap_or_else(|| panic!("{when}: {ended:?}"));
    assert!(matches!(code, 0 | 3..=5) && !ended.stderr.contains("panicked"), "{when}: {ended:?}");
    assert!(code < 4 || ended.stderr.contains("error: "), "{when}: {ended:?}");
    let _ = fs::remove_dir_all(bench.out());
    HostSnapshot::assert_same(&before, &when);
    bench.assert_nothing_is_left(&when);
    ended
}

#[test]
fn without_room_or_right_for_ledgers_nothing_is_changed() {
    let needs = [Need::Controller("cpu"), Need::Controller("pids")];
    let Some(bench) = Bench::with("no room or right for ledgers", &needs) else { return };
    bench.write("study.toml", SLEEPS);
    let state = Mounted::tmpfs(bench.path("small"), 1);
    state.fill();
    for (option, says) in [("rw", "No space left on device"), ("ro", "Read-only file system")] {
        state.remount(option);
        for words in &COMMANDS[1..5] {
            let ended = run(&bench, &[], words, &state.at);
            ended.assert_code(4);
            ended.assert_says(&[says, "ASSAY_STATE"]);
        }
    }
}

#[test]
fn with_few_descriptors_nothing_is_left_behind() {
    let needs = [Need::Controller("cpu"), Need::Controller("pids")];
    let Some(bench) = Bench::with("few descriptors", &needs) else { return };
    bench.write("study.toml", SLEEPS);
    let state = bench.path("state");
    // With fewer than 12 the shell that starts the program does not work.
    for number in [12, 16, 21, 30] {
        let limit = format!("--nofile={number}:{number}");
        for words in COMMANDS {
            run(&bench, &["prlimit", &limit], words, &state);
            let restore = bench.assay(["restore"]);
            assert_eq!(restore.stdout, "nothing to restore\n", "{number} {words:?}");
        }
    }
}

/// More calls than anything makes.
const FOREVER: usize = 1 << 30;

/// The calls that fail as if the machine had no room (python/no_room.py).
struct Failing {
    what: &'static str,
    error: Errno,
    first: usize,
    count: usize,
}

impl Failing {
    /// Runs a command; returns how many calls it has made as well.
    fn run(&self, bench: &Bench, words: &[&str]) -> (Ended, usize) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/no_room.py");
        let numbers = [self.error.raw_os_error().unsigned_abs() as usize, self.first, self.count];
        let mut command = Command::new("python3");
        command
            .arg(script)
            .arg(self.what)
            .args(numbers.map(|number| number.to_string()))
            .arg("calls");
        command.arg(bench.executable()).args(words);
        bench.settle(&mut command);
        let ended = bench.finish(command);
        let calls = fs::read_to_string(bench.path("calls")).unwrap().parse().unwrap();
        (ended, calls)
    }
}

/// A killed command, whose ledger is left for a restore.
fn kill_one(bench: &Bench) {
    let mut command = bench.program();
    command.args(["exec", "--set", "pids.max=50", "--", "sleep", "77"]);
    let mut running = Running::start(command, bench.folder(), bench.out());
    let ledger = bench.path("state/ledger");
    running.wait_until("a ledger", |_| !entries(&ledger).is_empty());
    running.kill();
}

/// Runs each command with calls of this kind that fail: one alone, or all from some point on. Then the next restore finishes. Some
/// thirty commands take a minute on a busy machine.
fn fail_everywhere(test: &str, what: &'static str, errors: &[(Errno, usize)]) {
    let needs = [Need::Controller("cpu"), Need::Controller("pids")];
    let Some(bench) = Bench::with(test, &needs) else { return };
    bench.write("study.toml", SLEEPS);
    for words in COMMANDS {
        let prepare = || {
            let _ = fs::remove_dir_all(bench.out());
            if words == ["restore"] {
                kill_one(&bench);
            }
        };
        prepare();
        let none = Failing { what, error: Errno::AGAIN, first: 0, count: 0 };
        let (_, calls) = none.run(&bench, words);
        let points = times();
        for point in 0..=points {
            let first = calls * point / (points + 1);
            for (error, count) in errors.iter().copied() {
                let when = format!("{words:?}, {error}: {count} of {calls} {what} from {first} on");
                prepare();
                let (ended, _) = Failing { what, error, first, count }.run(&bench, words);
                let code = ended.status.code().unwrap_or_else(|| panic!("{when}: {ended:?}"));
                eprintln!("{when}: {code}");
                // The loader of a program that is not static.
                if code == 127 {
                    continue;
                }
                // A probe of a case counts the refusal as one by its group.
                let is_case = words[0] == "conform" && code == 1;
                let is_sound = is_case || matches!(code, 0 | 3..=6);
                assert!(!ended.stderr.contains("panicked"), "{when}: {ended:?}");
                assert!(is_sound, "{when}: {ended:?}");
                assert!(code < 4 || ended.stderr.contains("error: "), "{when}: {ended:?}");
                // Restoring needs files, but no threads.
                if what == "threads" {
                    bench.assert_host_is_as_before(&format!("{when}: {ended:?}"));
                }
                bench.assay(["restore"]).assert_code(0);
                bench.assert_host_is_as_before(&when);
            }
        }
    }
}

/// For root the kernel makes files beyond `fs.file-max` (fs/file_table.c): only others meet ENFILE there.
#[test]
fn with_no_files_left_on_the_machine_nothing_is_left_behind() {
    let errors = [(Errno::NFILE, 1), (Errno::NOMEM, 1), (Errno::NFILE, FOREVER)];
    fail_everywhere("no files left", "files", &errors);
}

/// Somebody else has taken them all (pid_max, threads-max), or the group of this process has a limit.
#[test]
fn with_no_threads_left_on_the_machine_nothing_is_left_behind() {
    fail_everywhere("no threads left", "threads", &[(Errno::AGAIN, 1), (Errno::AGAIN, FOREVER)]);
}
