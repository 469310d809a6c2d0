//! The start barrier: every job waits there until all have arrived.

use std::time::Duration;

use assay_files::Dir;
use assay_kernel::clock::{monotonic_ns, process_cpu_ns};
use assay_kernel::fifo::Fifo;
use assay_kernel::privileges::User;
use assay_kernel::process::{ProcessHandle, parent, state, with_real_time_priority};
use assay_kernel::{Error, Root};
use assay_workload::fio::{BARRIER_FILE, parse_barrier_line};
use rustix::process::Signal;

use crate::processes::{Process, pause};

/// The start barrier of one repeat.
pub(crate) struct StartBarrier {
    /// One for the workloads of each user, with its name.
    fifos: Vec<(String, Fifo)>,
    waiting: Vec<Job>,
}

/// A process that has reported that it waits.
struct Job {
    process: ProcessHandle,
    /// The id of the workload's process: its own, or that of its parent.
    workload: u32,
}

/// How long the barrier waits for jobs that have not arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Limit for a process that uses no CPU time at all.
    pub(crate) idle: Duration,
    /// Limit for any process.
    pub(crate) whole: Duration,
}

/// Laying out files may take long, but never without CPU time. Documented in docs/run-folder.md.
pub(crate) const PATIENCE: Patience =
    Patience { idle: Duration::from_secs(60), whole: Duration::from_secs(3600) };

/// A process that has not arrived yet.
struct Expected {
    id: u32,
    cpu_ns: Option<u64>,
    /// When it last used CPU time.
    worked_ns: u64,
}

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
        Ok(Self { fifos, waiting: Vec::new() })
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
        let began_ns = monotonic_ns();
        let mut expected_processes: Vec<Expected> = processes
            .iter()
            .map(|process| Expected { id: process.id(), cpu_ns: None, worked_ns: began_ns })
            .collect();
        loop {
            self.add_arrivals(root, processes)?;
            let mut expected = 0;
            let mut all_arrived = true;
            for process in processes.iter_mut().filter_map(running) {
                expected += process.jobs;
                all_arrived &= self.has_arrived(root, process);
            }
            on_progress(self.waiting.len(), expected);
            if all_arrived {
                return Ok(Arrival::All);
            }
            for (process_state, process) in expected_processes.iter_mut().zip(&mut *processes) {
                if let Some(why) = process_state.timed_out(began_ns, patience)
                    && !self.has_arrived(root, process)
                {
                    process.give_up(why);
                }
            }
            if pause(Duration::from_millis(5)) {
                return Ok(Arrival::Interrupted);
            }
        }
    }

    /// Adds the jobs that have arrived since the last call.
    fn add_arrivals(&mut self, root: &Root, processes: &[Process]) -> Result<(), Error> {
        let mut named = Vec::new();
        for (_, fifo) in &mut self.fifos {
            named.extend(fifo.lines()?.iter().filter_map(|line| parse_barrier_line(line)));
        }
        for pid in named {
            if self.waiting.iter().any(|job| job.process.id() == pid) {
                continue;
            }
            // Opened first: whatever is read of it then is about the process that gets the signal.
            let Ok(process) = ProcessHandle::open(pid) else { continue };
            let may_be = [Some(pid), parent(root, pid)];
            let of = processes.iter().map(Process::id).find(|id| may_be.contains(&Some(*id)));
            if let Some(workload) = of {
                self.waiting.push(Job { process, workload });
            }
        }
        Ok(())
    }

    /// Whether all jobs of a process wait. One that was killed there counts: it is reported with the results.
    fn has_arrived(&self, root: &Root, process: &Process) -> bool {
        let stopped = |pid: u32| !matches!(state(root, pid), Some('R' | 'S' | 'D'));
        let own = self.waiting.iter().filter(|job| job.workload == process.id());
        own.filter(|job| stopped(job.process.id())).count() >= process.jobs
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
            for job in &self.waiting {
                // A job that was killed at the barrier is reported with its results.
                let _ = job.process.send(Signal::CONT);
            }
            let release = Release { first_ns, last_ns: monotonic_ns() };
            (release, watch())
        })
    }
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

impl Expected {
    /// The reason if it has exceeded a limit.
    fn timed_out(&mut self, began_ns: u64, patience: Patience) -> Option<String> {
        let now = monotonic_ns();
        let cpu_ns = process_cpu_ns(self.id);
        if cpu_ns != self.cpu_ns {
            self.cpu_ns = cpu_ns;
            self.worked_ns = now;
        }
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        let why = if since(self.worked_ns) > patience.idle {
            format!("without any CPU time used for {:?}", patience.idle)
        } else if since(began_ns) > patience.whole {
            format!("within {:?}", patience.whole)
        } else {
            return None;
        };
        Some(format!("did not reach the start barrier {why}, and was killed"))
    }
}

#[cfg(test)]
mod tests;
