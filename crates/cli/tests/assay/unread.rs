//! Output that nobody reads any more, as after Ctrl-S or when a pager stops, holds up neither a signal nor a restore.

use std::fs::File;
use std::io::{PipeReader, pipe};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_test_support::{HostSnapshot, entries};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::bench::Bench;
use crate::ends::BESIDE;
use crate::hostile::foreign_run;
use crate::kills::theirs::Theirs;
use crate::kills::works::recorded;
use crate::lab::fake::played;
use crate::lab::script;
use crate::running::processes_in;

/// Starts a command whose output goes to a pipe that is full, and stays so as long as its reader is there.
fn start(mut command: Command) -> (Child, PipeReader) {
    let (reader, writer) = pipe().unwrap();
    assay_sys::kernel::stream::write_message(&writer, &[b'x'; 1 << 20], Duration::ZERO)
        .unwrap_err();
    command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    (command.spawn().unwrap(), reader)
}

/// Ends a command by SIGTERM.
fn end(mut child: Child, name: &str) {
    assert!(child.try_wait().unwrap().is_none(), "{name} has ended before");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("{name} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    eprintln!("{name}: {:?}", begun.elapsed());
}

#[test]
fn a_signal_restores_the_host_whether_or_not_output_is_read() {
    let Some(bench) = Bench::on_host("unread output") else { return };
    let study = bench.write("study.toml", BESIDE);
    let study = study.to_str().unwrap();
    let (out, theirs, recorded) = (bench.out(), Theirs::make(), recorded(&bench));
    let before = HostSnapshot::take();
    let out = out.to_str().unwrap();
    let commands: [&[&str]; 7] = [
        &["run", "--yes", study, "--out", out],
        &["exec", "--", "sleep", "77"],
        &["conform", "--yes", "core", "pids", "cpuset"],
        &["blame", "--set", "pids.max=50", "--", "sleep", "77"],
        &["probe", "--repeat", "100", "--group", &theirs.path],
        &["tune", "--yes", "io-weight", "--out", out],
        &["diagnose", "--yes", recorded.to_str().unwrap(), "--rounds", "1", "--out", out],
    ];
    for words in commands {
        let mut command = bench.program();
        command.args(words);
        let (mut child, _unread) = start(command);
        let begun = Instant::now();
        while entries(&bench.path("state").join("ledger")).is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "{words:?}");
            assert!(begun.elapsed() < Duration::from_secs(60), "{words:?} changes nothing");
            std::thread::sleep(Duration::from_millis(20));
        }
        end(child, words[0]);
        HostSnapshot::assert_same(&before, words[0]);
        bench.assert_nothing_is_left(words[0]);
        let _ = std::fs::remove_dir_all(out);
    }
}

#[test]
fn what_only_watches_ends_whether_or_not_output_is_read() {
    // Guests that print without end.
    let host = played(": >\"$share/reached\"; : >\"$share/ready\"; exec yes");
    // A Slurm that does not answer.
    script(&host.bench.path("bin"), "scontrol", "exec /bin/sleep 1000");
    let (bench, own) = (&host.bench, std::process::id().to_string());
    foreign_run(bench, "run");
    let watches: [&[&str]; 8] = [
        &["audit", "watch", "--interval", "100ms"],
        &["record", "--pid", &own, "--for", "60s"],
        &["blame", "--pid", &own, "--for", "60s"],
        &["fairness", "--for", "60s"],
        &["lab", "exec", "--", "true"],
        &["conform", "--kernel", "debian-6.12", "--out", "kernels", "pids"],
        &["fleet", "run", "--yes", "cpu-weight", "--nodes", "2"],
        &["fleet", "collect", "merged", "--collect-from", "run"],
    ];
    for words in watches {
        if !geteuid().is_root() && ["blame", "fairness"].contains(&words[0]) {
            continue;
        }
        let mut command = match words[0] {
            "lab" | "conform" | "fleet" => host.command_of(words[0]),
            _ => bench.program(),
        };
        let arguments = if command.get_args().count() > 0 { &words[1..] } else { words };
        command.args(arguments).current_dir(bench.folder());
        let (child, _unread) = start(command);
        std::thread::sleep(Duration::from_secs(1));
        end(child, words[0]);
        assert!(entries(&bench.path("cache/guests")).is_empty(), "{words:?} leaves a guest");
        // Those that the kernel ends with it end a moment later.
        let ended = Instant::now();
        let left = || processes_in(bench.folder());
        while !left().is_empty() && ended.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(left().is_empty(), "{words:?} leaves processes: {:?}", left());
    }
}

/// As behind a redirection to a file on a full disk.
#[test]
fn a_command_whose_data_found_no_room_fails_and_says_so() {
    let bench = Bench::aside();
    let run = foreign_run(&bench, "run");
    let commands: [&[&str]; 5] = [
        &["host"],
        &["audit", "-o", "json"],
        &["audit", "watch", "--for", "1s"],
        &["top"],
        &["judge", run.to_str().unwrap()],
    ];
    for words in commands {
        let mut command = bench.program();
        command.args(words).stdout(File::options().write(true).open("/dev/full").unwrap());
        let ended = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(4), "{words:?}: {stderr}");
        assert!(stderr.contains("to stdout: No space left"), "{words:?}: {stderr}");
    }
}
