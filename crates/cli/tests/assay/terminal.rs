//! Runs on a pseudo-terminal, with a terminal emulator for its output (crate vt100).

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::bench::Bench;
use crate::hostile::foreign_run;
use crate::running::json;
use crate::study::{Weights, loop_disk};

const CTRL_C: &[u8] = &[3];

/// Escape sequences whose state would remain when the program is killed: alternate screen, hidden cursor.
const LASTING: [&str; 2] = ["\u{1b}[?1049h", "\u{1b}[?25l"];

/// A terminal with a program in it.
struct Terminal {
    master: OwnedFd,
    screen: vt100::Parser,
    /// All output so far.
    written: Vec<u8>,
    child: Child,
}

impl Terminal {
    /// Starts a program in a new session, so that Ctrl-C reaches it.
    fn start(command: &Command, rows: u16, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = ptsname(&master, Vec::new()).unwrap();
        let slave = open(slave.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        resize(&master, rows, columns);
        fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut inside = Command::new("setsid");
        inside.arg("--ctty").arg(command.get_program()).args(command.get_args());
        inside.current_dir(command.get_current_dir().unwrap());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        let child = inside.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let screen = vt100::Parser::new(known(rows), known(columns), 0);
        Self { master, screen, written: Vec::new(), child }
    }

    fn press(&self, keys: &[u8]) {
        let mut master = File::from(self.master.try_clone().unwrap());
        master.write_all(keys).unwrap();
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        resize(&self.master, rows, columns);
        self.screen.screen_mut().set_size(known(rows), known(columns));
    }

    /// Reads the available output.
    fn read(&mut self) {
        let mut master = File::from(self.master.try_clone().unwrap());
        let mut bytes = [0; 4096];
        // EAGAIN without output, EIO when the program is gone.
        while let Ok(count @ 1..) = master.read(&mut bytes) {
            self.screen.process(&bytes[..count]);
            self.written.extend_from_slice(&bytes[..count]);
        }
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen matches, and returns its contents.
    fn wait_for(&mut self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(90);
        loop {
            self.read();
            let shown = self.contents();
            if is(&shown) {
                return shown;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("it ended ({status}) before {what}:\n{shown}");
            }
            assert!(Instant::now() < until, "no {what}:\n{shown}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end; returns it with the final contents of the screen.
    fn end(mut self) -> (ExitStatus, String, String) {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            self.read();
            if let Some(status) = self.child.try_wait().unwrap() {
                self.read();
                let written = String::from_utf8_lossy(&self.written).into_owned();
                return (status, self.contents(), written);
            }
            assert!(Instant::now() < until, "still running:\n{}", self.contents());
            sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn known(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn resize(master: &OwnedFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}

/// A run of four groups for `at_most`, in a terminal.
fn run(bench: &Bench, at_most: &'static str, columns: u16, locale: &str) -> Terminal {
    let weights = Weights { at_most, groups: 4, disk: loop_disk(64), ..Weights::small() };
    let study = bench.write("study.toml", &weights.text());
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(&study).arg("--out").arg(bench.out());
    command.env("TERM", "xterm-256color").env("LC_ALL", locale).env_remove("NO_COLOR");
    Terminal::start(&command, 60, columns)
}

/// Asserts that nothing of the live view is left, including what the terminal echoed.
fn assert_clean(shown: &str, written: &str) {
    for remains in ["Ctrl-C:", "press again to skip waiting", "^C", "restore the host"] {
        assert!(!shown.contains(remains), "`{remains}` is left:\n{shown}");
    }
    assert!(!shown.lines().any(|line| line.trim_end().ends_with(" left")), "{shown}");
    for lasting in LASTING {
        assert!(!written.contains(lasting), "{lasting:?}");
    }
}

#[test]
fn ctrl_c_ends_a_run_with_its_results_and_a_clean_screen() {
    let test = "Ctrl-C on a terminal";
    let Some(bench) = Bench::on_host(test) else { return };
    let mut terminal = run(&bench, "60 s", 80, "C.UTF-8");
    let shown = terminal
        .wait_for("the window", |shown| shown.contains("run 1 s of") && shown.contains('\u{2588}'));
    assert!(shown.contains("trial 1 of 1") && shown.contains("Ctrl-C: end the run"), "{shown}");
    terminal.press(CTRL_C);
    let (status, shown, written) = terminal.end();
    assert_eq!(status.code(), Some(130), "{shown}");
    assert_clean(&shown, &written);
    assert!(shown.contains("ended early: interrupted by SIGINT"), "{shown}");
    // The interrupted repeat does not count, but its numbers are shown.
    assert!(shown.contains("void") && shown.contains("task4"), "{shown}");
    assert!(shown.contains("restored: yes"), "{shown}");
    bench.assert_host_is_as_before("after Ctrl-C on a terminal");
    assert!(
        bench.out().join("verdict.json").is_file() && bench.out().join("report.html").is_file()
    );
}

#[test]
fn a_second_ctrl_c_ends_the_run_at_once_and_restores_the_host() {
    let test = "Ctrl-C twice on a terminal";
    let Some(bench) = Bench::on_host(test) else { return };
    // Without it, a workload that ignores SIGINT would be waited for half a minute.
    let study = bench.write("study.toml", DEAF);
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(&study).arg("--out").arg(bench.out());
    command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    let mut terminal = Terminal::start(&command, 60, 80);
    terminal.wait_for("the window", |shown| shown.contains("run 1 s of"));
    terminal.press(CTRL_C);
    terminal.wait_for("its answer", |shown| shown.contains("press again to skip waiting"));
    let began = Instant::now();
    terminal.press(CTRL_C);
    let (status, shown, written) = terminal.end();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(130), "{shown}");
    assert_clean(&shown, &written);
    bench.assert_host_is_as_before("after Ctrl-C twice");
    assert_eq!(json(&bench.out().join("manifest.json"))["restored"], true);
}

/// A command that ignores SIGINT, in a group with a limit.
const DEAF: &str = r#"
title = "A workload that does not listen"
[design]
at_most = "60 s"
warm_up = "0 s"
[[groups]]
name  = "task"
count = 1
knobs = { "pids.max" = 100 }
run   = "deaf"
[workloads.deaf]
use     = "command"
command = ["sh", "-c", "trap '' INT; while :; do sleep 1; done"]
"#;

#[test]
fn a_terminal_of_forty_columns_without_utf_8_shows_ascii_and_follows_its_size() {
    let test = "a run on a narrow terminal";
    let Some(bench) = Bench::on_host(test) else { return };
    let mut terminal = run(&bench, "4 s", 80, "C");
    terminal.wait_for("the window", |shown| shown.contains("run 1 s of 4 s  #"));
    terminal.resize(60, 40);
    let shown = terminal.wait_for("a narrow picture", |shown| {
        shown.lines().all(|line| line.chars().count() < 40) && shown.contains(" of 4 s")
    });
    assert_eq!(shown.matches(" of 4 s").count(), 1, "{shown}");
    let (status, shown, written) = terminal.end();
    assert!(matches!(status.code(), Some(0 | 1 | 3)), "{status}\n{shown}");
    assert_clean(&shown, &written);
    assert!(written.is_ascii(), "the locale is not UTF-8: {shown}");
    bench.assert_host_is_as_before("after a run on a narrow terminal");
    let manifest = json(&bench.out().join("manifest.json"));
    let cost = manifest["trials"][0]["repeats"][0]["shown_cpu_s"].as_f64().unwrap();
    assert!(cost > 0.0 && cost < 4.0, "showing is counted: {cost} s");
}

/// Control sequences in a foreign manifest are escaped in every format on a terminal.
#[test]
fn control_sequences_in_documents_are_escaped_on_a_terminal() {
    const OWNED: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J";
    let bench = Bench::aside();
    let run = foreign_run(&bench, "run");
    let mut manifest = json(&run.join("manifest.json"));
    manifest["study"] = OWNED.into();
    let trial = &mut manifest["trials"][0];
    trial["groups"][0]["workloads"][0]["command_line"] = OWNED.into();
    fs::write(run.join("manifest.json"), manifest.to_string()).unwrap();
    let mut command = bench.program();
    command.arg("report").arg(&run).args(["--no-samples", "--as", "openmetrics"]);
    command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    let (status, _, written) = Terminal::start(&command, 60, 80).end();
    assert_eq!(status.code(), Some(0), "{written:?}");
    assert!(written.contains("]0;owned"), "{written:?}");
    assert!(!written.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{written:?}");
}
