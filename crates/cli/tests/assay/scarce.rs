//! No room for ledgers, no right to write them, few descriptors: each command says what is missing, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_test_support::{HostSnapshot, Need};

use crate::bench::Bench;
use crate::own_device::Mounted;
use crate::running::Ended;

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
    for number in [12, 14, 16, 18, 21, 25, 30, 40] {
        let limit = format!("--nofile={number}:{number}");
        for words in COMMANDS {
            run(&bench, &["prlimit", &limit], words, &state);
            let restore = bench.assay(["restore"]);
            assert_eq!(restore.stdout, "nothing to restore\n", "{number} {words:?}");
        }
    }
}
