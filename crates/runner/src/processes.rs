//! The workloads' processes, from their start inside a group to their last output.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_files::Dir;
use assay_host::find_program;
use assay_host::ledger::{is_frozen, why_it_lives};
use assay_kernel::clock::monotonic_ns;
use assay_kernel::process::{Membership, send, send_to_group};
use assay_kernel::{Error, Root, signal};
use assay_plan::ToolPlan;
use rustix::process::Signal;

use crate::privileges::{read_output, set_environment};

/// A workload that was started and not yet waited for.
pub(crate) struct Process {
    pub(crate) workload: String,
    pub(crate) group: String,
    /// Its folder of output, relative to the run folder.
    pub(crate) log: String,
    /// What it is; says how its output is read.
    pub(crate) tool: ToolPlan,
    /// Whether nobody waits for its end.
    pub(crate) until_stopped: bool,
    folder: Dir,
    child: Child,
    /// Processes that will come to the gate.
    pub(crate) jobs: usize,
    /// When it was started or let go.
    pub(crate) began_ns: Option<u64>,
    /// When it was seen to have ended by itself.
    pub(crate) ended_ns: Option<u64>,
    /// Why it ended before it was told to.
    pub(crate) ended: Option<String>,
    /// Whether it was told to stop while it ran.
    pub(crate) was_stopped: bool,
    status: Option<ExitStatus>,
    /// Whether it did not end after it was killed.
    is_stuck: bool,
}

/// Everything that a start needs, ready.
pub(crate) struct Launch<'l> {
    pub(crate) workload: &'l str,
    pub(crate) group: &'l str,
    pub(crate) tool: &'l ToolPlan,
    pub(crate) until_stopped: bool,
    pub(crate) program: String,
    pub(crate) words: Vec<String>,
    /// Where it runs, and leaves its output.
    pub(crate) folder: Dir,
    /// The same, relative to the run folder.
    pub(crate) log: String,
    /// Processes that will come to the gate; 0 without one.
    pub(crate) jobs: usize,
}

/// Standard output and standard error of a workload, below its folder; fio writes its result into
/// a file itself.
pub(crate) fn output_files(tool: &ToolPlan) -> (String, String) {
    match tool {
        ToolPlan::Fio(_) => ("fio.json".to_owned(), "fio.txt".to_owned()),
        ToolPlan::Invocation(call) => (format!("{}.out", call.tool), format!("{}.txt", call.tool)),
    }
}

/// How long a tool may take to write its results after it was told to stop.
pub(crate) const TO_WRITE_RESULTS: Duration = Duration::from_secs(30);

/// How long one may take to end that was told to stop before the common start, when there are no
/// results. A job on its way to the gate may hear nothing until it is there.
pub(crate) const BEFORE_THE_START: Duration = Duration::from_secs(1);

/// How long one that was killed may take to end. What it has begun to write, the kernel ends first;
/// taking its group back waits for it once more.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How long one is waited for that somebody has frozen.
const FROZEN: Duration = Duration::from_secs(2);

impl Process {
    /// Starts it in `membership`.
    pub(crate) fn start(launch: Launch<'_>, membership: &Membership) -> Result<Self, Error> {
        let create = |name: &str| launch.folder.create(name);
        let (output, talk) = output_files(launch.tool);
        let talk = create(&talk)?;
        let stdout = match launch.tool {
            ToolPlan::Fio(_) => talk
                .try_clone()
                .map_err(|cause| Error::new("open", launch.folder.path(), &cause))?,
            ToolPlan::Invocation(_) => create(&output)?,
        };
        // A name is looked for here, where relative entries of PATH do not count.
        let found = (!launch.program.contains('/')).then(|| find_program(&launch.program));
        let program = found.flatten().unwrap_or_else(|| PathBuf::from(&launch.program));
        let mut command = Command::new(program);
        set_environment(&mut command, launch.tool, membership.user());
        command
            .args(&launch.words)
            // Whoever may rename a folder above it must not choose where it finds its job.
            .current_dir(launch.folder.here())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(talk);
        let child = membership.spawn(&mut command)?;
        Ok(Self {
            workload: launch.workload.to_owned(),
            group: launch.group.to_owned(),
            log: launch.log,
            tool: launch.tool.clone(),
            until_stopped: launch.until_stopped,
            folder: launch.folder,
            child,
            jobs: launch.jobs,
            began_ns: (launch.jobs == 0).then(monotonic_ns),
            ended_ns: None,
            ended: None,
            was_stopped: false,
            status: None,
            is_stuck: false,
        })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still running. One that has ended says why from then on.
    pub(crate) fn is_running(&mut self) -> bool {
        if self.has_been_waited_for() {
            return false;
        }
        match self.child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                self.status = Some(status);
                self.ended_ns = Some(monotonic_ns());
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

    /// Ends it at once, for a reason that is kept.
    pub(crate) fn give_up(&mut self, why: String) {
        if self.is_running() {
            self.ended = Some(why);
            self.kill();
        }
    }

    /// Kills it and waits for its end.
    fn kill(&mut self) {
        self.signal(Signal::KILL);
        wait_for_all(&mut [&mut *self], AFTER_KILL, false);
        self.give_up_waiting();
    }

    /// One that hangs in the kernel or is frozen is not waited for; it is named once more when its
    /// group cannot be removed.
    fn give_up_waiting(&mut self) {
        if self.status.is_none() {
            self.is_stuck = true;
            let why = why_it_lives(&Root::real(), self.child.id());
            let before = self.ended.take().unwrap_or_else(|| "was killed".to_owned());
            self.ended = Some(format!("{before}; it does not end after SIGKILL: {why}"));
        }
    }

    /// Whether it has ended, or will not however long one waits.
    fn has_been_waited_for(&self) -> bool {
        self.status.is_some() || self.is_stuck
    }

    /// What it wrote: its result, and what it said.
    pub(crate) fn output(&self) -> (String, String) {
        let read =
            |name: &str| String::from_utf8_lossy(&read_output(&self.folder, name)).into_owned();
        let (output, talk) = output_files(&self.tool);
        (read(&output), read(&talk))
    }

    /// fio passes signals on to its jobs itself. Other programs may have started more of them,
    /// and all are in the process group that the first one leads.
    fn signal(&self, signal: Signal) {
        // One that has just ended needs no signal, and its id is ours until it is waited for.
        let _ = match self.tool {
            ToolPlan::Fio(_) => send(self.child.id(), signal),
            ToolPlan::Invocation(_) => send_to_group(self.child.id(), signal),
        };
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

/// Asks every process to stop and waits until all have. Tools end at SIGINT with their results
/// written; one that does not end in time is killed, and so is every one when the user interrupts
/// the run a second time.
pub(crate) fn stop_all(processes: &mut [Process], patience: Duration) {
    for process in processes.iter_mut() {
        if process.is_running() {
            process.was_stopped = true;
            process.signal(Signal::INT);
            // A job that still stands at the gate hears nothing until it goes on.
            process.signal(Signal::CONT);
        }
    }
    let mut left: Vec<&mut Process> =
        processes.iter_mut().filter(|process| !process.has_been_waited_for()).collect();
    wait_for_all(&mut left, patience, true);
    left.retain(|process| process.status.is_none());
    for process in &mut left {
        process.ended = Some(match signal::insisted() {
            true => "killed at the second interruption".to_owned(),
            false => format!("did not stop within {patience:?} and was killed"),
        });
        process.signal(Signal::KILL);
    }
    wait_for_all(&mut left, AFTER_KILL, false);
    left.into_iter().for_each(Process::give_up_waiting);
}

/// Waits until all have ended, but not for ever: not when all that are left are frozen by somebody
/// else, and, where they may still write their results, not after the user's second Ctrl-C.
fn wait_for_all(processes: &mut [&mut Process], limit: Duration, may_write: bool) {
    let begun = Instant::now();
    loop {
        let mut left = Vec::new();
        for process in processes.iter_mut().filter(|process| process.status.is_none()) {
            match process.child.try_wait() {
                Ok(Some(status)) => process.status = Some(status),
                _ => left.push(process.child.id()),
            }
        }
        let elapsed = begun.elapsed();
        let root = Root::real();
        let hopeless = || elapsed > FROZEN && left.iter().all(|pid| is_frozen(&root, *pid));
        if left.is_empty() || elapsed > limit || may_write && signal::insisted() || hopeless() {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Process {
    /// A process that nobody has waited for, because an error came between, is killed here.
    fn drop(&mut self) {
        if !self.has_been_waited_for() {
            self.kill();
        }
    }
}

/// Sleeps a little, and says whether the run was interrupted.
pub(crate) fn pause(length: Duration) -> bool {
    std::thread::sleep(length);
    signal::interrupted_by().is_some()
}
