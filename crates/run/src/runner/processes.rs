//! The workloads' processes, from their start inside a group to their last output.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_host::find_program;
use assay_host::{describe_survivor, is_frozen};
use assay_study::plan::ToolPlan;
use assay_sys::files::{Caller, Dir};
use assay_sys::kernel::blocked::HangWatch;
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::process::{Membership, send, send_to_group};
use assay_sys::kernel::{Error, Root, signal};
use rustix::process::Signal;

use crate::runner::privileges::{read_output, set_environment};

/// A workload that has been started and not yet been waited for.
pub(crate) struct Process {
    pub(crate) workload: String,
    pub(crate) group: String,
    /// Its output folder, relative to the run folder.
    pub(crate) log: String,
    /// The tool, which determines how its output is read.
    pub(crate) tool: ToolPlan,
    /// Whether it runs until it is stopped.
    pub(crate) until_stopped: bool,
    folder: Dir,
    child: Child,
    /// Number of processes that will arrive at the start barrier.
    pub(crate) jobs: usize,
    /// When it was started or released.
    pub(crate) began_ns: Option<u64>,
    /// When it ended by itself.
    pub(crate) ended_ns: Option<u64>,
    /// Why it ended before it was stopped.
    pub(crate) ended: Option<String>,
    /// Whether it was running when it was stopped.
    pub(crate) was_stopped: bool,
    status: Option<ExitStatus>,
    /// Whether it did not end after SIGKILL.
    is_stuck: bool,
}

/// Everything needed to start a workload.
pub(crate) struct Launch<'l> {
    pub(crate) workload: &'l str,
    pub(crate) group: &'l str,
    pub(crate) tool: &'l ToolPlan,
    pub(crate) until_stopped: bool,
    pub(crate) program: String,
    pub(crate) words: Vec<String>,
    /// Its working directory, which also receives its output.
    pub(crate) folder: Dir,
    /// The other user that it is handed over to once our files are in it.
    pub(crate) hand_over_to: Option<Caller>,
    /// The folder's path in the run folder.
    pub(crate) log: String,
    /// Number of processes that will arrive at the start barrier; 0 without one.
    pub(crate) jobs: usize,
}

/// File names of a workload's standard output and standard error in its folder; fio writes its result to a
/// file itself.
pub(crate) fn output_files(tool: &ToolPlan) -> (String, String) {
    match tool {
        ToolPlan::Fio(_) => ("fio.json".to_owned(), "fio.txt".to_owned()),
        ToolPlan::Invocation(call) => (format!("{}.out", call.tool), format!("{}.txt", call.tool)),
    }
}

/// Time for a tool to write its results after it was stopped.
pub(crate) const TO_WRITE_RESULTS: Duration = Duration::from_secs(30);

/// Time for a workload to end when stopped before the common start, when there are no results yet. A job on
/// its way to the start barrier may ignore signals until it is there.
pub(crate) const BEFORE_THE_START: Duration = Duration::from_secs(1);

/// Time for a killed process to end. The kernel first completes writes in progress; removing its group
/// waits once more.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// Time to wait for a process that is frozen by another program.
const FROZEN: Duration = Duration::from_secs(2);

/// Time to wait for a process that hangs in the kernel: it has not been scheduled for this long, and cannot
/// write results either.
const HANGING: Duration = Duration::from_secs(15);

impl Process {
    /// Starts it in `membership`.
    pub(crate) fn start(launch: Launch<'_>, membership: &Membership) -> Result<Self, Error> {
        let create = |name: &str| launch.folder.create(name);
        let (output, messages) = output_files(launch.tool);
        let messages = create(&messages)?;
        let stdout = match launch.tool {
            ToolPlan::Fio(_) => messages
                .try_clone()
                .map_err(|cause| Error::new("open", launch.folder.path(), &cause))?,
            ToolPlan::Invocation(_) => create(&output)?,
        };
        // From here on the user may have put something else in the place of any name in it.
        if let Some(user) = launch.hand_over_to {
            launch.folder.hand_over(user)?;
        }
        // The program is looked up here, where relative entries of PATH are ignored.
        let found_program = (!launch.program.contains('/')).then(|| find_program(&launch.program));
        let program = found_program.flatten().unwrap_or_else(|| PathBuf::from(&launch.program));
        let mut command = Command::new(program);
        set_environment(&mut command, launch.tool, membership.user());
        command
            .args(&launch.words)
            // A path through the descriptor: renaming a folder above must not change where it finds its job.
            .current_dir(launch.folder.proc_path())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(messages);
        let child = membership.spawn_answered(&mut command)?;
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

    /// Whether it is still running. Records how it ended.
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

    /// Whether it ended with an error rather than having completed its work.
    pub(crate) fn has_failed(&self) -> bool {
        self.status.is_some_and(|status| !status.success()) && self.ended.is_some()
    }

    /// Kills it and records the reason.
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

    /// Stops waiting for a process that hangs in the kernel or is frozen; it is reported again when its group
    /// cannot be removed.
    fn give_up_waiting(&mut self) {
        if self.status.is_none() {
            self.is_stuck = true;
            let why = describe_survivor(&Root::real(), self.child.id());
            let before = self.ended.take().unwrap_or_else(|| "was killed".to_owned());
            self.ended = Some(format!("{before}; it survived SIGKILL: {why}"));
        }
    }

    /// Whether it has ended, or was given up.
    fn has_been_waited_for(&self) -> bool {
        self.status.is_some() || self.is_stuck
    }

    /// Its result and its messages.
    pub(crate) fn printed(&self) -> (String, String) {
        let (output, messages) = output_files(&self.tool);
        (read_output(&self.folder, &output), read_output(&self.folder, &messages))
    }

    /// Sends a signal. fio forwards signals to its jobs itself. Other programs may have started further
    /// processes, all of them in the process group that the first one leads.
    fn signal(&self, signal: Signal) {
        // A process that has just ended needs no signal, and its id is not reused until it is waited for.
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

/// Stops every process and waits until all have ended. Tools end at SIGINT after writing their results; those
/// that do not end in time are killed, and all of them are when the user interrupts the run a second time.
pub(crate) fn stop_all(processes: &mut [Process], patience: Duration) {
    for process in processes.iter_mut() {
        if process.is_running() {
            process.was_stopped = true;
            process.signal(Signal::INT);
            // A job that is stopped at the start barrier receives the signal only when continued.
            process.signal(Signal::CONT);
        }
    }
    let mut running: Vec<&mut Process> =
        processes.iter_mut().filter(|process| !process.has_been_waited_for()).collect();
    wait_for_all(&mut running, patience, true);
    running.retain(|process| process.status.is_none());
    for process in &mut running {
        process.ended = Some(match signal::interrupted_twice() {
            true => "killed at the second interruption".to_owned(),
            false => format!("did not stop within {patience:?} and was killed"),
        });
        process.signal(Signal::KILL);
    }
    wait_for_all(&mut running, AFTER_KILL, false);
    running.into_iter().for_each(Process::give_up_waiting);
}

/// Waits until all have ended, with limits: not if all remaining ones are frozen by another program, and,
/// where they may still write results, not after the user's second Ctrl-C.
fn wait_for_all(processes: &mut [&mut Process], limit: Duration, may_write: bool) {
    let begun = Instant::now();
    let (root, mut watch) = (Root::real(), HangWatch::default());
    loop {
        let mut running = Vec::new();
        for process in processes.iter_mut().filter(|process| process.status.is_none()) {
            match process.child.try_wait() {
                Ok(Some(status)) => process.status = Some(status),
                _ => running.push(process.child.id()),
            }
        }
        let elapsed = begun.elapsed();
        let is_frozen = || elapsed > FROZEN && running.iter().all(|pid| is_frozen(&root, *pid));
        let mut hopeless = || watch.all_hang(&root, &running, HANGING) || is_frozen();
        if running.is_empty()
            || elapsed > limit
            || may_write && signal::interrupted_twice()
            || hopeless()
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Process {
    /// A process that was not waited for because of an error is killed here.
    fn drop(&mut self) {
        if !self.has_been_waited_for() {
            self.kill();
        }
    }
}

/// Sleeps; returns whether the run was interrupted.
pub(crate) fn pause(length: Duration) -> bool {
    std::thread::sleep(length);
    signal::interrupted_by().is_some()
}

#[cfg(test)]
mod tests;
