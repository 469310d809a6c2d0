//! The ends of runs (docs/safety.md): hang-ups, frozen workloads, ungrouped workloads, locks held by
//! others.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_test_support::{SilentFs, entries, skip};
use rustix::process::Signal;

use crate::bench::Bench;
use crate::evidence::links;
use crate::freezer::Freezer;
use crate::halt::{Moment, run_until};
use crate::running::{Running, json, processes_in};

/// Two groups that compute, and a process beside all groups.
pub(crate) const BESIDE: &str = r#"
title = "Beside all groups"
[design]
repeats = 1
at_most = "60 s"
[[groups]]
name = "task"
count = 2
run = "sleeper"
[[groups]]
name = "beside"
measured = false
outside = true
run = "sleeper"
[workloads.sleeper]
use = "command"
command = ["sh", "-c", "sleep 77 & wait"]
[[promises]]
measure = "cpu.time"
is = "equal"
within = "10 %"
"#;

#[test]
fn a_run_under_nohup_outlives_its_terminal_and_ends_with_its_verdict() {
    let Some(bench) = Bench::on_host("nohup") else { return };
    let study = crate::study::Weights { at_most: "3 s", ..crate::study::Weights::small() };
    let study = bench.write("study.toml", &study.text());
    let run = bench.run_command(&study);
    let mut command = Command::new("nohup");
    command.arg(run.get_program()).args(run.get_args());
    bench.settle(&mut command);
    let mut run = Running::start(command, bench.folder(), bench.out());
    run.wait_until("the window", |run| run.says("run"));
    run.signal_from_terminal(Signal::HUP);
    run.end(Duration::from_secs(60)).assert_verdict();
    let manifest = json(&bench.out().join("manifest.json"));
    assert_eq!(manifest["ended_early"], serde_json::Value::Null);
    bench.assert_host_is_as_before("hung up");
}

fn thaw_and_restore(bench: &Bench, freezer: Freezer) {
    freezer.thaw();
    sleep(Duration::from_millis(200));
    drop(freezer);
    bench.assay(["restore"]).assert_code(0);
    bench.assert_host_is_as_before("thawed and restored");
}

/// Ends a program one of whose processes waits for the file system: within a minute, with code 6.
fn assert_given_up(run: Running, silent: &SilentFs, says: &[&str]) {
    silent.wait_for_a_victim();
    let begun = Instant::now();
    run.signal(Signal::TERM);
    let ended = run.end(Duration::from_secs(120));
    let time = begun.elapsed();
    ended.assert_code(6);
    ended.assert_says(says);
    assert!(time < Duration::from_secs(60), "{time:?}\n{}", ended.stderr);
}

/// Lets those who wait for the file system go on; then nothing is left.
fn answer_and_restore(bench: &Bench, silent: SilentFs) {
    drop(silent);
    sleep(Duration::from_millis(200));
    bench.assay(["restore"]).assert_code(0);
    bench.assert_host_is_as_before("answered and restored");
}

/// A workload that waits in the kernel for an answer that never comes, beyond SIGKILL.
#[test]
fn a_run_whose_workload_hangs_in_the_kernel_ends_within_a_minute_with_the_rest_restored() {
    let test = "a workload that hangs in the kernel";
    let Some(bench) = Bench::on_host(test) else { return };
    let Some(silent) = SilentFs::mount(&bench.path("silent")) else {
        skip(test, "no FUSE");
        return;
    };
    let stuck = format!("command = [\"cat\", \"{}\"]", silent.at.join("file").display());
    let study = crate::study::Weights { at_most: "60 s", ..crate::study::Weights::small() }.text();
    let study = format!(
        "{study}\n[[groups]]\nname = \"stuck\"\nmeasured = false\nrun = \"stuck\"\n\
         [workloads.stuck]\nuse = \"command\"\n{stuck}\n"
    );
    let mut run = bench.start(&bench.write("study.toml", &study), &[]);
    run.wait_until("the window", |run| run.says("run"));
    assert_given_up(run, &silent, &["survived SIGKILL", "(cat): state D, waits in "]);
    let manifest = json(&bench.out().join("manifest.json"));
    let back =
        manifest["changes"].as_array().unwrap().iter().filter(|c| c["restored"]["value"] == true);
    assert!(back.count() > 0, "{manifest}");
    answer_and_restore(&bench, silent);
}

/// Frozen by somebody else: given up, and at once at the second Ctrl-C.
#[test]
fn a_run_with_a_frozen_workload_ends_with_the_rest_restored() {
    let test = "a frozen workload";
    for (is_twice, limit) in [(false, 60), (true, 15)] {
        let Some(bench) = Bench::on_host(test) else { return };
        let Some(freezer) = Freezer::make() else {
            return skip(test, "no freezer on cgroup v1");
        };
        let run = run_until(&bench, Moment::Run);
        let victims = processes_in(&bench.out());
        victims.iter().for_each(|victim| freezer.put(*victim));
        freezer.freeze();
        run.signal(Signal::INT);
        if is_twice {
            sleep(Duration::from_secs(1));
            run.signal(Signal::INT);
        }
        let ended = run.end(Duration::from_secs(limit));
        ended.assert_code(6);
        if !is_twice {
            ended.assert_says(&["survived SIGKILL", "freezer group", "state D"]);
            let named = |victim: &u32| ended.stderr.contains(&format!("{victim} (fio)"));
            assert!(victims.iter().any(named), "{victims:?}\n{}", ended.stderr);
            let manifest = json(&bench.out().join("manifest.json"));
            let changes = manifest["changes"].as_array().unwrap();
            assert!(changes.iter().any(|one| one["restored"]["value"] == true), "{manifest}");
        }
        thaw_and_restore(&bench, freezer);
    }
}

/// While programs are loaded, which fails then; and within a case.
#[test]
fn commands_that_a_signal_cuts_short_end_with_130() {
    let Some(bench) = Bench::on_host("commands that are cut short") else { return };
    let blame = &["blame", "--for", "600s", "--", "sleep", "600"][..];
    for words in [blame, &["conform", "--yes", "freezer", "core", "-ojson"]] {
        let mut command = bench.program();
        command.args(words);
        let mut run = Running::start(command, bench.folder(), bench.out());
        run.wait_until("its first program or ledger", |run| match words[0] {
            "blame" => links(run.pid().as_raw_nonzero().get()) > 0,
            _ => !entries(&bench.path("state/ledger")).is_empty(),
        });
        run.signal(Signal::TERM);
        let ended = run.end(Duration::from_secs(60));
        ended.assert_code(130);
        if words[0] == "conform" {
            let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(document["restored"], true, "{document:#}");
        }
        bench.assert_host_is_as_before(words[0]);
    }
}

/// Only a command that is told to end is given up: until then it may wait for a slow server.
#[test]
fn a_command_that_hangs_in_the_kernel_is_given_up_and_named() {
    let test = "exec of a command that hangs in the kernel";
    let Some(bench) = Bench::on_host(test) else { return };
    let Some(silent) = SilentFs::mount(&bench.path("silent")) else {
        skip(test, "no FUSE");
        return;
    };
    let mut command = bench.program();
    command.args(["exec", "--set", "cpu.weight=50", "--", "cat"]).arg(silent.at.join("file"));
    let run = Running::start(command, bench.folder(), bench.out());
    assert_given_up(
        run,
        &silent,
        &["cannot end the command", "(cat): state D, waits in ", "not restored: "],
    );
    answer_and_restore(&bench, silent);
}

/// It closes a file within exec(2): readers of most of its files in /proc wait as long as it does.
#[test]
fn a_command_that_hangs_within_exec_is_given_up_and_named() {
    let test = "exec of a command that hangs within exec(2)";
    let Some(bench) = Bench::on_host(test) else { return };
    let Some(silent) = SilentFs::mount_file(&bench.path("silent")) else {
        skip(test, "no FUSE");
        return;
    };
    let script =
        "import os, sys; os.open(sys.argv[1], os.O_RDONLY); os.execv('/bin/true', ['true'])";
    let mut command = bench.program();
    command.args(["exec", "--set", "cpu.weight=50", "--", "python3", "-c", script]);
    command.arg(&silent.at);
    let run = Running::start(command, bench.folder(), bench.out());
    assert_given_up(run, &silent, &["cannot end the command", "not restored: "]);
    answer_and_restore(&bench, silent);
}

/// A lookup there does not end, not even by SIGKILL; nothing has been changed.
#[test]
fn what_names_a_path_on_a_silent_file_system_ends_with_a_signal() {
    let bench = Bench::aside();
    let Some(silent) = SilentFs::mount(&bench.path("silent")) else {
        skip("a silent path on the command line", "no FUSE");
        return;
    };
    for words in [&["check"][..], &["judge"], &["audit", "--root"], &["exec", "--"]] {
        let mut command = bench.program();
        command.args(words).arg(silent.at.join("file"));
        let mut run = Running::start(command, bench.folder(), bench.out());
        silent.wait_for_a_victim();
        sleep(Duration::from_millis(500));
        assert!(!run.has_ended(), "{words:?} does not ask: {}", run.stderr());
        run.signal(Signal::TERM);
        let ended = run.end(Duration::from_secs(20));
        assert_eq!(ended.status.code(), None, "{words:?}: {}", ended.stderr);
    }
}

/// The shell ends with the signal, and leaves a child that cannot: frozen by someone else, or hanging in the kernel.
#[test]
fn processes_left_by_a_command_that_cannot_end_are_given_up() {
    let test = "exec of a command that leaves what cannot end";
    let Some(bench) = Bench::on_host(test) else { return };
    let exec = |script: &str| {
        let mut command = bench.program();
        command.args(["exec", "--set", "cpu.weight=50", "--", "sh", "-c", script]);
        Running::start(command, bench.folder(), bench.out())
    };
    if let Some(freezer) = Freezer::make() {
        let mut run = exec("sleep 500 & echo $! > left; wait; true");
        let left = || fs::read_to_string(bench.path("left")).ok()?.trim().parse().ok();
        // Until exec the child is a copy of the shell, and is named so.
        let named = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        run.wait_until("the child", |_| left().is_some_and(|pid| named(pid) == "sleep\n"));
        freezer.put(left().unwrap());
        freezer.freeze();
        run.signal(Signal::TERM);
        let ended = run.end(Duration::from_secs(120));
        ended.assert_code(6);
        ended.assert_says(&["the remaining processes cannot end", "(sleep): state D"]);
        thaw_and_restore(&bench, freezer);
    }
    let Some(silent) = SilentFs::mount(&bench.path("silent")) else {
        skip(test, "no FUSE");
        return;
    };
    let run = exec(&format!("cat {}; true", silent.at.join("file").display()));
    assert_given_up(
        run,
        &silent,
        &["the remaining processes cannot end", "(cat): state D, waits in "],
    );
    answer_and_restore(&bench, silent);
}

#[test]
fn an_ungrouped_workload_ends_with_the_run_and_with_a_restore() {
    let Some(bench) = Bench::on_host("a workload outside") else { return };
    let study = bench.write("study.toml", BESIDE);
    for kill in [true, false] {
        let mut run = bench.start(&study, &[]);
        run.wait_until("the window", |run| run.says("run"));
        sleep(Duration::from_millis(300));
        assert_eq!(processes_in(&bench.out()).len(), 6, "three shells with their sleeps");
        if kill {
            run.kill();
            assert!(!processes_in(&bench.out()).is_empty());
            bench.assay(["restore"]).assert_code(0);
        } else {
            run.signal(Signal::TERM);
            run.end(Duration::from_secs(60)).assert_code(130);
        }
        bench.assert_host_is_as_before(&format!("killed: {kill}"));
        fs::remove_dir_all(bench.out()).unwrap();
    }
}

/// Takes every lock that it can as user nobody, flock(2) and fcntl(2) on all files named by its arguments,
/// and reports them.
const HOLDER: &str = r#"
use Fcntl qw(:DEFAULT :flock);
my $first = shift @ARGV;
sub nobody { $) = "65534 65534"; $( = 65534; $> = 65534; }
nobody() if $first eq "nobody";
my @held;
for my $path (@ARGV) {
    my $file;
    next unless open($file, "+<", $path) or sysopen($file, $path, O_RDONLY);
    push @held, $file;
}
nobody() if $first ne "nobody";
for my $file (@held) {
    flock($file, LOCK_EX | LOCK_NB);
    for (0, 1) {
        my $lock = pack("s s x4 q q i x4", $_, 0, 0, 0, 0);
        fcntl($file, 6, $lock);
    }
}
$| = 1;
print "held ", scalar(@held), "\n";
sleep 100;
"#;

pub(crate) struct Holder(Child);

impl Holder {
    /// With `first` = `nobody` the process changes to user nobody before it opens anything.
    pub(crate) fn start(first: &str, paths: &[PathBuf]) -> Self {
        let mut command = Command::new("perl");
        command.args(["-e", HOLDER, first]).args(paths).current_dir("/").process_group(0);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("held"), "{line}");
        Self(child)
    }
}

impl Holder {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn everything_below(place: &Path) -> Vec<PathBuf> {
    let mut found = vec![place.to_owned()];
    for entry in entries(place) {
        found.extend(if entry.is_dir() { everything_below(&entry) } else { vec![entry] });
    }
    found
}

#[test]
fn only_a_lock_of_somebody_who_may_open_the_ledgers_delays_a_restore_and_is_named() {
    let Some(bench) = Bench::on_host("locks of others") else { return };
    run_until(&bench, Moment::Groups).kill();
    // Opened before the change to user nobody, like an inherited descriptor.
    let holder = Holder::start("later", &everything_below(&bench.path("state")));
    let begun = Instant::now();
    let refused = bench.assay(["restore"]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    refused.assert_code(6);
    refused.assert_says(&[&format!("process {} (perl)", holder.id()), "holds"]);
    drop(holder);

    let holder = Holder::start("nobody", &everything_below(&bench.path("state")));
    let begun = Instant::now();
    bench.assay(["restore"]).assert_code(0);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(holder);
    bench.assert_host_is_as_before("restored beside nobody's locks");
}
