//! `assay blame --prove`: what it refuses, and what becomes of a frozen group when the program dies.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assay_test_support::Need;
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::{KILLED, Running};

/// A seed for which the first turn holds the culprit back.
const HELD_FIRST: &str = "1";

const ENDLESS: &str = "while :; do :; done";

/// Two groups with a process that computes on CPU 0 until it is killed: of `assay exec`.
struct Groups<'b> {
    bench: &'b Bench,
    running: Vec<(Running, String)>,
}

impl<'b> Groups<'b> {
    fn start(bench: &'b Bench) -> Self {
        let one = |name: &str| {
            let mut command = bench.program();
            // Each has a ledger of its own.
            command.env("ASSAY_STATE", bench.path(name));
            command.args([
                "exec",
                "--set",
                "cpu.weight=100",
                "--",
                "taskset",
                "-c",
                "0",
                "sh",
                "-c",
            ]);
            command.arg(ENDLESS);
            let folder = bench.path(&format!("of-{name}"));
            fs::create_dir(&folder).unwrap();
            let mut run = Running::start(command, &folder, bench.out());
            let ledgers = bench.path(name).join("ledger");
            let mut group = String::new();
            run.wait_until("group", |_| {
                let names = fs::read_dir(&ledgers).into_iter().flatten().flatten();
                let ids =
                    names.filter_map(|entry| entry.path().file_stem()?.to_str().map(str::to_owned));
                group = ids.last().map(|id| format!("/assay-{id}")).unwrap_or_default();
                group.starts_with("/assay-exec-")
            });
            (run, group)
        };
        let running = ["own", "hog"].map(one).into();
        // Until both have processes.
        std::thread::sleep(Duration::from_secs(1));
        Self { bench, running }
    }

    fn prove(&self, more: &[&str]) -> std::process::Command {
        let mut command = self.bench.program();
        command.args([
            "blame",
            "--group",
            &self.running[0].1,
            "--for",
            "1s",
            "--seed",
            HELD_FIRST,
            "--prove",
        ]);
        command.arg(&self.running[1].1).args(more);
        command
    }

    fn end(mut self) {
        for (run, _) in self.running.drain(..) {
            run.signal(Signal::TERM);
            run.end(KILLED).assert_code(143);
        }
    }
}

/// Also after a failed test they restore what they have made.
impl Drop for Groups<'_> {
    fn drop(&mut self) {
        for (run, _) in self.running.drain(..) {
            run.signal(Signal::TERM);
            run.end(KILLED);
        }
    }
}

/// The file that freezes the culprit, once the program has said so.
fn freezer(bench: &Bench, run: &mut Running) -> PathBuf {
    let mut file = None;
    run.wait_until("announcement", |_| {
        let said = fs::read_to_string(bench.folder().join("stderr")).unwrap_or_default();
        let after = said.split_once("--prove will write ");
        let path = after.and_then(|(_, said)| said.split_whitespace().nth(2));
        file = path.map(PathBuf::from).filter(|path| path.exists());
        file.is_some()
    });
    file.unwrap()
}

fn is_frozen(freezer: &std::path::Path) -> bool {
    let state = fs::read_to_string(freezer).unwrap();
    state.trim() == "1" || state.trim() == "FROZEN"
}

#[test]
fn culprits_that_must_not_be_held_back_are_refused() {
    let Some(bench) = Bench::with("prove: refusals", &[Need::Controller("cpu")]) else {
        return;
    };
    let own = std::process::id().to_string();
    for (arguments, says) in [
        (&["--prove", "/"][..], "the root"),
        (&["--prove", "/no-such-group"], "no group `/no-such-group`"),
        (&["--prove", "no-such.service"], "belongs to `no-such.service`"),
        (&["--prove", "own_quota"], "has no quota"),
        (&["--prove", "/", "--turns", "7"], "even number"),
        (&["--prove", "/", "--duration", "1m"], "100ms to 10s"),
        (&["--turns", "8"], "--prove"),
    ] {
        let mut command = bench.program();
        command.args(["blame", "--pid", &own]).args(arguments);
        let ended = bench.finish(command);
        ended.assert_code(2);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    bench.assert_host_is_as_before("refused proofs");
}

#[test]
fn a_group_frozen_by_a_killed_program_is_thawed_by_restore() {
    let Some(bench) = Bench::with("prove: killed", &[Need::Controller("cpu")]) else { return };
    let groups = Groups::start(&bench);
    let command = groups.prove(&["--duration", "10s"]);
    let mut run = Running::start(command, bench.folder(), bench.out());
    let freezer = freezer(&bench, &mut run);
    run.wait_until("frozen group", |_| is_frozen(&freezer));
    run.kill();
    assert!(is_frozen(&freezer), "it was thawed by something else");
    let restored = bench.assay(["restore"]);
    restored.assert_code(0);
    assert!(!is_frozen(&freezer));
    groups.end();
    bench.assert_host_is_as_before("killed proof");
}

/// SIGSTOP: the program can do nothing, and nobody restores. Interrupted then, it shows what it has.
#[test]
fn no_group_stays_frozen_longer_than_its_turn_or_after_an_interrupt() {
    let Some(bench) = Bench::with("prove: stopped", &[Need::Controller("cpu")]) else {
        return;
    };
    let groups = Groups::start(&bench);
    for is_stopped in [true, false] {
        let command = groups.prove(&["--duration", "2s", "-ojson"]);
        let mut run = Running::start(command, bench.folder(), bench.out());
        let freezer = freezer(&bench, &mut run);
        run.wait_until("frozen group", |_| is_frozen(&freezer));
        if is_stopped {
            run.signal(Signal::STOP);
            run.wait_until("thawed group", |_| !is_frozen(&freezer));
        }
        run.signal(Signal::INT);
        run.signal(Signal::CONT);
        let ended = run.end(KILLED);
        ended.assert_code(130);
        assert!(!is_frozen(&freezer));
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(document["proof"]["culprit"], *groups.running[1].1, "{document:#}");
        let why = document["proof"]["effect"]["not_available"].as_str().unwrap();
        assert!(why.contains("pairs of turns"), "{document:#}");
    }
    groups.end();
    bench.assert_host_is_as_before("stopped proof");
}

#[test]
fn a_command_is_stopped_when_its_time_is_up() {
    let Some(bench) = Bench::with("blame: time is up", &[Need::Controller("cpu")]) else {
        return;
    };
    let mut command = bench.program();
    // It ignores SIGTERM, so that it is killed.
    let script = format!("trap '' TERM; {ENDLESS}");
    command.args(["blame", "--for", "1s", "-ojson", "--", "sh", "-c", &script]);
    let ended = bench.finish(command);
    ended.assert_code(0);
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    let seconds = answer["seconds"].as_f64().unwrap();
    assert!((1.0..4.0).contains(&seconds), "what came after SIGTERM counts: {seconds} s");
    bench.assert_host_is_as_before("stopped command");
}
