//! Stands in for Slurm: it decides how each task ends, and answers the commands that the program calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assay_fleet::{Fleet, FleetFolder, SCHEMA, Submission, Task};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::{node, write_run};
use crate::running::json;

/// How a task ends in the first round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Kept,
    Broken,
    /// Its run ended with an error, and without a verdict.
    Failed,
    /// Its node died in mid-run.
    Died,
    /// It runs longer than all others.
    Late,
}

/// A fleet in a folder, and the commands of a Slurm that runs it.
pub(super) struct Scheduler {
    fleet: PathBuf,
    bin: PathBuf,
    ends: Vec<End>,
    late: Vec<usize>,
}

impl Scheduler {
    pub(super) fn new(place: &Path, tasks: usize) -> Self {
        let (fleet, bin) = (place.join("fleet"), place.join("bin"));
        fs::create_dir_all(fleet.join("tasks")).unwrap();
        fs::create_dir_all(fleet.join("log")).unwrap();
        fs::create_dir_all(&bin).unwrap();
        let task = |task: usize| Task {
            node: node(task),
            host_name: node(task),
            seed: task as u64 + 1,
            slice: None,
        };
        let submission = |task: usize| Submission {
            job: task as u64 + 1,
            tasks: vec![task],
            at: String::new(),
            script: "job-1.sh".to_owned(),
        };
        let document = Fleet {
            schema: SCHEMA,
            study: "one-cpu".to_owned(),
            // A program that only the hosts have is not copied.
            program: "/nowhere/assay".to_owned(),
            arguments: vec!["cpu-weight".to_owned()],
            slurm: "slurm-wlm 22.05.8".to_owned(),
            time_limit_min: 7,
            signal_ahead_s: 120,
            tasks: (0..tasks).map(task).collect(),
            submissions: (0..tasks).map(submission).collect(),
            ..Fleet::default()
        };
        fs::write(fleet.join("fleet.json"), serde_json::to_vec(&document).unwrap()).unwrap();
        let mut random = SmallRng::seed_from_u64(1);
        let ends = (0..tasks).map(|_| match random.random_range(0..100) {
            0..3 => End::Broken,
            3..8 => End::Failed,
            8..13 => End::Died,
            13..18 => End::Late,
            _ => End::Kept,
        });
        let ends: Vec<End> = ends.collect();
        let late = (0..tasks).filter(|task| ends[*task] == End::Late).collect();
        let scheduler = Self { fleet, bin, ends, late };
        scheduler.write_commands(tasks);
        scheduler
    }

    pub(super) fn fleet(&self) -> &Path {
        &self.fleet
    }

    pub(super) fn bin(&self) -> &Path {
        &self.bin
    }

    pub(super) fn tasks_that(&self, ended: &[End]) -> Vec<usize> {
        (0..self.ends.len()).filter(|task| ended.contains(&self.ends[*task])).collect()
    }

    fn write_commands(&self, tasks: usize) {
        let (queue, next) = (self.bin.join("queue"), self.bin.join("next"));
        fs::write(&queue, "").unwrap();
        fs::write(&next, tasks.to_string()).unwrap();
        let next = next.display();
        for (name, text) in [
            ("sinfo", "echo slurm-wlm 22.05.8".to_owned()),
            ("scontrol", "exit 0".to_owned()),
            ("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1".to_owned()),
            ("squeue", format!("exec cat '{}'", queue.display())),
            ("sbatch", format!("read n <'{next}'; n=$((n + 1)); echo $n >'{next}'; echo $n")),
        ] {
            let program = self.bin.join(name);
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Every task of the first round has come as far as it comes by itself.
    pub(super) fn first_round(&self) {
        for (task, end) in self.ends.iter().enumerate() {
            self.ends(task, task as u64 + 1, *end);
        }
        self.write_queue();
    }

    /// What a task leaves in the fleet's folder.
    pub(super) fn ends(&self, task: usize, job: u64, end: End) {
        let at = self.fleet.join(FleetFolder::task_folder(task, job));
        fs::create_dir_all(&at).unwrap();
        match end {
            End::Kept => write_run(&at.join("run"), task, "kept"),
            End::Broken => write_run(&at.join("run"), task, "broken"),
            End::Failed | End::Late => {}
            End::Died => {
                fs::create_dir_all(at.join("run/samples")).unwrap();
                fs::write(at.join("run/manifest.json"), "{\"schema\": 1, \"stu").unwrap();
            }
        }
        let (phase, code, why) = match end {
            End::Kept => ("ended", Some(0), None),
            End::Broken => ("ended", Some(1), None),
            End::Failed => ("ended", Some(4), Some("no such disk")),
            End::Died | End::Late => ("run", None, None),
        };
        let restored = code.is_some().then_some(true);
        let record = serde_json::json!({
            "schema": 1, "task": task, "host_name": node(task), "pid": 7, "phase": phase, "began_at": "",
            "ended_at": null, "code": code, "why": why, "restored": restored,
        });
        fs::write(at.join("task.json"), record.to_string()).unwrap();
    }

    /// What squeue says of the tasks that have not ended.
    fn write_queue(&self) {
        let mut lines = String::new();
        for (task, end) in self.ends.iter().enumerate() {
            let state = match end {
                End::Died => "NODE_FAIL",
                End::Late if self.late.contains(&task) => "RUNNING",
                _ => continue,
            };
            writeln!(lines, "{}|N/A|{state}|{}|None", task + 1, node(task)).unwrap();
        }
        fs::write(self.bin.join("queue"), lines).unwrap();
    }

    /// Some of the late tasks end, at most ten times `count`.
    pub(super) fn late_ones_end(&mut self, count: u32) {
        let count = self.late.len().min(count.saturating_mul(10) as usize);
        for task in self.late.split_off(self.late.len() - count) {
            self.ends(task, task as u64 + 1, End::Kept);
        }
        self.write_queue();
    }

    /// The tasks of the second round, with their jobs.
    fn second_round(&self) -> BTreeMap<usize, u64> {
        let document = json(&self.fleet.join("fleet.json"));
        let again = document["submissions"].as_array().unwrap().iter().skip(self.ends.len());
        again
            .map(|one| {
                let task = one["tasks"][0].as_u64().unwrap();
                (usize::try_from(task).unwrap(), one["job"].as_u64().unwrap())
            })
            .collect()
    }

    pub(super) fn resubmitted(&self) -> Vec<usize> {
        self.second_round().into_keys().collect()
    }

    pub(super) fn resubmitted_ones_end(&self) {
        for (task, job) in self.second_round() {
            self.ends(task, job, End::Kept);
        }
    }
}
