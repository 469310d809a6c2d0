//! A program in progress, and its output after its end.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_test_support::own;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

/// How long a killed program may take to end: one killed in fsync(2) ends only when the disk has written its
/// data, which after a build can be gigabytes.
pub(crate) const KILLED: Duration = Duration::from_secs(60);

/// How often its ledger is read.
const LOOK: Duration = Duration::from_millis(50);

/// A running program in its own process group, as a shell would start it.
pub(crate) struct Running {
    child: Child,
    folder: PathBuf,
    out: PathBuf,
}

/// The program after its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    /// Output goes to files: an unread pipe would block the program.
    pub(crate) fn start(mut command: Command, folder: &Path, out: PathBuf) -> Self {
        command
            .process_group(0)
            .stdout(File::create(folder.join("stdout")).unwrap())
            .stderr(File::create(folder.join("stderr")).unwrap());
        Self { child: command.spawn().unwrap(), folder: folder.to_owned(), out }
    }

    pub(crate) fn out(&self) -> &Path {
        &self.out
    }

    /// Waits until `is_there` returns true; fails if the program ends before.
    pub(crate) fn wait_until(&mut self, what: &str, mut is_there: impl FnMut(&Self) -> bool) {
        const LONGEST: Duration = Duration::from_secs(180);
        let deadline = Instant::now() + LONGEST;
        while !is_there(self) {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the run ended ({status}) before {what}:\n{}", self.stderr());
            }
            assert!(Instant::now() < deadline, "no {what} within {LONGEST:?}:\n{}", self.stderr());
            sleep(Duration::from_micros(500));
        }
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills it unless it has ended, and waits for its end.
    pub(crate) fn kill_if_alive(mut self) {
        if !self.has_ended() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap()
    }

    /// Whether the run has an event that begins with this text.
    pub(crate) fn says(&self, text: &str) -> bool {
        let events = fs::read_to_string(self.out.join("events.jsonl")).unwrap_or_default();
        events.contains(&format!("\"text\":\"{text}"))
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal only to the program, as `kill` does.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Kills it.
    #[track_caller]
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
        self.end(KILLED).assert_killed();
    }

    /// Sends a signal to the program's whole process group, as a terminal does at Ctrl-C.
    pub(crate) fn signal_from_terminal(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    /// Notes what it has changed, from its ledger: after a restore nothing names that.
    fn note_ledgers(&self) {
        own::note_ledgers(&self.folder.join("state"));
    }

    /// Waits for its end, at most `patience`.
    pub(crate) fn end(mut self, patience: Duration) -> Ended {
        let deadline = Instant::now() + patience;
        let mut looked = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if looked.elapsed() > LOOK {
                self.note_ledgers();
                looked = Instant::now();
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!("still running after {patience:?}:\n{}", self.stderr());
            }
            sleep(Duration::from_millis(5));
        };
        self.note_ledgers();
        let stdout = fs::read_to_string(self.folder.join("stdout")).unwrap();
        Ended { status, stdout, stderr: self.stderr() }
    }
}

impl Drop for Running {
    /// A failed test leaves no program behind.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) {
        assert_eq!(
            self.status.code(),
            Some(code),
            "{}\n--- stdout\n{}--- stderr\n{}",
            self.status,
            self.stdout,
            self.stderr
        );
    }

    /// Asserts that it ended with one of the codes of a verdict.
    #[track_caller]
    pub(crate) fn assert_verdict(&self) {
        let code = self.status.code();
        assert!(
            matches!(code, Some(0 | 1 | 3)),
            "{}\n--- stdout\n{}--- stderr\n{}",
            self.status,
            self.stdout,
            self.stderr
        );
    }

    #[track_caller]
    pub(crate) fn assert_killed(&self) {
        assert_eq!(self.status.signal(), Some(9), "{}", self.stderr);
    }

    /// Asserts that stderr contains each of these.
    #[track_caller]
    pub(crate) fn assert_says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` in stderr:\n{}", self.stderr);
        }
    }
}

/// A JSON document on disk.
pub(crate) fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()))
}

/// Live processes whose current directory is in `folder`, as that of every workload is.
pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        // The link of a zombie cannot be read: it has no directory.
        let directory = fs::read_link(format!("/proc/{id}/cwd")).ok()?;
        directory.starts_with(folder).then_some(id)
    });
    ids.collect()
}

/// Kills processes left by a failed test.
pub(crate) fn end_processes_in(folder: &Path) {
    for id in processes_in(folder) {
        if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
