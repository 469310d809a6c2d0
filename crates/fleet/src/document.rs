//! Document formats: `fleet.json`, the requested fleet and its jobs, and `task.json`, a task's own
//! record, written on its host.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The version of both formats.
pub const SCHEMA: u32 = 1;

/// A study on many hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// Version of this format.
    pub schema: u32,
    /// Version of the program that submitted it.
    pub assay: String,
    /// Path of the program on all hosts.
    pub program: String,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// The study's question.
    pub question: Option<String>,
    /// Arguments of `assay run` on every host, except seed, slice and run folder.
    pub arguments: Vec<String>,
    /// Whether folders that other users may change are accepted (`--trust-folder`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trust_folder: bool,
    /// The command line that submitted it, for the record.
    pub command: Vec<String>,
    /// Submission time, RFC 3339, UTC.
    pub started_at: String,
    /// Slurm's version.
    pub slurm: String,
    /// The requested partition, if any.
    pub partition: Option<String>,
    /// Slurm's time limit of a task, in minutes.
    pub time_limit_min: u64,
    /// How long before that limit Slurm sends SIGTERM, in seconds.
    pub signal_ahead_s: u64,
    /// One entry per host, or per host and slice.
    pub tasks: Vec<Task>,
    /// Requested nodes that were not submitted to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Promises over trials that no single host ran, if trials are divided over hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<Vec<SplitPromise>>,
    /// The digest of its plan, by which runs are known that were copied from hosts; older fleets have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Whether it is made of runs that were copied from their hosts. It has no jobs in any scheduler, and the
    /// numbers of its submissions are its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
    /// Copied folders that were not taken, by the last `assay fleet collect --collect-from`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Jobs, the latest last: one per task. Older fleets have arrays of many tasks.
    pub submissions: Vec<Submission>,
}

/// A promise across trials that no single host can judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPromise {
    /// The measure.
    pub measure: String,
    /// The group, if the promise is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation: `ratio`, `equal`.
    pub is: String,
    /// The factors whose levels are compared.
    pub over: Vec<String>,
}

/// A host and its part of the study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Slurm's name of the node.
    pub node: String,
    /// The node's host name in Slurm. Tasks of nodes that share a host run one after the other.
    pub host_name: String,
    /// The seed of its run: that of the command line plus the task number.
    pub seed: u64,
    /// Its part of the trials, `2/4`; `None` for all trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
}

/// A requested node that is not part of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub node: String,
    /// The reason.
    pub why: String,
}

/// A folder that was copied from a host and not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Its path, as it was found.
    pub folder: String,
    /// The reason.
    pub why: String,
}

/// A submitted job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Slurm's job id.
    pub job: u64,
    /// Its task, as an index into [`Fleet::tasks`].
    pub tasks: Vec<usize>,
    /// Submission time, RFC 3339, UTC.
    pub at: String,
    /// Its script, relative to the fleet's folder.
    pub script: String,
}

impl Fleet {
    /// The latest job of a task.
    #[must_use]
    pub fn job_of(&self, task: usize) -> Option<u64> {
        self.jobs_of(task).next()
    }

    /// All jobs of all tasks.
    pub(crate) fn jobs(&self) -> Vec<u64> {
        self.submissions.iter().map(|submission| submission.job).collect()
    }

    /// The number of times that tasks were submitted: each has a script of its own.
    pub(crate) fn rounds(&self) -> usize {
        self.submissions.iter().map(|one| one.script.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// All jobs of a task, the latest first.
    fn jobs_of(&self, task: usize) -> impl Iterator<Item = u64> {
        let with = move |submission: &&Submission| submission.tasks.contains(&task);
        self.submissions.iter().rev().filter(with).map(|submission| submission.job)
    }

    /// The same for each task.
    pub(crate) fn jobs_by_task(&self) -> Vec<Vec<u64>> {
        let mut jobs: Vec<Vec<u64>> = vec![Vec::new(); self.tasks.len()];
        for submission in self.submissions.iter().rev() {
            for task in &submission.tasks {
                let Some(of_task) = jobs.get_mut(*task) else { continue };
                if of_task.last() != Some(&submission.job) {
                    of_task.push(submission.job);
                }
            }
        }
        jobs
    }

    /// Whether its times are beyond any use: their sums are added to a clock.
    pub(crate) const fn exceeds_a_year(&self) -> bool {
        const MINUTES: u64 = 366 * 24 * 60;
        self.time_limit_min > MINUTES || self.signal_ahead_s > 60 * MINUTES
    }

    /// A job that is listed twice: the verdicts of its runs would count as often.
    pub(crate) fn repeated_job(&self) -> Option<u64> {
        let mut known = BTreeSet::new();
        self.submissions.iter().map(|submission| submission.job).find(|job| !known.insert(*job))
    }

    /// Display name of a task: its node, and its slice if any.
    #[must_use]
    pub fn name_of(&self, task: usize) -> String {
        let Some(found) = self.tasks.get(task) else { return format!("task {task}") };
        match &found.slice {
            Some(slice) => format!("{} ({slice})", found.node),
            None => found.node.clone(),
        }
    }
}

/// The current phase of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Waits for another task on the same host.
    #[serde(rename = "turn")]
    HostLock,
    /// Restores changes left by a killed run.
    Restore,
    /// Runs the study.
    Run,
    /// Has ended.
    Ended,
}

/// A task's own record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Version of this format.
    pub schema: u32,
    /// Task number.
    pub task: usize,
    /// `uname -n` of its host.
    pub host_name: String,
    /// Its process id there.
    pub pid: u32,
    /// The current phase.
    pub phase: Phase,
    /// Start time, RFC 3339, UTC.
    pub began_at: String,
    /// End time.
    pub ended_at: Option<String>,
    /// The exit code of the run (docs/cli.md), after its end.
    pub code: Option<i32>,
    /// Why it ended, if the exit code does not show it.
    pub why: Option<String>,
    /// Changes of a killed run that it restored before its own run started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored_first: Vec<String>,
    /// Whether every change of its run was restored, by itself or afterwards; `None` while it runs.
    pub restored: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_job_of_a_task_counts() {
        let submission = |job, tasks: &[usize]| Submission {
            job,
            tasks: tasks.to_vec(),
            at: String::new(),
            script: String::new(),
        };
        let submissions = vec![submission(5, &[0, 1]), submission(9, &[1])];
        let fleet = Fleet { submissions, ..Fleet::default() };
        assert_eq!((fleet.job_of(0), fleet.job_of(1), fleet.job_of(2)), (Some(5), Some(9), None));
        let (node, host_name) = ("n".to_owned(), "n".to_owned());
        let tasks = vec![Task { node, host_name, seed: 1, slice: None }; 2];
        let submissions = vec![submission(5, &[0, 1, 1]), submission(9, &[1, 7])];
        let fleet = Fleet { tasks, submissions, ..Fleet::default() };
        assert_eq!(fleet.jobs_by_task(), [vec![5], vec![9, 5]]);
    }
}
