//! The environment of one test: its own folder and state directory, and the host lock.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::halt::image_of;
use crate::running::{Ended, Running, end_processes_in, processes_in};
use assay_test_support::{HostLock, HostSnapshot, Need, host_alone, host_lock, host_measured, own};

/// Requirements of studies of I/O weights.
const NEEDS: [Need; 5] =
    [Need::Loop, Need::Bfq, Need::Tool("fio"), Need::Tool("mkfs.ext4"), Need::Controller("io")];

/// The environment of a test. Dropping it cleans up after a failed test.
pub(crate) struct Bench {
    work: TempDir,
    /// Starts the program as a process of this test.
    program: PathBuf,
    /// Snapshot of the host at the start; only with the host lock.
    before: Option<HostSnapshot>,
    _lock: Option<HostLock>,
}

impl Bench {
    /// For a test that changes the host, or compares it before and after, beside other tests. `None`, printed and
    /// counted as skipped, if the test cannot run.
    pub(crate) fn on_host(test: &str) -> Option<Self> {
        Self::with(test, &NEEDS)
    }

    /// Like above, with requirements other than a disk with weights.
    pub(crate) fn with(test: &str, needs: &[Need]) -> Option<Self> {
        Some(Self::make(Some(host_lock(test, needs)?)))
    }

    /// For a test that measures, alone (`.config/nextest.toml`).
    pub(crate) fn alone(test: &str) -> Option<Self> {
        Some(Self::make(Some(host_alone(test, &NEEDS)?)))
    }

    /// For a test that measures what others may slow down but not falsify, one at a time.
    pub(crate) fn measured(test: &str, needs: &[Need]) -> Option<Self> {
        Some(Self::make(Some(host_measured(test, needs)?)))
    }

    /// For a test that changes nothing.
    pub(crate) fn aside() -> Self {
        Self::make(None)
    }

    fn make(lock: Option<HostLock>) -> Self {
        let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
        // Tests of other users read it, too.
        fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755)).unwrap();
        own::folder(work.path());
        let program = own::program(Path::new(env!("CARGO_BIN_EXE_assay")), work.path());
        let before = lock.as_ref().map(|_| HostSnapshot::take());
        Self { work, program, before, _lock: lock }
    }

    /// The program, for commands that start it themselves.
    pub(crate) fn executable(&self) -> &Path {
        &self.program
    }

    pub(crate) fn before(&self) -> &HostSnapshot {
        self.before.as_ref().expect("comparing the host needs the host lock")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.work.path()
    }

    /// The run folder that [`Bench::start`] uses.
    pub(crate) fn out(&self) -> PathBuf {
        self.path("run")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The program with its state in this test's folder.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.settle(&mut command);
        command
    }

    pub(crate) fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.work.path())
            .env("ASSAY_STATE", self.path("state"))
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
    }

    /// Runs the program to its end.
    pub(crate) fn assay<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ended {
        let mut command = self.program();
        command.args(arguments);
        self.finish(command)
    }

    /// Runs a prepared command to its end.
    pub(crate) fn finish(&self, command: Command) -> Ended {
        Running::start(command, self.work.path(), self.out()).end(Duration::from_secs(120))
    }

    /// `assay run STUDY` with its run folder at [`Bench::out`], not started yet.
    pub(crate) fn run_command(&self, study: &Path) -> Command {
        let mut command = self.program();
        command.args(["run", "--yes"]).arg(study).arg("--out").arg(self.out());
        command
    }

    /// Starts `assay run STUDY` with its run folder at [`Bench::out`].
    pub(crate) fn start(&self, study: &Path, more: &[&str]) -> Running {
        let mut command = self.run_command(study);
        command.args(more);
        Running::start(command, self.work.path(), self.out())
    }

    /// Starts it and waits for its end.
    pub(crate) fn run(&self, study: &Path, more: &[&str]) -> Ended {
        self.start(study, more).end(Duration::from_secs(120))
    }

    /// Asserts that the host is restored, that the run folder has neither image nor mount point, and that
    /// no process of the test is left.
    #[track_caller]
    pub(crate) fn assert_host_is_as_before(&self, when: &str) {
        HostSnapshot::assert_same(self.before(), when);
        self.assert_nothing_is_left(when);
    }

    /// Asserts that neither images, mount points nor processes are left.
    #[track_caller]
    pub(crate) fn assert_nothing_is_left(&self, when: &str) {
        assert_eq!(image_of(&self.out()), None, "{when}");
        assert!(!self.out().join("mnt").exists(), "{when}, the run folder keeps a mount point");
        let processes = processes_in(self.work.path());
        assert!(processes.is_empty(), "{when}, processes are left: {processes:?}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        end_processes_in(self.work.path());
        let _ = self.program().arg("restore").stderr(Stdio::null()).stdout(Stdio::null()).status();
    }
}
