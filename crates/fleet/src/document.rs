//! `fleet.json`: what was asked of the fleet, and which jobs stand for it. `task.json`: what a
//! task says of itself, written on its host.

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
    /// The program that the hosts start, a path that they all have.
    pub program: String,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// The question it asks.
    pub question: Option<String>,
    /// What follows `assay run` on every host, but for seed, slice and run folder.
    pub arguments: Vec<String>,
    /// Whether folders that others may change are taken (`--trust-folder`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trust_folder: bool,
    /// The command line that submitted it, for the record.
    pub command: Vec<String>,
    /// When that was, RFC 3339, UTC.
    pub started_at: String,
    /// What Slurm says of its version.
    pub slurm: String,
    /// The partition that was named, if one was.
    pub partition: Option<String>,
    /// Slurm's limit of the time of a task, minutes.
    pub time_limit_min: u64,
    /// How long before that limit Slurm sends SIGTERM, seconds.
    pub signal_ahead_s: u64,
    /// One entry for each host, or for each host and slice.
    pub tasks: Vec<Task>,
    /// Nodes that were asked for and not submitted to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Where trials are divided over hosts, what is promised of trials that no host has together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<Vec<Torn>>,
    /// Jobs, the latest last.
    pub submissions: Vec<Submission>,
}

/// A promise across trials that no host can judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Torn {
    /// What is measured.
    pub measure: String,
    /// The one group that counts, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation: `ratio`, `equal`.
    pub is: String,
    /// The factors whose levels are compared.
    pub over: Vec<String>,
}

/// A host and what it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Slurm's name of the node.
    pub node: String,
    /// The host name that Slurm knows for it. Nodes that share one take turns.
    pub host_name: String,
    /// The seed of its run: that of the command line plus the number of the task.
    pub seed: u64,
    /// Its part of the trials, `2/4`; all of them where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
}

/// A node that is not part of the fleet though it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub node: String,
    /// Why.
    pub why: String,
}

/// One job array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Slurm's number of the array.
    pub job: u64,
    /// The tasks in it, by their place in [`Fleet::tasks`].
    pub tasks: Vec<usize>,
    /// When, RFC 3339, UTC.
    pub at: String,
    /// Its script, relative to the folder of the fleet.
    pub script: String,
}

impl Fleet {
    /// The job that a task was submitted with last.
    #[must_use]
    pub fn job_of(&self, task: usize) -> Option<u64> {
        self.jobs_of(task).next()
    }

    /// The jobs that a task was submitted with, the last one first.
    pub fn jobs_of(&self, task: usize) -> impl Iterator<Item = u64> {
        let with = move |submission: &&Submission| submission.tasks.contains(&task);
        self.submissions.iter().rev().filter(with).map(|submission| submission.job)
    }

    /// What a task is called in talk: its node, and its slice where there is one.
    #[must_use]
    pub fn name_of(&self, task: usize) -> String {
        let Some(found) = self.tasks.get(task) else { return format!("task {task}") };
        match &found.slice {
            Some(slice) => format!("{} ({slice})", found.node),
            None => found.node.clone(),
        }
    }
}

/// What a task does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Another task runs on the same host.
    HostLock,
    /// It takes back what a killed run has left on the host.
    Restore,
    /// The study runs.
    Run,
    /// It is over.
    Ended,
}

/// What a task says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Version of this format.
    pub schema: u32,
    /// Its number.
    pub task: usize,
    /// `uname -n` of the host it came to.
    pub host_name: String,
    /// Its process there.
    pub pid: u32,
    /// What it does.
    pub phase: Phase,
    /// When it began, RFC 3339, UTC.
    pub began_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The exit code of the run (docs/cli.md), once it ended.
    pub code: Option<i32>,
    /// Why it ended as it did, where the code does not say it.
    pub why: Option<String>,
    /// What it took back of a killed run before its own began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored_first: Vec<String>,
    /// Whether its run took every change back, or what came after it did; `None` while it runs.
    pub restored: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_job_of_a_task_is_the_one_that_counts() {
        let submission = |job, tasks: &[usize]| Submission {
            job,
            tasks: tasks.to_vec(),
            at: String::new(),
            script: String::new(),
        };
        let submissions = vec![submission(5, &[0, 1]), submission(9, &[1])];
        let fleet = Fleet { submissions, ..Fleet::default() };
        assert_eq!((fleet.job_of(0), fleet.job_of(1), fleet.job_of(2)), (Some(5), Some(9), None));
    }
}
