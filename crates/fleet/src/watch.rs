//! Waiting for the tasks of a fleet, and ending them.

use std::time::{Duration, Instant};

use assay_kernel::signal;
use assay_verdict::HostState;

use crate::document::Fleet;
use crate::error::Error;
use crate::folder::FleetFolder;
use crate::slurm::Slurm;
use crate::state::{TaskState, states};

/// Whom the wait tells what happens.
pub trait Watcher {
    /// A task is somewhere else than before, or does something else.
    fn task(&mut self, name: &str, state: &TaskState);

    /// Called once a round with where all tasks are.
    fn round(&mut self, states: &[TaskState]);

    /// Anything else.
    fn remark(&mut self, text: &str);
}

/// How often to ask. Each round is one `squeue` a job, which even large controllers take lightly.
const ROUND: Duration = Duration::from_secs(1);

/// How long a task may be over for Slurm before its silence counts: attributes of files are kept
/// that long on NFS (nfs(5), `acdirmax`).
const PATIENCE: Duration = Duration::from_secs(60);

/// How long after the signal Slurm may take to end what did not end by itself.
const AFTER_THE_KILL: Duration = Duration::from_secs(90);

/// Waits until every task has ended or is lost. When the user interrupts, the jobs are cancelled
/// and the hosts put back first; then the name of the signal is returned.
pub fn wait(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    watcher: &mut dyn Watcher,
) -> Result<Option<&'static str>, Error> {
    let mut course = Course { seen: vec![None; fleet.tasks.len()], stop: None };
    loop {
        let found = states(folder, fleet, slurm);
        for (task, state) in found.iter().enumerate() {
            course.tell(fleet, task, state, watcher);
        }
        watcher.round(&found);
        if course.is_over(&found) {
            return Ok(signal::interrupted_by());
        }
        if let Some(name) = signal::interrupted_by() {
            if course.stop.is_none() {
                watcher.remark(&format!(
                    "{name}: the jobs are cancelled; waiting until every host is restored"
                ));
                cancel(fleet, slurm)?;
                course.stop = Some(Stop { began: Instant::now(), killed: false });
            }
            if course.end_by_force(fleet, slurm, watcher)? {
                return Ok(Some(name));
            }
        }
        std::thread::sleep(ROUND);
    }
}

/// What was seen of the tasks so far.
struct Course {
    /// The last state of each task, and since when it is like that.
    seen: Vec<Option<(TaskState, Instant)>>,
    stop: Option<Stop>,
}

struct Stop {
    began: Instant,
    killed: bool,
}

impl Course {
    fn tell(&mut self, fleet: &Fleet, task: usize, state: &TaskState, watcher: &mut dyn Watcher) {
        let same =
            |seen: &(TaskState, Instant)| seen.0.state == state.state && seen.0.why == state.why;
        if self.seen[task].as_ref().is_some_and(same) {
            return;
        }
        self.seen[task] = Some((state.clone(), Instant::now()));
        watcher.task(&fleet.name_of(task), state);
    }

    /// Whether no task has anything left to say.
    fn is_over(&self, states: &[TaskState]) -> bool {
        states.iter().zip(&self.seen).all(|(state, seen)| match state.state {
            HostState::Ended => true,
            HostState::Lost => {
                let silent = seen.as_ref().is_some_and(|(_, since)| since.elapsed() >= PATIENCE);
                !state.may_change || silent
            }
            HostState::Waiting | HostState::Running => false,
        })
    }

    /// Has Slurm end what did not end by itself in the time that it had; whether to give up.
    fn end_by_force(
        &mut self,
        fleet: &Fleet,
        slurm: &Slurm,
        watcher: &mut dyn Watcher,
    ) -> Result<bool, Error> {
        let Some(stop) = &mut self.stop else { return Ok(false) };
        let ahead = Duration::from_secs(fleet.signal_ahead_s);
        if !stop.killed && stop.began.elapsed() > ahead {
            stop.killed = true;
            watcher.remark("not every task has ended; Slurm ends the rest now");
            for submission in &fleet.submissions {
                slurm.cancel(submission.job)?;
            }
        }
        let gave_up = stop.began.elapsed() > ahead + AFTER_THE_KILL;
        if gave_up {
            watcher.remark("some tasks are still there; `assay fleet status` shows which");
        }
        Ok(gave_up)
    }
}

/// Cancels a fleet: what waits leaves the queue, and what runs is asked to stop, which it does
/// after it has put its host back.
pub fn cancel(fleet: &Fleet, slurm: &Slurm) -> Result<(), Error> {
    for submission in &fleet.submissions {
        slurm.forget(submission.job)?;
        slurm.terminate(submission.job)?;
    }
    Ok(())
}
