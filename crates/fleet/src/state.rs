//! The state of each task: its own record if there is a final one, otherwise Slurm's state.

use std::collections::{BTreeSet, HashMap};

use assay_verdict::HostState;

use crate::document::{Fleet, Phase, TaskRecord};
use crate::folder::FleetFolder;
use crate::slurm::{Slurm, SlurmTask};

/// A task and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// The state.
    pub state: HostState,
    /// The reason or current activity, as text.
    pub why: Option<String>,
    /// The task's own record.
    pub record: Option<TaskRecord>,
    /// Whether its record may still be delayed: a shared file system shows a file of another host
    /// up to a minute late (nfs(5), `acdirmax`).
    pub may_change: bool,
}

/// Slurm's information about a task.
enum SlurmAnswer<'s> {
    Task(&'s SlurmTask),
    /// The job is no longer known.
    Unknown,
    /// Slurm does not respond.
    NoAnswer(&'s str),
}

/// The states of all tasks of a fleet, in order.
#[must_use]
pub fn states(folder: &FleetFolder, fleet: &Fleet, slurm: &Slurm) -> Vec<TaskState> {
    let jobs: Vec<Option<u64>> =
        fleet.jobs_by_task().iter().map(|jobs| jobs.first().copied()).collect();
    let read = |task: usize| jobs[task].and_then(|job| folder.read_task(task, job));
    let records: Vec<Option<TaskRecord>> = (0..jobs.len()).map(read).collect();
    let open = jobs.iter().zip(&records).filter(|(_, record)| !has_ended(record.as_ref()));
    // The jobs of copied runs are known to no Slurm.
    let open: BTreeSet<u64> = open.filter_map(|(job, _)| *job).filter(|_| !fleet.copied).collect();
    let answer = match open.is_empty() {
        true => Ok(Vec::new()),
        false => slurm.tasks(&open.into_iter().collect::<Vec<_>>()),
    };
    let known: HashMap<_, _> =
        answer.iter().flatten().map(|task| ((task.job, task.index), task)).collect();
    let state = |(task, record): (usize, Option<TaskRecord>)| {
        let Some(job) = jobs[task] else { return never_submitted() };
        if has_ended(record.as_ref()) {
            return ended(record);
        }
        if fleet.copied {
            return not_copied();
        }
        let slurm_answer = match &answer {
            Ok(_) => [None, Some(task)]
                .iter()
                .find_map(|index| known.get(&(job, *index)))
                .map_or(SlurmAnswer::Unknown, |task| SlurmAnswer::Task(task)),
            Err(error) => SlurmAnswer::NoAnswer(&error.what),
        };
        // The task may have ended between the two reads.
        let record = read(task).or(record);
        task_state(record, &slurm_answer, &|| folder.last_line(task, job))
    };
    records.into_iter().enumerate().map(state).collect()
}

fn has_ended(record: Option<&TaskRecord>) -> bool {
    record.is_some_and(|record| record.phase == Phase::Ended)
}

fn never_submitted() -> TaskState {
    TaskState {
        state: HostState::Lost,
        why: Some("not submitted; `assay fleet resume` submits it".to_owned()),
        record: None,
        may_change: false,
    }
}

fn not_copied() -> TaskState {
    let why = "its run was not copied to the end; `assay fleet collect --collect-from` goes on";
    TaskState { state: HostState::Lost, why: Some(why.to_owned()), record: None, may_change: false }
}

fn ended(record: Option<TaskRecord>) -> TaskState {
    let why = record.as_ref().and_then(|record| record.why.clone());
    TaskState { state: HostState::Ended, why, record, may_change: false }
}

fn task_state(
    record: Option<TaskRecord>,
    slurm_answer: &SlurmAnswer<'_>,
    last_line: &dyn Fn() -> Option<String>,
) -> TaskState {
    if has_ended(record.as_ref()) {
        return ended(record);
    }
    let (state, why, may_change) = match slurm_answer {
        SlurmAnswer::Task(task) if task.waits() => (HostState::Waiting, waits(task), true),
        SlurmAnswer::Task(task) if task.lives() => {
            (HostState::Running, phase(record.as_ref()), true)
        }
        SlurmAnswer::Task(task) => {
            // A failed node writes no further record, and a task that never started has none.
            let is_over = ["NODE_FAIL", "BOOT_FAIL"].contains(&task.state.as_str());
            (HostState::Lost, lost(task, last_line), !is_over && !task.node.is_empty())
        }
        SlurmAnswer::Unknown => (HostState::Lost, forgotten(record.as_ref()), true),
        SlurmAnswer::NoAnswer(why) => {
            let state = if record.is_some() { HostState::Running } else { HostState::Waiting };
            (state, format!("Slurm does not respond: {why}"), true)
        }
    };
    TaskState { state, why: Some(why), record, may_change }
}

fn waits(task: &SlurmTask) -> String {
    match task.reason.as_str() {
        "None" | "" => "in Slurm's queue".to_owned(),
        "JobHeldUser" => "held: its submission was not completed".to_owned(),
        reason => format!("in Slurm's queue: {reason}"),
    }
}

fn phase(record: Option<&TaskRecord>) -> String {
    match record.map(|record| record.phase) {
        None => "starting",
        Some(Phase::HostLock) => "waits until the host is free",
        Some(Phase::Restore) => "restores changes of a killed run",
        Some(Phase::Run | Phase::Ended) => "runs the study",
    }
    .to_owned()
}

fn lost(task: &SlurmTask, last_line: &dyn Fn() -> Option<String>) -> String {
    let reason = match task.reason.as_str() {
        "None" | "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let last = || last_line().map(|line| format!("; last output: {line}")).unwrap_or_default();
    match task.state.as_str() {
        "NODE_FAIL" => format!("its node failed{reason}"),
        "BOOT_FAIL" => format!("its node did not boot{reason}"),
        "CANCELLED" if task.node.is_empty() => "cancelled before it started".to_owned(),
        "CANCELLED" => format!("its job was cancelled before it reported a result{}", last()),
        "TIMEOUT" => format!("it reached Slurm's time limit and did not end in time{}", last()),
        "PREEMPTED" => "its job was preempted".to_owned(),
        "OUT_OF_MEMORY" => format!("its job was killed because it ran out of memory{}", last()),
        "COMPLETED" => "Slurm reports completion, but the task reported no result".to_owned(),
        state => format!("Slurm reports {state}{reason}{}", last()),
    }
}

fn forgotten(record: Option<&TaskRecord>) -> String {
    match record {
        None => "Slurm does not know the job, and none of its tasks ever started".to_owned(),
        Some(_) => "Slurm no longer knows the job, and the task reported no result".to_owned(),
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

    fn slurm_task(state: &str, node: &str, reason: &str) -> SlurmTask {
        SlurmTask {
            job: 17,
            index: None,
            state: state.to_owned(),
            node: node.to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn state(
        record: Option<TaskRecord>,
        slurm_answer: &SlurmAnswer<'_>,
    ) -> (HostState, String, bool) {
        let state = task_state(record, slurm_answer, &|| Some("error: no space".to_owned()));
        (state.state, state.why.unwrap_or_default(), state.may_change)
    }

    #[test]
    fn a_task_s_own_end_overrides_slurm_s_state() {
        for slurm in ["FAILED", "NODE_FAIL", "CANCELLED", "RUNNING"] {
            let task = slurm_task(slurm, "a", "None");
            assert_eq!(
                state(Some(record(Phase::Ended)), &SlurmAnswer::Task(&task)).0,
                HostState::Ended
            );
        }
        assert_eq!(state(Some(record(Phase::Ended)), &SlurmAnswer::Unknown).0, HostState::Ended);
    }

    #[test]
    fn a_task_whose_node_failed_is_lost_at_once() {
        let task = slurm_task("NODE_FAIL", "a", "NodeDown");
        let (found, why, may_change) = state(Some(record(Phase::Run)), &SlurmAnswer::Task(&task));
        assert_eq!((found, may_change), (HostState::Lost, false));
        assert_eq!(why, "its node failed (NodeDown)");
    }

    #[test]
    fn an_ended_task_without_a_record_may_be_late() {
        let task = slurm_task("FAILED", "a", "NonZeroExitCode");
        let (found, why, may_change) = state(None, &SlurmAnswer::Task(&task));
        assert_eq!((found, may_change), (HostState::Lost, true));
        assert!(why.contains("FAILED (NonZeroExitCode)") && why.contains("no space"), "{why}");
        let task = slurm_task("CANCELLED", "", "None");
        assert_eq!(state(None, &SlurmAnswer::Task(&task)).1, "cancelled before it started");
        assert!(!state(None, &SlurmAnswer::Task(&task)).2);
    }

    #[test]
    fn no_task_is_lost_while_slurm_does_not_respond() {
        let (found, why, _) =
            state(Some(record(Phase::Run)), &SlurmAnswer::NoAnswer("connect failure"));
        assert_eq!(found, HostState::Running);
        assert!(why.contains("connect failure"));
        assert_eq!(state(None, &SlurmAnswer::NoAnswer("x")).0, HostState::Waiting);
    }

    #[test]
    fn waiting_and_running_states_are_described() {
        let task = slurm_task("PENDING", "", "ReqNodeNotAvail, UnavailableNodes:a");
        assert!(state(None, &SlurmAnswer::Task(&task)).1.contains("UnavailableNodes:a"));
        let task = slurm_task("RUNNING", "a", "None");
        let (found, why, _) = state(Some(record(Phase::HostLock)), &SlurmAnswer::Task(&task));
        assert_eq!((found, why.as_str()), (HostState::Running, "waits until the host is free"));
    }
}
