//! What happens on one host of a fleet: `assay fleet task`, which the job script starts.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use assay_files::Dir;
use assay_host::{private_state, restore_all, state_dir, unfinished};
use assay_kernel::child::End;
use assay_kernel::{Root, signal};
use rustix::process::{Pid, Signal, kill_process};

use crate::digest::{STUDY, Taken, take};
use crate::document::{Fleet, Phase, SCHEMA, TaskRecord};
use crate::error::Error;
use crate::folder::{FleetFolder, MOST_DOCUMENT};
use crate::host_lock;
use crate::submit::now;

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    /// The exit code of its run (docs/cli.md); `None` when the run was killed.
    pub code: Option<i32>,
    /// Why, where the code does not say it.
    pub why: Option<String>,
    /// Whether the host is as it was.
    pub restored: bool,
}

impl TaskEnd {
    /// A task that did not come to its run.
    fn without_a_run(code: i32, why: String, restored: bool) -> Self {
        Self { code: Some(code), why: Some(why), restored }
    }
}

/// Where a task keeps the study that it runs, below the state directory of the host.
const OWN_STUDY: &str = "fleet-study";

/// The program that runs (proc_pid_exe(5)).
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Exit codes of docs/cli.md that are given here.
const HOST: i32 = 4;
const RESTORE_INCOMPLETE: i32 = 6;
const INTERRUPTED: i32 = 130;

/// A task that is being carried out.
struct Errand<'f> {
    folder: &'f FleetFolder,
    fleet: &'f Fleet,
    /// The study as it was compared with what was submitted.
    study: Taken,
    task: usize,
    /// Its own folder, relative to that of the fleet.
    place: PathBuf,
    record: TaskRecord,
}

/// Carries out one task of a fleet on this host: waits for its turn, takes back what a killed run
/// has left here, runs the study, and writes down how that ended. SIGTERM, as Slurm sends it ahead
/// of its limit, is passed on to the run, which stops and puts the host back.
///
/// `wanted` is the hash of what was submitted; where the folder says something else by now, nothing
/// is started.
pub fn carry_out(
    folder: &FleetFolder,
    task: usize,
    job: u64,
    wanted: &str,
) -> Result<TaskEnd, Error> {
    signal::note_interruptions();
    let fleet = folder.read_fleet()?;
    let study = submitted(folder, &fleet, wanted)?;
    if task >= fleet.tasks.len() {
        return Err(Error::new(format!(
            "the fleet has {} tasks and no task {task}",
            fleet.tasks.len()
        )));
    }
    let place = FleetFolder::place_of(task, job);
    folder.make_dir(&place)?;
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
    let mut errand = Errand { folder, fleet: &fleet, study, task, place, record };
    errand.write()?;
    let end = errand.work().unwrap_or_else(|error| {
        // What cannot be done on this host is this task's end and no other's.
        let back = is_put_back().unwrap_or(false);
        TaskEnd::without_a_run(HOST, error.to_string(), back)
    });
    errand.record.phase = Phase::Ended;
    errand.record.ended_at = Some(now());
    errand.record.code = end.code;
    errand.record.why.clone_from(&end.why);
    errand.record.restored = Some(end.restored);
    errand.write()?;
    Ok(end)
}

/// What the folder holds is run by root: it must be what was submitted. It is read once, so that what
/// was compared is what is run.
fn submitted(folder: &FleetFolder, fleet: &Fleet, wanted: &str) -> Result<Taken, Error> {
    let taken = take(folder, fleet)?;
    if taken.digest == wanted {
        return Ok(taken);
    }
    let found = &taken.digest;
    let what = format!(
        "{} is not what was submitted (SHA-256 {found}, the job script says {wanted})",
        folder.path().display()
    );
    Err(Error::new(what).hint(
        "somebody has changed the study or the words of fleet.json since; look who, and submit \
         again with `assay fleet resume`",
    ))
}

impl Errand<'_> {
    fn write(&self) -> Result<(), Error> {
        self.folder.write_json(&self.place.join("task.json"), &self.record)
    }

    fn enter(&mut self, phase: Phase) -> Result<(), Error> {
        self.record.phase = phase;
        self.write()
    }

    fn work(&mut self) -> Result<TaskEnd, Error> {
        // Slurm would end it then; without Slurm nobody else would.
        let limit = Duration::from_secs(60 * self.fleet.time_limit_min);
        let Some(_turn) = host_lock::take(&state_dir(), limit)? else {
            let why = "it was asked to stop before its turn came".to_owned();
            return Ok(TaskEnd::without_a_run(INTERRUPTED, why, true));
        };
        if !is_put_back()? {
            self.enter(Phase::Restore)?;
            let (taken_back, complete) = restore()?;
            self.record.restored_first = taken_back;
            if !complete {
                let why = "what a killed run left on the host could not be taken back; `assay \
                           restore` there says why";
                return Ok(TaskEnd::without_a_run(RESTORE_INCOMPLETE, why.to_owned(), false));
            }
        }
        if let Some(name) = signal::interrupted_by() {
            let why = format!("it got {name} before its run began");
            return Ok(TaskEnd::without_a_run(INTERRUPTED, why, true));
        }
        self.enter(Phase::Run)?;
        let status = self.run()?;
        self.end(status)
    }

    /// Runs the study to its end, from a folder of this host's own: the shared one may say something
    /// else by now. This task has its turn, so that no other uses that folder.
    fn run(&self) -> Result<ExitStatus, Error> {
        let state = private_state(&state_dir())?;
        state.remove_tree(OWN_STUDY)?;
        let own = state.make_new_dir(OWN_STUDY)?;
        let status = self.study.write(&own).and_then(|()| self.run_study(&own));
        state.remove_tree(OWN_STUDY)?;
        status
    }

    fn run_study(&self, study: &Dir) -> Result<ExitStatus, Error> {
        let own = &self.fleet.tasks[self.task];
        let place = self.folder.dir().dir(&self.place)?;
        // This very program, whatever its path stands for by now.
        let mut command = Command::new(THIS_PROGRAM);
        command.arg0("assay").arg("run");
        for word in &self.fleet.arguments {
            let inside = Path::new(word).strip_prefix(self.folder.path()).ok();
            let inside = inside.filter(|inside| inside.starts_with(STUDY));
            command.arg(inside.map_or_else(|| word.into(), |inside| study.path().join(inside)));
        }
        command.arg("--seed").arg(own.seed.to_string());
        if let Some(slice) = &own.slice {
            command.arg("--slice").arg(slice);
        }
        command.arg("--out").arg(self.folder.file(&self.place).join("run"));
        if self.fleet.trust_folder {
            command.arg("--trust-folder");
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(create(&place, "stdout.txt")?)
            .stderr(create(&place, "stderr.txt")?)
            .spawn()
            .map_err(|cause| Error::new(format!("cannot start assay run: {cause}")))?;
        wait(child)
    }

    fn end(&self, status: ExitStatus) -> Result<TaskEnd, Error> {
        let Some(number) = status.signal() else {
            let restored = is_put_back()?;
            return Ok(TaskEnd { code: status.code(), why: self.why(status), restored });
        };
        // Nobody else will come by before the next task does.
        let (_, restored) = restore()?;
        let why = format!("its run was killed by signal {number}");
        Ok(TaskEnd { code: None, why: Some(why), restored })
    }

    /// What the run said of an end that is no verdict.
    fn why(&self, status: ExitStatus) -> Option<String> {
        let verdict = matches!(status.code(), Some(0 | 1 | 3));
        if verdict {
            return None;
        }
        let said = self.place.join("stderr.txt");
        let said = self.folder.dir().bytes(said, MOST_DOCUMENT).ok()?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let lines = || said.lines().map(str::trim);
        let error = lines().find_map(|line| line.strip_prefix("error: "));
        let last = lines().rfind(|line| !line.is_empty());
        error.or(last).map(str::to_owned)
    }
}

/// Waits for the run, and passes on the first signal that comes meanwhile.
fn wait(mut child: Child) -> Result<ExitStatus, Error> {
    let end = End::of(&child);
    let mut passed_on = false;
    loop {
        let status = child
            .try_wait()
            .map_err(|cause| Error::new(format!("cannot wait for assay run: {cause}")))?;
        if let Some(status) = status {
            return Ok(status);
        }
        if !passed_on && signal::interrupted_by().is_some() {
            // The child was not waited for, so its number is still its own.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            passed_on = true;
        }
        end.wait(Duration::from_millis(200));
    }
}

/// Whether no ledger of a dead run is left on this host.
fn is_put_back() -> Result<bool, Error> {
    Ok(unfinished(&state_dir())?.iter().all(|ledger| ledger.live))
}

/// Takes back what dead runs have left: what that was, and whether all of it is back.
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

/// A task that Slurm starts again writes anew.
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

    /// Whoever may write in the folder of a fleet would be root on every host.
    #[test]
    fn a_task_starts_nothing_when_what_was_submitted_has_changed() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        folder.make_dir(Path::new("study")).unwrap();
        let study = Path::new("study/study.toml");
        folder.write_text(study, "as submitted").unwrap();
        let fleet = fleet();
        folder.write_fleet(&fleet).unwrap();
        let submitted = digest(&folder, &fleet).unwrap();
        let taken = super::submitted(&folder, &folder.read_fleet().unwrap(), &submitted).unwrap();
        // What is run is what was compared, whatever the folder says afterwards.
        folder.write_text(study, "as an attacker has it").unwrap();
        let own = Dir::open(place.path()).unwrap().make_dir("own").unwrap();
        taken.write(&own).unwrap();
        let written = std::fs::read_to_string(own.path().join(study)).unwrap();
        assert_eq!(written, "as submitted");
        folder.write_text(study, "as submitted").unwrap();

        let refused = || {
            let error = carry_out(&folder, 0, 7, &submitted).unwrap_err();
            assert!(error.what.contains("is not what was submitted"), "{error}");
            assert!(!folder.file("tasks/00").exists(), "nothing was begun");
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
        // A link would be read from elsewhere, at another time with other words.
        folder.dir().remove_file("study/beside.toml").unwrap();
        folder.dir().remove_file(study).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.file(study)).unwrap();
        assert!(carry_out(&folder, 0, 7, &submitted).is_err());
    }
}
