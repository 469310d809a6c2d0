//! Waits for the tasks of a fleet, and cancels them.

use std::time::{Duration, Instant};

use assay_kernel::signal;
use assay_verdict::HostState;

use crate::document::Fleet;
use crate::error::Error;
use crate::folder::FleetFolder;
use crate::slurm::Slurm;
use crate::state::{TaskState, states};

/// Receives progress of the wait.
pub trait Watcher {
    /// The state or activity of a task has changed.
    fn task(&mut self, name: &str, state: &TaskState);

    /// Called once per round with the states of all tasks.
    fn round(&mut self, states: &[TaskState]);

    /// Any other message.
    fn remark(&mut self, text: &str);
}

/// Poll interval. Each round is one `squeue` per thousand jobs, a light load even for large controllers.
const ROUND: Duration = Duration::from_secs(1);

/// How long a task without a record may have ended in Slurm before it counts as lost: NFS caches
/// file attributes that long (nfs(5), `acdirmax`).
const PATIENCE: Duration = Duration::from_secs(60);

/// How long after the signal Slurm may take to kill the remaining processes.
const AFTER_THE_KILL: Duration = Duration::from_secs(90);

/// Waits until every task has ended or is lost. If the user interrupts, the jobs are cancelled and
/// the hosts restored first; then the name of the signal is returned.
pub fn wait(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    watcher: &mut dyn Watcher,
) -> Result<Option<&'static str>, Error> {
    let mut watch = Watch { last_seen: vec![None; fleet.tasks.len()], stop: None };
    loop {
        let states_now = states(folder, fleet, slurm);
        for (task, state) in states_now.iter().enumerate() {
            watch.report_change(fleet, task, state, watcher);
        }
        watcher.round(&states_now);
        if watch.is_over(&states_now) {
            return Ok(signal::interrupted_by());
        }
        if let Some(name) = signal::interrupted_by() {
            if watch.stop.is_none() {
                watcher.remark(&format!(
                    "{name}: cancelling the jobs and waiting until every host is restored"
                ));
                cancel(fleet, slurm)?;
                watch.stop = Some(Stop { began: Instant::now(), killed: false });
            }
            if watch.end_by_force(fleet, slurm, watcher)? {
                return Ok(Some(name));
            }
        }
        std::thread::sleep(ROUND);
    }
}

/// Observed task states.
struct Watch {
    /// The latest state of each task, and since when.
    last_seen: Vec<Option<(TaskState, Instant)>>,
    stop: Option<Stop>,
}

struct Stop {
    began: Instant,
    killed: bool,
}

impl Watch {
    fn report_change(
        &mut self,
        fleet: &Fleet,
        task: usize,
        state: &TaskState,
        watcher: &mut dyn Watcher,
    ) {
        let same = |last_seen: &(TaskState, Instant)| {
            last_seen.0.state == state.state && last_seen.0.why == state.why
        };
        if self.last_seen[task].as_ref().is_some_and(same) {
            return;
        }
        self.last_seen[task] = Some((state.clone(), Instant::now()));
        watcher.task(&fleet.name_of(task), state);
    }

    /// Whether all tasks have ended and reported.
    fn is_over(&self, states: &[TaskState]) -> bool {
        states.iter().zip(&self.last_seen).all(|(state, last_seen)| match state.state {
            HostState::Ended => true,
            HostState::Lost => {
                let silent =
                    last_seen.as_ref().is_some_and(|(_, since)| since.elapsed() >= PATIENCE);
                !state.may_change || silent
            }
            HostState::Waiting | HostState::Running => false,
        })
    }

    /// Lets Slurm kill remaining tasks after the grace period; returns whether to give up.
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
            watcher.remark("some tasks have not ended; Slurm kills them now");
            slurm.cancel(&fleet.jobs())?;
        }
        let gave_up = stop.began.elapsed() > ahead + AFTER_THE_KILL;
        if gave_up {
            watcher.remark("some tasks still run; `assay fleet status` shows which");
        }
        Ok(gave_up)
    }
}

/// Cancels a fleet: pending tasks leave the queue, and running ones are asked to stop, which they
/// do after restoring their hosts.
pub fn cancel(fleet: &Fleet, slurm: &Slurm) -> Result<(), Error> {
    let jobs = fleet.jobs();
    slurm.cancel_pending(&jobs)?;
    slurm.terminate(&jobs)
}
