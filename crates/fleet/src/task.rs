//! Runs one task of a fleet on its host: `assay fleet task`, started by the job script.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use assay_files::Dir;
use assay_host::{private_state, restore_all, state_dir, unfinished};
use assay_kernel::child::ExitWatch;
use assay_kernel::{Root, signal};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};

use crate::digest::{STUDY, Submitted, read_submitted};
use crate::document::{Fleet, Phase, SCHEMA, TaskRecord};
use crate::error::Error;
use crate::folder::FleetFolder;
use crate::host_lock;
use crate::program::remove_own_copy;
use crate::run_errors::reason;
use crate::submit::now;

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    /// The exit code of its run (docs/cli.md); `None` if the run was killed.
    pub code: Option<i32>,
    /// The reason, if the exit code does not show it.
    pub why: Option<String>,
    /// Whether the host was restored.
    pub restored: bool,
}

impl TaskEnd {
    /// The end of a task that did not start its run.
    fn without_a_run(code: i32, why: String, restored: bool) -> Self {
        Self { code: Some(code), why: Some(why), restored }
    }
}

/// Folder of the study while it runs, below the host's state directory.
const OWN_STUDY: &str = "fleet-study";

/// The running program (proc_pid_exe(5)).
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Exit codes of docs/cli.md used here.
const HOST: i32 = 4;
const RESTORE_INCOMPLETE: i32 = 6;
const INTERRUPTED: i32 = 130;

/// A running task.
struct RunningTask<'f> {
    folder: &'f FleetFolder,
    fleet: &'f Fleet,
    /// The study that was verified against the submission.
    study: Submitted,
    task: usize,
    /// The task's folder, relative to the fleet's.
    folder_path: PathBuf,
    record: TaskRecord,
}

/// Runs one task of a fleet on this host: waits until the host is free, restores changes of a
/// killed run, runs the study, and records the result. SIGTERM, which Slurm sends before its limit,
/// is forwarded to the run, which stops and restores the host.
///
/// `expected` is the hash of the submission; if the folder has changed since, nothing is started.
pub fn carry_out(
    folder: &FleetFolder,
    task: usize,
    job: u64,
    expected: &str,
) -> Result<TaskEnd, Error> {
    let end = carry_out_task(folder, task, job, expected);
    // The script cannot: this program has taken its place, so that Slurm's signals reach it.
    if let Ok(program) = std::env::current_exe() {
        remove_own_copy(&program);
    }
    end
}

fn carry_out_task(
    folder: &FleetFolder,
    task: usize,
    job: u64,
    expected: &str,
) -> Result<TaskEnd, Error> {
    signal::note_interruptions();
    let fleet = folder.read_fleet()?;
    let study = check_submitted(folder, &fleet, expected)?;
    if task >= fleet.tasks.len() {
        return Err(Error::new(format!(
            "the fleet has {} tasks and no task {task}",
            fleet.tasks.len()
        )));
    }
    let folder_path = FleetFolder::task_folder(task, job);
    folder.make_dir(&folder_path)?;
    let record = TaskRecord {
        schema: SCHEMA,
        task,
        host_name: Root::real()
            .read_trimmed("/proc/sys/kernel/hostname")
            .unwrap_or_else(|_| "unknown".to_owned()),
        pid: std::process::id(),
        phase: Phase::HostLock,
        began_at: now(),
        ended_at: None,
        code: None,
        why: None,
        restored_first: Vec::new(),
        restored: None,
    };
    let mut task_run = RunningTask { folder, fleet: &fleet, study, task, folder_path, record };
    task_run.write()?;
    let end = task_run.work().unwrap_or_else(|error| {
        // A failure on this host ends this task only.
        let back = is_restored().unwrap_or(false);
        TaskEnd::without_a_run(HOST, error.to_string(), back)
    });
    task_run.record.phase = Phase::Ended;
    task_run.record.ended_at = Some(now());
    task_run.record.code = end.code;
    task_run.record.why.clone_from(&end.why);
    task_run.record.restored = Some(end.restored);
    task_run.write()?;
    Ok(end)
}

/// The folder's contents are run by root, so they must be what was submitted. They are read once:
/// the verified contents are the ones that run.
fn check_submitted(
    folder: &FleetFolder,
    fleet: &Fleet,
    expected: &str,
) -> Result<Submitted, Error> {
    let submitted_now = read_submitted(folder, fleet)?;
    if submitted_now.digest == expected {
        return Ok(submitted_now);
    }
    let actual = &submitted_now.digest;
    let what = format!(
        "{} differs from the submission (SHA-256 {actual}, expected {expected} by the job script)",
        folder.path().display()
    );
    Err(Error::new(what).hint(
        "the study or the arguments in fleet.json have changed since; find out who changed \
         them, and submit again with `assay fleet resume`",
    ))
}

impl RunningTask<'_> {
    fn write(&self) -> Result<(), Error> {
        self.folder.write_json(&self.folder_path.join("task.json"), &self.record)
    }

    fn set_phase(&mut self, phase: Phase) -> Result<(), Error> {
        self.record.phase = phase;
        self.write()
    }

    fn work(&mut self) -> Result<TaskEnd, Error> {
        // Slurm would end the task by then; without Slurm nothing else would.
        let limit = Duration::from_secs(60 * self.fleet.time_limit_min);
        let Some(_lock) = host_lock::acquire(&state_dir(), limit)? else {
            let why = "stopped by a signal while waiting for the host".to_owned();
            return Ok(TaskEnd::without_a_run(INTERRUPTED, why, true));
        };
        if !is_restored()? {
            self.set_phase(Phase::Restore)?;
            let (taken_back, complete) = restore()?;
            self.record.restored_first = taken_back;
            if !complete {
                let why = "changes of a killed run on the host could not be restored; `assay \
                           restore` there shows why";
                return Ok(TaskEnd::without_a_run(RESTORE_INCOMPLETE, why.to_owned(), false));
            }
        }
        if let Some(name) = signal::interrupted_by() {
            let why = format!("it received {name} before its run started");
            return Ok(TaskEnd::without_a_run(INTERRUPTED, why, true));
        }
        self.set_phase(Phase::Run)?;
        let (status, errors) = self.run()?;
        self.end(status, &errors)
    }

    /// Runs the study to its end, from a folder local to this host: the shared one may have
    /// changed. This task holds the host lock, so no other uses that folder.
    fn run(&self) -> Result<(ExitStatus, File), Error> {
        let state = private_state(&state_dir())?;
        state.remove_tree(OWN_STUDY)?;
        let own = state.make_new_dir(OWN_STUDY)?;
        let status = self.study.write(&own).and_then(|()| self.run_study(&own));
        state.remove_tree(OWN_STUDY)?;
        status
    }

    /// Returns how the run ended, and the file with its errors.
    fn run_study(&self, study: &Dir) -> Result<(ExitStatus, File), Error> {
        let own = &self.fleet.tasks[self.task];
        let folder_path = self.folder.dir().dir(&self.folder_path)?;
        // The run inherits it: its name in the shared folder may lead elsewhere by the end.
        let errors = create(&folder_path, "errors.json")?;
        fcntl_setfd(&errors, FdFlags::empty())
            .map_err(|cause| Error::new(format!("cannot pass on errors.json: {cause}")))?;
        // This very program, even if its path has been replaced.
        let mut command = Command::new(THIS_PROGRAM);
        command.arg0("assay").arg("run");
        command.args(run_words(&self.fleet.arguments, study.path()));
        command.arg("--errors-json").arg(format!("/proc/self/fd/{}", errors.as_raw_fd()));
        command.arg("--seed").arg(own.seed.to_string());
        if let Some(slice) = &own.slice {
            command.arg("--shard").arg(slice);
        }
        command.arg("--out").arg(self.folder.file(&self.folder_path).join("run"));
        if self.fleet.trust_folder {
            command.arg("--trust-folder");
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(create(&folder_path, "stdout.txt")?)
            .stderr(create(&folder_path, "stderr.txt")?)
            .spawn()
            .map_err(|cause| Error::new(format!("cannot start assay run: {cause}")))?;
        Ok((wait(child)?, errors))
    }

    fn end(&self, status: ExitStatus, errors: &File) -> Result<TaskEnd, Error> {
        let Some(number) = status.signal() else {
            let restored = is_restored()?;
            let why = status.code().and_then(|code| reason(code, errors));
            return Ok(TaskEnd { code: status.code(), why, restored });
        };
        // No one else would restore the host before the next task.
        let (_, restored) = restore()?;
        let why = format!("its run was killed by signal {number}");
        Ok(TaskEnd { code: None, why: Some(why), restored })
    }
}

/// The arguments of the run. A study that was copied into the fleet's folder, wherever that is mounted, is taken
/// from the verified copy in `study`.
fn run_words(arguments: &[String], study: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    if let Some(word) = words.first_mut()
        && Path::new(word).is_absolute()
        && let Some(name) = Path::new(word).file_name()
    {
        *word = study.join(STUDY).join(name).into();
    }
    words
}

/// Waits for the run, and forwards the first signal received meanwhile.
fn wait(mut child: Child) -> Result<ExitStatus, Error> {
    let end = ExitWatch::new(&child);
    let mut passed_on = false;
    loop {
        let status = child
            .try_wait()
            .map_err(|cause| Error::new(format!("cannot wait for assay run: {cause}")))?;
        if let Some(status) = status {
            return Ok(status);
        }
        if !passed_on && signal::interrupted_by().is_some() {
            // The child has not been reaped, so its process id is still valid.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            passed_on = true;
        }
        end.wait(Duration::from_millis(200));
    }
}

/// Whether this host has no ledger of a dead run.
fn is_restored() -> Result<bool, Error> {
    Ok(unfinished(&state_dir())?.iter().all(|ledger| ledger.live))
}

/// Restores changes left by dead runs; returns a description, and whether everything was restored.
fn restore() -> Result<(Vec<String>, bool), Error> {
    let report = restore_all(&state_dir(), &Root::real())?;
    let taken_back = report
        .ledgers
        .iter()
        .map(|ledger| {
            let back =
                ledger.changes.iter().filter(|change| matches!(change.restored, Some(Ok(()))));
            format!("run {}: {} of {} changes", ledger.run_id, back.count(), ledger.changes.len())
        })
        .collect();
    Ok((taken_back, report.is_complete()))
}

/// A task that Slurm restarts overwrites its files.
fn create(folder: &Dir, name: &str) -> Result<File, Error> {
    folder.remove_file(name)?;
    Ok(folder.create(name)?)
}

#[cfg(test)]
mod tests {
    use assay_files::Trust;

    use super::*;
    use crate::digest::digest;
    use crate::document::Task;

    fn fleet() -> Fleet {
        let (node, host_name) = ("n".to_owned(), "h".to_owned());
        Fleet {
            schema: SCHEMA,
            study: "study".to_owned(),
            arguments: vec!["study/study.toml".to_owned()],
            tasks: vec![Task { node, host_name, seed: 1, slice: None }],
            ..Fleet::default()
        }
    }

    /// The folder may be mounted elsewhere, and its contents may change after they were compared.
    #[test]
    fn the_verified_study_is_run_wherever_the_folder_is_mounted() {
        let words = ["/mnt/fleet/study/mine.toml", "--disk", "block:/dev/sdb"].map(str::to_owned);
        let own = Path::new("/var/lib/assay/fleet-study");
        let expected = ["/var/lib/assay/fleet-study/study/mine.toml", "--disk", "block:/dev/sdb"];
        assert_eq!(run_words(&words, own), expected);
        assert_eq!(run_words(&["io-weight".to_owned()], own), ["io-weight"]);
    }

    /// Anyone who can write to the fleet's folder would be root on every host.
    #[test]
    fn a_changed_submission_starts_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&temp.path().join("fleet"), Trust::Checked).unwrap();
        folder.make_dir(Path::new("study")).unwrap();
        let study = Path::new("study/study.toml");
        folder.write_text(study, "as submitted").unwrap();
        let fleet = fleet();
        folder.write_fleet(&fleet).unwrap();
        let submitted = digest(&folder, &fleet).unwrap();
        let submitted_now =
            check_submitted(&folder, &folder.read_fleet().unwrap(), &submitted).unwrap();
        // The verified contents run, even if the folder changes afterwards.
        folder.write_text(study, "as an attacker has it").unwrap();
        let own = Dir::open(temp.path()).unwrap().make_dir("own").unwrap();
        submitted_now.write(&own).unwrap();
        let written = std::fs::read_to_string(own.path().join(study)).unwrap();
        assert_eq!(written, "as submitted");
        folder.write_text(study, "as submitted").unwrap();

        let refused = || {
            let error = carry_out(&folder, 0, 7, &submitted).unwrap_err();
            assert!(error.what.contains("differs from the submission"), "{error}");
            assert!(!folder.file("tasks/00").exists(), "nothing was started");
        };
        let more = ["--disk", "block:/dev/sdb"].map(str::to_owned);
        let changed = [
            Fleet { arguments: [&fleet.arguments[..], &more].concat(), ..fleet.clone() },
            Fleet { trust_folder: true, ..fleet.clone() },
            Fleet { tasks: vec![Task { seed: 2, ..fleet.tasks[0].clone() }], ..fleet.clone() },
        ];
        for changed in changed {
            folder.write_fleet(&changed).unwrap();
            refused();
        }
        folder.write_fleet(&fleet).unwrap();
        folder.write_text(study, "as an attacker has it").unwrap();
        refused();
        folder.write_text(study, "as submitted").unwrap();
        folder.write_text(Path::new("study/beside.toml"), "one more").unwrap();
        refused();
        // A link would be read from elsewhere, later, possibly with other contents.
        folder.dir().remove_file("study/beside.toml").unwrap();
        folder.dir().remove_file(study).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.file(study)).unwrap();
        assert!(carry_out(&folder, 0, 7, &submitted).is_err());
    }
}
