//! Which task of a fleet a copied run belongs to.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use jiff::Timestamp;

use crate::copies::Found;
use crate::copies::identity::Identity;
use crate::document::{Fleet, Submission, Task};
use crate::folder::{FleetFolder, run_path};
use crate::submit::now;

/// Tasks of a fleet that is made of copies.
const MOST_TASKS: usize = 1 << 16;

/// Assigns runs to the tasks of a fleet, each once.
pub(super) struct Assignment<'f> {
    folder: &'f FleetFolder,
    fleet: &'f mut Fleet,
    /// Where the run of each task was found in this call.
    taken: BTreeMap<usize, PathBuf>,
    /// Tasks by what distinguishes them, so that the time does not grow with the square of their number.
    known: HashMap<Key, usize>,
    /// The latest job of each task.
    jobs: Vec<Option<u64>>,
    last_job: u64,
}

/// In a fleet that was submitted each task has a seed of its own; in one that is made of copies each host, with
/// its part of the trials, has one run.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Seed(u64, Option<String>),
    Host(String, Option<String>),
}

impl<'f> Assignment<'f> {
    pub(super) fn new(folder: &'f FleetFolder, fleet: &'f mut Fleet) -> Self {
        let key = |task: &Task| match fleet.copied {
            true => Key::Host(task.host_name.clone(), task.slice.clone()),
            false => Key::Seed(task.seed, task.slice.clone()),
        };
        let known =
            fleet.tasks.iter().enumerate().map(|(index, task)| (key(task), index)).collect();
        let last_job = fleet.jobs().into_iter().max().unwrap_or(0);
        let jobs = fleet.jobs_by_task().iter().map(|jobs| jobs.first().copied()).collect();
        Self { folder, fleet, taken: BTreeMap::new(), known, jobs, last_job }
    }

    /// The task of a run and its job; otherwise why the run is refused.
    pub(super) fn task_of(&mut self, found: &Found) -> Result<(usize, u64), String> {
        self.check_plan(found)?;
        let task = match self.fleet.copied {
            true => self.host(found)?,
            false => self.submitted(found)?,
        };
        let job = self.jobs[task].ok_or("its task was never submitted")?;
        if let Some(first) = self.taken.get(&task) {
            return Err(format!("{} has a run already, {}", self.name(task), first.display()));
        }
        let path = run_path(task, job);
        if self.folder.dir().dir(&path).is_ok() {
            return Err(format!("{} has a run already, {}", self.name(task), path.display()));
        }
        self.taken.insert(task, found.shown.clone());
        if self.fleet.copied {
            // A copy that was refused leaves its place to another run of the same host.
            self.fleet.tasks[task].seed = found.identity.seed;
        }
        Ok((task, job))
    }

    /// The first run decides for a fleet that has no plan yet.
    fn check_plan(&mut self, found: &Found) -> Result<(), String> {
        let plan = &found.identity.plan;
        match &self.fleet.plan {
            None if !self.fleet.copied => Err(
                "the version of Assay that submitted this fleet recorded no plan to compare with; make a fleet of \
                 the copies in a new folder"
                    .to_owned(),
            ),
            None => {
                self.fleet.plan = Some(plan.clone());
                self.fleet.study.clone_from(&found.study.name);
                self.fleet.title.clone_from(&found.study.title);
                self.fleet.question.clone_from(&found.study.question);
                self.fleet.started_at.clone_from(&found.identity.started_at);
                Ok(())
            }
            Some(own) if own == plan => Ok(()),
            Some(own) => Err(format!(
                "it is a run of another plan ({}, of the study {}), this fleet has {}: the study or the options of \
                 its command line differ",
                short(plan),
                found.study.name,
                short(own)
            )),
        }
    }

    fn submitted(&self, found: &Found) -> Result<usize, String> {
        let identity = &found.identity;
        let key = Key::Seed(identity.seed, identity.slice.clone());
        let task = self.known.get(&key).copied().ok_or_else(|| {
            let part = identity.slice.as_ref().map(|part| format!(" and the part {part}"));
            format!(
                "no task of this fleet has the seed {}{}; `tasks` in fleet.json lists them",
                identity.seed,
                part.unwrap_or_default()
            )
        })?;
        self.check_origin(task, identity)?;
        Ok(task)
    }

    /// Any host could have run the study with the seed of a task, at any time.
    fn check_origin(&self, task: usize, identity: &Identity) -> Result<(), String> {
        let Task { node, host_name, .. } = &self.fleet.tasks[task];
        let is_own =
            |name: &str| first_label(name).eq_ignore_ascii_case(first_label(&identity.host));
        if !is_own(host_name) && !is_own(node) {
            return Err(format!(
                "it ran on the host {}, and the task {task} with its seed is that of {host_name} (node {node}); if \
                 both are names of one host, make a fleet of the copies in a new folder",
                identity.host
            ));
        }
        let (began, submitted) = (&identity.started_at, &self.fleet.started_at);
        match (began.parse::<Timestamp>(), submitted.parse::<Timestamp>()) {
            (Ok(first), Ok(second)) if first >= second => Ok(()),
            _ => Err(format!(
                "it began at {began} by the clock of its host, {}, before the fleet was submitted, at {submitted}",
                identity.host
            )),
        }
    }

    /// The task of a host in a fleet that is made of copies, which may be new.
    fn host(&mut self, found: &Found) -> Result<usize, String> {
        let identity = &found.identity;
        let key = Key::Host(identity.host.clone(), identity.slice.clone());
        if let Some(task) = self.known.get(&key) {
            return Ok(*task);
        }
        let task = self.fleet.tasks.len();
        if task == MOST_TASKS {
            return Err(format!("the fleet has {MOST_TASKS} hosts already, which is the limit"));
        }
        self.known.insert(key, task);
        self.fleet.tasks.push(Task {
            node: identity.host.clone(),
            host_name: identity.host.clone(),
            seed: identity.seed,
            slice: identity.slice.clone(),
        });
        self.last_job = self.last_job.saturating_add(1);
        let job = self.last_job;
        self.jobs.push(Some(job));
        let (at, script) = (now(), String::new());
        self.fleet.submissions.push(Submission { job, tasks: vec![task], at, script });
        Ok(task)
    }

    fn name(&self, task: usize) -> String {
        match self.fleet.copied {
            true => format!("the host {} (of each one run counts)", self.fleet.name_of(task)),
            false => format!("the task {task} on {}", self.fleet.name_of(task)),
        }
    }
}

/// A host's name without its domain, which `uname -n` and Slurm may or may not give.
fn first_label(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The beginning of a digest, enough to compare by eye.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
