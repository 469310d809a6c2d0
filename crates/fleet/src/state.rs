//! Where each task is: what it says of itself counts, and where it says nothing any more, what
//! Slurm says.

use std::collections::BTreeMap;

use assay_verdict::HostState;

use crate::document::{Fleet, Phase, TaskRecord};
use crate::folder::FleetFolder;
use crate::slurm::{Slurm, SlurmTask};

/// A task and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// Where.
    pub state: HostState,
    /// Why it is there or what it does, in words.
    pub why: Option<String>,
    /// What it says of itself.
    pub record: Option<TaskRecord>,
    /// Whether what it has to say may still be on its way: a shared file system shows a file of
    /// another host up to a minute late (nfs(5), `acdirmax`).
    pub may_change: bool,
}

/// What Slurm says of a task.
enum Said<'s> {
    Task(&'s SlurmTask),
    /// The job is not known any more.
    Nothing,
    /// Slurm does not answer.
    NoAnswer(&'s str),
}

/// Where all tasks of a fleet are, in their order.
#[must_use]
pub fn states(folder: &FleetFolder, fleet: &Fleet, slurm: &Slurm) -> Vec<TaskState> {
    let mut asked = BTreeMap::new();
    let mut state = |task: usize| {
        let Some(job) = fleet.job_of(task) else { return never_submitted() };
        let record = folder.read_task(task, job);
        if record.as_ref().is_some_and(|record| record.phase == Phase::Ended) {
            return ended(record);
        }
        let answer = asked.entry(job).or_insert_with(|| slurm.tasks(job));
        let said = match answer {
            Ok(tasks) => {
                tasks.iter().find(|found| found.index == task).map_or(Said::Nothing, Said::Task)
            }
            Err(error) => Said::NoAnswer(&error.what),
        };
        // The task may have ended between the two looks.
        let record = folder.read_task(task, job).or(record);
        let last_line = || folder.last_line(task, job);
        of(record, &said, &last_line)
    };
    (0..fleet.tasks.len()).map(&mut state).collect()
}

fn never_submitted() -> TaskState {
    TaskState {
        state: HostState::Lost,
        why: Some("it was never submitted; `assay fleet resume` does that".to_owned()),
        record: None,
        may_change: false,
    }
}

fn ended(record: Option<TaskRecord>) -> TaskState {
    let why = record.as_ref().and_then(|record| record.why.clone());
    TaskState { state: HostState::Ended, why, record, may_change: false }
}

fn of(
    record: Option<TaskRecord>,
    said: &Said<'_>,
    last_line: &dyn Fn() -> Option<String>,
) -> TaskState {
    if record.as_ref().is_some_and(|record| record.phase == Phase::Ended) {
        return ended(record);
    }
    let (state, why, may_change) = match said {
        Said::Task(task) if task.waits() => (HostState::Waiting, waits(task), true),
        Said::Task(task) if task.lives() => (HostState::Running, phase(record.as_ref()), true),
        Said::Task(task) => {
            // A node that failed writes nothing any more, and a task that never began has nothing
            // to say.
            let is_over = ["NODE_FAIL", "BOOT_FAIL"].contains(&task.state.as_str());
            (HostState::Lost, lost(task, last_line), !is_over && !task.node.is_empty())
        }
        Said::Nothing => (HostState::Lost, forgotten(record.as_ref()), true),
        Said::NoAnswer(why) => {
            let state = if record.is_some() { HostState::Running } else { HostState::Waiting };
            (state, format!("Slurm does not answer: {why}"), true)
        }
    };
    TaskState { state, why: Some(why), record, may_change }
}

fn waits(task: &SlurmTask) -> String {
    match task.reason.as_str() {
        "None" | "" => "in Slurm's queue".to_owned(),
        "JobHeldUser" => "held: its submission did not come to an end".to_owned(),
        reason => format!("in Slurm's queue: {reason}"),
    }
}

fn phase(record: Option<&TaskRecord>) -> String {
    match record.map(|record| record.phase) {
        None => "starting",
        Some(Phase::HostLock) => "waits for its turn on the host",
        Some(Phase::Restore) => "takes back what a killed run has left",
        Some(Phase::Run | Phase::Ended) => "runs the study",
    }
    .to_owned()
}

fn lost(task: &SlurmTask, last_line: &dyn Fn() -> Option<String>) -> String {
    let reason = match task.reason.as_str() {
        "None" | "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let said = || last_line().map(|line| format!("; it said last: {line}")).unwrap_or_default();
    match task.state.as_str() {
        "NODE_FAIL" => format!("its node failed{reason}"),
        "BOOT_FAIL" => format!("its node did not boot{reason}"),
        "CANCELLED" if task.node.is_empty() => "it was cancelled before it began".to_owned(),
        "CANCELLED" => format!("its job was cancelled before it could say how it ended{}", said()),
        "TIMEOUT" => format!("it ran into Slurm's time limit and could not end in time{}", said()),
        "PREEMPTED" => "its job was preempted".to_owned(),
        "OUT_OF_MEMORY" => format!("its job was killed for want of memory{}", said()),
        "COMPLETED" => "Slurm says that it completed, but it never said how".to_owned(),
        state => format!("Slurm says {state}{reason}{}", said()),
    }
}

fn forgotten(record: Option<&TaskRecord>) -> String {
    match record {
        None => "Slurm does not know the job, and no task of it ever began".to_owned(),
        Some(_) => {
            "Slurm does not know the job any more, and the task never said how it ended".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(phase: Phase) -> TaskRecord {
        TaskRecord {
            schema: 1,
            task: 0,
            host_name: "vm".to_owned(),
            pid: 7,
            phase,
            began_at: String::new(),
            ended_at: None,
            code: None,
            why: None,
            restored_first: Vec::new(),
            restored: None,
        }
    }

    fn said(state: &str, node: &str, reason: &str) -> SlurmTask {
        SlurmTask {
            index: 0,
            state: state.to_owned(),
            node: node.to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn state(record: Option<TaskRecord>, said: &Said<'_>) -> (HostState, String, bool) {
        let state = of(record, said, &|| Some("error: no space".to_owned()));
        (state.state, state.why.unwrap_or_default(), state.may_change)
    }

    #[test]
    fn what_a_task_says_of_its_end_counts_whatever_slurm_says() {
        for slurm in ["FAILED", "NODE_FAIL", "CANCELLED", "RUNNING"] {
            let task = said(slurm, "a", "None");
            assert_eq!(state(Some(record(Phase::Ended)), &Said::Task(&task)).0, HostState::Ended);
        }
        assert_eq!(state(Some(record(Phase::Ended)), &Said::Nothing).0, HostState::Ended);
    }

    #[test]
    fn a_task_whose_node_failed_is_lost_at_once() {
        let task = said("NODE_FAIL", "a", "NodeDown");
        let (found, why, may_change) = state(Some(record(Phase::Run)), &Said::Task(&task));
        assert_eq!((found, may_change), (HostState::Lost, false));
        assert_eq!(why, "its node failed (NodeDown)");
    }

    #[test]
    fn a_task_that_is_over_and_silent_may_be_late() {
        let task = said("FAILED", "a", "NonZeroExitCode");
        let (found, why, may_change) = state(None, &Said::Task(&task));
        assert_eq!((found, may_change), (HostState::Lost, true));
        assert!(why.contains("FAILED (NonZeroExitCode)") && why.contains("no space"), "{why}");
        let task = said("CANCELLED", "", "None");
        assert_eq!(state(None, &Said::Task(&task)).1, "it was cancelled before it began");
        assert!(!state(None, &Said::Task(&task)).2);
    }

    #[test]
    fn a_silent_slurm_loses_nobody() {
        let (found, why, _) = state(Some(record(Phase::Run)), &Said::NoAnswer("connect failure"));
        assert_eq!(found, HostState::Running);
        assert!(why.contains("connect failure"));
        assert_eq!(state(None, &Said::NoAnswer("x")).0, HostState::Waiting);
    }

    #[test]
    fn waiting_and_running_are_said_in_words() {
        let task = said("PENDING", "", "ReqNodeNotAvail, UnavailableNodes:a");
        assert!(state(None, &Said::Task(&task)).1.contains("UnavailableNodes:a"));
        let task = said("RUNNING", "a", "None");
        let (found, why, _) = state(Some(record(Phase::HostLock)), &Said::Task(&task));
        assert_eq!((found, why.as_str()), (HostState::Running, "waits for its turn on the host"));
    }
}
