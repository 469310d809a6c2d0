//! The start barrier: every job waits there until all have arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use assay_study::workload::fio::{BARRIER_FILE, parse_barrier_line};
use assay_sys::files::Dir;
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::fifo::Fifo;
use assay_sys::kernel::privileges::User;
use assay_sys::kernel::process::{ProcessHandle, parent, state, with_real_time_priority};
use assay_sys::kernel::{Error, Root};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, test_kill_process};

use crate::runner::patience::{Expected, Patience};
use crate::runner::processes::{Process, pause};

/// The start barrier of one repeat.
pub(crate) struct StartBarrier {
    /// One for the workloads of each user, with its name.
    fifos: Vec<(String, Fifo)>,
    /// Reported processes whose parent could not be read, for want of descriptors.
    unclear: Vec<u32>,
    /// By the id of the workload's process.
    reports: BTreeMap<u32, Reports>,
}

/// The processes of one workload that have reported that they wait: its own and its children. Anyone who can
/// write to the FIFO can report any number of them.
#[derive(Default)]
struct Reports {
    /// Those seen stopped, by id.
    waiting: BTreeMap<u32, ProcessHandle>,
    /// The others, without a descriptor.
    set_aside: BTreeSet<u32>,
    /// Where the next look at those set aside begins.
    next: u32,
}

/// Processes set aside that are looked at in one round.
const LOOKS: usize = 256;

/// When the jobs were released, CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// How the wait at the barrier ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Every job of every running process has arrived.
    All,
    /// The user asked to stop.
    Interrupted,
}

impl StartBarrier {
    /// Creates a FIFO for workloads of our own user and one for those of each of `others`. A FIFO belongs to
    /// its user, and nobody else but root can open it: a process that reads from it or fills it delays its
    /// writers.
    pub(crate) fn open(folder: &Dir, others: &[User]) -> Result<Self, Error> {
        let mut fifos = Vec::new();
        for user in std::iter::once(None).chain(others.iter().map(Some)) {
            let name = fifo_name(user);
            let fifo = Fifo::make_in(folder, &name)?;
            if let Some(user) = user {
                fifo.give_to(user.uid)?;
            }
            fifos.push((name, fifo));
        }
        Ok(Self { fifos, unclear: Vec::new(), reports: BTreeMap::new() })
    }

    /// Waits until all jobs have arrived. A process that ends meanwhile is not waited for: the others still
    /// run, and its failure is reported with their results. A FIFO's writer can name any process, so only
    /// workloads and their children count, each for its own workload, and only while they are stopped: nobody
    /// can delay the start by a false report.
    pub(crate) fn wait_for_all(
        &mut self,
        root: &Root,
        processes: &mut [Process],
        patience: Patience,
        mut on_progress: impl FnMut(usize, usize),
    ) -> Result<Arrival, Error> {
        let mut expected_processes: Vec<Expected> =
            processes.iter().map(|process| Expected::new(process.id())).collect();
        loop {
            self.add_arrivals(root, processes)?;
            self.admit(root, processes);
            let mut expected = 0;
            let mut all_arrived = true;
            for process in processes.iter_mut().filter_map(running) {
                expected += process.jobs;
                all_arrived &= self.has_arrived(process);
            }
            on_progress(self.jobs().count(), expected);
            if all_arrived {
                return Ok(Arrival::All);
            }
            for (process_state, process) in expected_processes.iter_mut().zip(&mut *processes) {
                if let Some(why) = process_state.timed_out(patience)
                    && !self.has_arrived(process)
                {
                    process
                        .give_up(format!("did not reach the start barrier {why}, and was killed"));
                }
            }
            if pause(Duration::from_millis(5)) {
                return Ok(Arrival::Interrupted);
            }
        }
    }

    /// Notes the processes reported since the last call.
    fn add_arrivals(&mut self, root: &Root, processes: &[Process]) -> Result<(), Error> {
        let mut named = std::mem::take(&mut self.unclear);
        for (_, fifo) in &mut self.fifos {
            named.extend(fifo.lines()?.iter().filter_map(|line| parse_barrier_line(line)));
        }
        for pid in named {
            let parent = parent(root, pid);
            let may_be = [Some(pid), parent];
            let of = processes.iter().map(Process::id).find(|id| may_be.contains(&Some(*id)));
            match of {
                Some(workload) => self.reports.entry(workload).or_default().add(pid),
                None if parent.is_none() && exists(pid) => self.unclear.push(pid),
                None => {}
            }
        }
        Ok(())
    }

    /// Lets those that are stopped by now wait.
    fn admit(&mut self, root: &Root, processes: &[Process]) {
        for process in processes {
            if let Some(reports) = self.reports.get_mut(&process.id()) {
                reports.admit(root, process.id(), process.jobs);
            }
        }
    }

    /// Whether all jobs of a process wait. One that was killed there counts: it is reported with the results.
    fn has_arrived(&self, process: &Process) -> bool {
        let waiting = self.reports.get(&process.id()).map_or(0, |reports| reports.waiting.len());
        waiting >= process.jobs
    }

    /// The jobs that wait.
    fn jobs(&self) -> impl Iterator<Item = &ProcessHandle> {
        self.reports.values().flat_map(|reports| reports.waiting.values())
    }

    /// Removes the FIFOs: a later reader of the logs must not block on them.
    pub(crate) fn close(self, folder: &Dir) -> Result<(), Error> {
        for (name, _) in &self.fifos {
            folder.remove_file(name)?;
        }
        Ok(())
    }

    /// Releases all jobs in one burst, then calls `watch` without being preempted by them.
    pub(crate) fn release<T>(&self, watch: impl FnOnce() -> T) -> (Release, T) {
        with_real_time_priority(|| {
            let first_ns = monotonic_ns();
            for job in self.jobs() {
                // A job that was killed at the barrier is reported with its results.
                let _ = job.send(Signal::CONT);
            }
            let release = Release { first_ns, last_ns: monotonic_ns() };
            (release, watch())
        })
    }
}

impl Reports {
    fn add(&mut self, pid: u32) {
        if !self.waiting.contains_key(&pid) {
            self.set_aside.insert(pid);
        }
    }

    /// Lets those that are stopped by now wait, and sets aside those that no longer are. False reports can
    /// neither use up our descriptors nor our time: few more wait than the workload has jobs, and few are looked
    /// at in a round.
    fn admit(&mut self, root: &Root, workload: u32, jobs: usize) {
        let running = self.waiting.keys().copied().filter(|pid| !is_stopped(root, *pid));
        self.set_aside.extend(running);
        self.waiting.retain(|pid, _| !self.set_aside.contains(pid));
        let at_most = 2 * jobs + 16;
        let from_here = self.set_aside.range(self.next..).chain(self.set_aside.range(..self.next));
        let looked_at: Vec<u32> = from_here.copied().take(LOOKS).collect();
        for pid in looked_at {
            self.next = pid.saturating_add(1);
            if !exists(pid) {
                self.set_aside.remove(&pid);
            } else if self.waiting.len() < at_most
                && is_stopped(root, pid)
                // Opened first: whatever is read of it then is about the process that gets the signal.
                && let Ok(process) = ProcessHandle::open(pid)
                && (pid == workload || parent(root, pid) == Some(workload))
                && is_stopped(root, pid)
            {
                self.set_aside.remove(&pid);
                self.waiting.insert(pid, process);
            }
        }
    }
}

/// Whether a process is stopped, or was killed.
fn is_stopped(root: &Root, pid: u32) -> bool {
    !matches!(state(root, pid), Some('R' | 'S' | 'D'))
}

/// Whether there is a process of this id; needs no descriptor.
fn exists(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| test_kill_process(id) != Err(Errno::SRCH))
}

/// The FIFO of a user's workloads, `None` for our own user, by its name in the folder of the repeat's logs.
pub(crate) fn fifo_name(user: Option<&User>) -> String {
    match user.filter(|user| user.uid != 0 && !user.is_this_process()) {
        Some(user) => format!("{BARRIER_FILE}-{}", user.uid),
        None => BARRIER_FILE.to_owned(),
    }
}

fn running(process: &mut Process) -> Option<&mut Process> {
    process.is_running().then_some(process)
}

#[cfg(test)]
pub(crate) mod tests;
