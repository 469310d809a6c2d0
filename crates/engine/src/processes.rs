//! The workloads' processes, from their start inside a group to their last output.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_kernel::process::{Membership, send};
use assay_kernel::{Error, signal};
use assay_workload::fio::Job;
use rustix::process::Signal;

/// A workload that was started and not yet waited for.
pub(crate) struct Process {
    pub(crate) workload: String,
    pub(crate) group: String,
    /// Its folder of output, relative to the run folder.
    pub(crate) log: String,
    folder: PathBuf,
    child: Child,
    /// Jobs that will come to the gate.
    pub(crate) jobs: usize,
    /// Why it ended before it was told to.
    pub(crate) ended: Option<String>,
    status: Option<ExitStatus>,
}

/// What fio is told its own files are called, inside its folder.
const JOB: &str = "job.fio";
pub(crate) const OUTPUT: &str = "fio.json";
pub(crate) const TALK: &str = "fio.txt";

/// How long fio may take to write its results after it was told to stop.
const PATIENCE: Duration = Duration::from_secs(30);

impl Process {
    /// Writes the job file and starts fio in `membership`, with its output in `folder`.
    pub(crate) fn start(
        workload: &str,
        group: &str,
        job: &Job,
        membership: &Membership,
        folder: &Path,
        log: String,
    ) -> Result<Self, Error> {
        let failed = |operation, path: &Path| {
            let path = path.to_owned();
            move |cause: std::io::Error| Error::new(operation, &path, &cause)
        };
        let path = folder.join(JOB);
        std::fs::write(&path, job.to_job_file()).map_err(failed("write", &path))?;
        let path = folder.join(TALK);
        let talk = File::create(&path).map_err(failed("create", &path))?;
        let also = talk.try_clone().map_err(failed("open", &path))?;
        let mut command = Command::new("fio");
        command
            .args(["--output-format=json", "--eta=never", &format!("--output={OUTPUT}"), JOB])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(talk)
            .stderr(also);
        let child = membership.spawn(&mut command)?;
        Ok(Self {
            workload: workload.to_owned(),
            group: group.to_owned(),
            log,
            folder: folder.to_owned(),
            child,
            jobs: job.option("numjobs").and_then(|text| text.parse().ok()).unwrap_or(1),
            ended: None,
            status: None,
        })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still running. One that has ended says why from then on.
    pub(crate) fn is_running(&mut self) -> bool {
        if self.status.is_some() {
            return false;
        }
        match self.child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                self.status = Some(status);
                self.ended.get_or_insert_with(|| describe(status));
                false
            }
            Err(cause) => {
                self.ended.get_or_insert_with(|| cause.to_string());
                false
            }
        }
    }

    /// Whether it ended with an error, as against having done all it had to do.
    pub(crate) fn has_failed(&self) -> bool {
        self.status.is_some_and(|status| !status.success()) && self.ended.is_some()
    }

    /// What fio wrote: its result, and what it said.
    pub(crate) fn output(&self) -> (String, String) {
        let read = |name| {
            let bytes = std::fs::read(self.folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        (read(OUTPUT), read(TALK))
    }

    fn signal(&self, signal: Signal) {
        // One that has just ended needs no signal, and its id is ours until it is waited for.
        let _ = send(self.child.id(), signal);
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => "ended by itself before the window did".to_owned(),
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// Asks every process to stop and waits until all have. fio ends at SIGINT with its results
/// written; one that does not end in time is killed.
pub(crate) fn stop_all(processes: &mut [Process]) {
    for process in processes.iter_mut() {
        if process.is_running() {
            process.signal(Signal::INT);
            // A job that still stands at the gate hears nothing until it goes on.
            process.signal(Signal::CONT);
        }
    }
    let until = Instant::now() + PATIENCE;
    for process in processes.iter_mut().filter(|process| process.status.is_none()) {
        while Instant::now() < until {
            if let Ok(Some(status)) = process.child.try_wait() {
                process.status = Some(status);
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if process.status.is_none() {
            process.signal(Signal::KILL);
            process.status = process.child.wait().ok();
            process.ended = Some(format!("did not stop within {PATIENCE:?} and was killed"));
        }
    }
}

impl Drop for Process {
    /// A process that nobody has waited for, because an error came between, is killed here.
    fn drop(&mut self) {
        if self.status.is_none() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Sleeps a little, and says whether the run was interrupted.
pub(crate) fn pause(length: Duration) -> bool {
    std::thread::sleep(length);
    signal::interrupted_by().is_some()
}
