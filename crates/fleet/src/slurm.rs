//! Interface to Slurm through its commands: sinfo, sbatch, squeue, scontrol, scancel, sacct.
//!
//! Slurm alone decides when and whether a job runs. Debian 12 ships Slurm 22.05 without accounting
//! (no slurmdbd), so everything works without `sacct`.

mod call;
mod parse;

use std::path::Path;

use assay_facts::Available;
use assay_files::Caller;
use rustix::process::geteuid;

use crate::document::Fleet;
use crate::error::Error;
use call::{call, succeed};
pub use parse::{Node, SlurmTask};
use parse::{job_of_sbatch, nodes, tasks};

/// Parses text with all parsers of Slurm's output, for fuzzing: nodes, tasks and a job id.
#[must_use]
pub fn parse_all(text: &str) -> (usize, usize, Option<u64>) {
    let (nodes, tasks) = (nodes(text), tasks(text));
    let refused = nodes.iter().filter(|node| node.refuses().is_some() || node.is_idle()).count();
    let waits = tasks.iter().filter(|task| task.waits() || task.lives()).count();
    (refused, waits, job_of_sbatch(text).ok())
}

/// A working Slurm installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slurm {
    /// Output of `sinfo --version`, `slurm-wlm 22.05.8`.
    pub version: String,
}

impl Slurm {
    /// Finds Slurm, or reports what is missing: the commands, a configuration, the controller.
    pub fn find() -> Result<Self, Error> {
        refuse_without_configuration()?;
        let version = succeed("sinfo", &["--version"])?.trim().to_owned();
        succeed("scontrol", &["ping"]).map_err(|error| {
            error
                .hint("is slurmctld running, and does SLURM_CONF or /etc/slurm/slurm.conf name it?")
        })?;
        Ok(Self { version })
    }

    /// The Slurm that a fleet was submitted to, even if it does not respond: the tasks' own records
    /// can be read without it.
    #[must_use]
    pub fn from_fleet(fleet: &Fleet) -> Self {
        Self { version: fleet.slurm.clone() }
    }

    /// The nodes of a partition, or of all partitions; each once, in Slurm's order.
    pub fn nodes(&self, partition: Option<&str>) -> Result<Vec<Node>, Error> {
        let mut words = vec!["--noheader", "--Node", "--format=%N|%n|%T|%E"];
        words.extend(partition.iter().flat_map(|name| ["--partition", name]));
        let listed = nodes(&succeed("sinfo", &words)?);
        match (listed.is_empty(), partition) {
            (true, Some(name)) => Err(Error::new(format!("no nodes in the partition {name}"))
                .hint("`sinfo` lists the partitions")),
            (true, None) => Err(Error::new("no node belongs to a partition")),
            (false, _) => Ok(listed),
        }
    }

    /// Expands a node list such as `node[1-3]`.
    pub fn expand(&self, list: &str) -> Result<Vec<String>, Error> {
        let listed = succeed("scontrol", &["show", "hostnames", list])?;
        Ok(listed.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Submits a script as a held job on this node, with the task's number as its argument and this file
    /// for its output.
    pub fn submit_held(
        &self,
        script: &Path,
        node: &str,
        task: usize,
        log: &Path,
    ) -> Result<u64, Error> {
        let node = format!("--nodelist={node}");
        let log = format!("--output={}", log.display());
        let (path, task) = (script.display().to_string(), task.to_string());
        job_of_sbatch(&succeed("sbatch", &["--parsable", "--hold", &node, &log, &path, &task])?)
    }

    /// Releases held jobs.
    pub fn release(&self, jobs: &[u64]) -> Result<(), Error> {
        jobs.chunks(AT_ONCE)
            .try_for_each(|jobs| succeed("scontrol", &["release", &list(jobs)]).map(|_| ()))
    }

    /// The tasks of jobs, as long as Slurm remembers them (`MinJobAge` after their end, five
    /// minutes by default). A forgotten job has none.
    pub fn tasks(&self, jobs: &[u64]) -> Result<Vec<SlurmTask>, Error> {
        let mut found = Vec::new();
        for jobs in jobs.chunks(AT_ONCE) {
            let jobs = format!("--jobs={}", list(jobs));
            let format = "--format=%F|%K|%T|%N|%r";
            let output = call("squeue", &["--noheader", "--array", "--states=all", format, &jobs])?;
            if output.success {
                found.extend(tasks(&output.stdout));
            } else if !output.stderr.contains("Invalid job id") {
                return Err(output.error());
            }
        }
        Ok(found)
    }

    /// Sends SIGTERM to running jobs, only to the batch step, which is Assay itself.
    pub fn terminate(&self, jobs: &[u64]) -> Result<(), Error> {
        self.cancel_with(&["--batch", "--signal=TERM", "--state=RUNNING"], jobs)
    }

    /// Removes pending jobs from the queue.
    pub fn cancel_pending(&self, jobs: &[u64]) -> Result<(), Error> {
        self.cancel_with(&["--state=PENDING"], jobs)
    }

    /// Ends jobs like Slurm does: SIGTERM to everything, and SIGKILL after `KillWait`.
    pub fn cancel(&self, jobs: &[u64]) -> Result<(), Error> {
        self.cancel_with(&[], jobs)
    }

    /// Jobs of other users are never cancelled, whatever the fleet's folder contains: root could cancel any job.
    fn cancel_with(&self, options: &[&str], jobs: &[u64]) -> Result<(), Error> {
        let owners: Vec<String> = owners().iter().map(|owner| format!("--user={owner}")).collect();
        for (owner, jobs) in
            owners.iter().flat_map(|one| jobs.chunks(AT_ONCE).map(move |jobs| (one, jobs)))
        {
            let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
            let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
            let output =
                call("scancel", &[&[owner.as_str(), "--quiet"][..], options, &jobs].concat())?;
            // With --quiet it fails without a message on jobs that have ended or are no longer known
            // (scancel(1)), and cancels the others.
            if !output.success && !output.stderr.trim().is_empty() {
                return Err(output.error());
            }
        }
        Ok(())
    }

    /// Whether this Slurm's accounting records jobs, or why not.
    #[must_use]
    pub fn accounting(&self, job: u64) -> Available<()> {
        if let Err(error) = refuse_without_configuration() {
            return Available::NotAvailable(error.what);
        }
        let job = job.to_string();
        match call("sacct", &["--noheader", "--parsable2", "--jobs", &job]) {
            Ok(output) if output.success => Available::Value(()),
            Ok(output) => Available::NotAvailable(output.reason_line()),
            Err(error) => Available::NotAvailable(error.what),
        }
    }
}

/// Jobs named in one call: the kernel limits the length of a command line.
const AT_ONCE: usize = 1000;

/// A list of jobs for squeue and scontrol.
fn list(jobs: &[u64]) -> String {
    jobs.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Owners of this user's fleet jobs: the user, and the user who called sudo. scancel accepts a
/// number as a name.
fn owners() -> Vec<u32> {
    let mut owners = vec![geteuid().as_raw()];
    owners.extend(Caller::from_sudo().map(|caller| caller.uid));
    owners
}

/// Reports a missing configuration at once: Slurm's own commands would retry for a minute.
fn refuse_without_configuration() -> Result<(), Error> {
    let named = std::env::var_os("SLURM_CONF").filter(|path| !path.is_empty());
    match named.map(std::path::PathBuf::from) {
        Some(path) if !path.exists() => {
            Err(Error::new(format!("SLURM_CONF names {}, which does not exist", path.display()))
                .hint("name the cluster's slurm.conf, or unset SLURM_CONF"))
        }
        _ => Ok(()),
    }
}
