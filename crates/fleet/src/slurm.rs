//! Slurm as its own commands tell it: sinfo, sbatch, squeue, scontrol, scancel, sacct.
//!
//! Nothing here decides when or whether a job runs. A plain Debian 12 has Slurm 22.05 without
//! accounting (no slurmdbd), so everything works without `sacct`.

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

/// What is understood of what Slurm's commands print: nodes, tasks and jobs in this text.
#[must_use]
pub fn look(text: &str) -> (usize, usize, Option<u64>) {
    let (nodes, tasks) = (nodes(text), tasks(text));
    let refused = nodes.iter().filter(|node| node.refuses().is_some() || node.is_idle()).count();
    let waits = tasks.iter().filter(|task| task.waits() || task.lives()).count();
    (refused, waits, job_of_sbatch(text).ok())
}

/// The commands of a Slurm that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slurm {
    /// What `sinfo --version` says, `slurm-wlm 22.05.8`.
    pub version: String,
}

impl Slurm {
    /// Finds Slurm, or says what is missing: the commands, a configuration, the controller.
    pub fn find() -> Result<Self, Error> {
        refuse_without_configuration()?;
        let version = succeed("sinfo", &["--version"])?.trim().to_owned();
        succeed("scontrol", &["ping"]).map_err(|error| {
            error
                .hint("is slurmctld running, and does SLURM_CONF or /etc/slurm/slurm.conf name it?")
        })?;
        Ok(Self { version })
    }

    /// The Slurm that a fleet was submitted to, whether or not it answers: what tasks say of
    /// themselves can be read without it.
    #[must_use]
    pub fn of(fleet: &Fleet) -> Self {
        Self { version: fleet.slurm.clone() }
    }

    /// The nodes of a partition, or those that belong to any; each once, in Slurm's order.
    pub fn nodes(&self, partition: Option<&str>) -> Result<Vec<Node>, Error> {
        let mut words = vec!["--noheader", "--Node", "--format=%N|%n|%T|%E"];
        words.extend(partition.iter().flat_map(|name| ["--partition", name]));
        let found = nodes(&succeed("sinfo", &words)?);
        match (found.is_empty(), partition) {
            (true, Some(name)) => Err(Error::new(format!("no node is in the partition {name}"))
                .hint("`sinfo` lists the partitions")),
            (true, None) => Err(Error::new("Slurm knows no node that belongs to a partition")),
            (false, _) => Ok(found),
        }
    }

    /// The names that a list of nodes stands for, `node[1-3]`.
    pub fn expand(&self, list: &str) -> Result<Vec<String>, Error> {
        let found = succeed("scontrol", &["show", "hostnames", list])?;
        Ok(found.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Submits a script and leaves the job held, so that its tasks can be told their nodes.
    pub fn submit_held(&self, script: &Path) -> Result<u64, Error> {
        let path = script.display().to_string();
        job_of_sbatch(&succeed("sbatch", &["--parsable", "--hold", &path])?)
    }

    /// Tells a held task of an array on which node it belongs.
    pub fn pin(&self, job: u64, task: usize, node: &str) -> Result<(), Error> {
        let (job, node) = (format!("JobId={job}_{task}"), format!("ReqNodeList={node}"));
        succeed("scontrol", &["update", &job, &node]).map(|_| ())
    }

    /// Lets a held job go.
    pub fn release(&self, job: u64) -> Result<(), Error> {
        succeed("scontrol", &["release", &job.to_string()]).map(|_| ())
    }

    /// Where the tasks of a job are, as long as Slurm remembers them (`MinJobAge` after their
    /// end, five minutes by default). A job that it does not know any more has none.
    pub fn tasks(&self, job: u64) -> Result<Vec<SlurmTask>, Error> {
        let job = job.to_string();
        let words =
            ["--noheader", "--array", "--states=all", "--format=%K|%T|%N|%r", "--jobs", &job];
        let output = call("squeue", &words)?;
        if output.success {
            return Ok(tasks(&output.stdout));
        }
        if output.stderr.contains("Invalid job id") { Ok(Vec::new()) } else { Err(output.error()) }
    }

    /// Sends SIGTERM to what runs of a job: to the batch step alone, which is Assay itself.
    pub fn terminate(&self, job: u64) -> Result<(), Error> {
        let job = job.to_string();
        self.cancel_with(&["--quiet", "--batch", "--signal=TERM", "--state=RUNNING", &job])
    }

    /// Takes what has not begun of a job out of the queue.
    pub fn forget(&self, job: u64) -> Result<(), Error> {
        self.cancel_with(&["--quiet", "--state=PENDING", &job.to_string()])
    }

    /// Ends a job as Slurm does it: SIGTERM to everything, and SIGKILL after `KillWait`.
    pub fn cancel(&self, job: u64) -> Result<(), Error> {
        self.cancel_with(&["--quiet", &job.to_string()])
    }

    /// A job that is over already needs no end, and one of somebody else is none of the fleet, whatever
    /// its folder says: root could end anybody's.
    fn cancel_with(&self, words: &[&str]) -> Result<(), Error> {
        for owner in owners() {
            let owner = format!("--user={owner}");
            let output = call("scancel", &[&[owner.as_str()][..], words].concat())?;
            let over = ["Invalid job id", "already completing", "already finished"];
            let is_over = over.iter().any(|text| output.stderr.contains(text));
            if !output.success && !is_over {
                return Err(output.error());
            }
        }
        Ok(())
    }

    /// Whether the accounting of this Slurm remembers jobs, or why not.
    #[must_use]
    pub fn accounting(&self, job: u64) -> Available<()> {
        if let Err(error) = refuse_without_configuration() {
            return Available::NotAvailable(error.what);
        }
        let job = job.to_string();
        match call("sacct", &["--noheader", "--parsable2", "--jobs", &job]) {
            Ok(output) if output.success => Available::Value(()),
            Ok(output) => Available::NotAvailable(output.last_word()),
            Err(error) => Available::NotAvailable(error.what),
        }
    }
}

/// Whose jobs a fleet of this user has: the user's own, and those of whoever called sudo. scancel takes a
/// number for a name.
fn owners() -> Vec<u32> {
    let mut owners = vec![geteuid().as_raw()];
    owners.extend(Caller::of_sudo().map(|caller| caller.uid));
    owners
}

/// A configuration that is named and not there is said at once: Slurm's own commands look for it
/// again and again for a minute.
fn refuse_without_configuration() -> Result<(), Error> {
    let named = std::env::var_os("SLURM_CONF").filter(|path| !path.is_empty());
    match named.map(std::path::PathBuf::from) {
        Some(path) if !path.exists() => {
            Err(Error::new(format!("SLURM_CONF names {}, which is not there", path.display()))
                .hint("name the cluster's slurm.conf, or leave SLURM_CONF out"))
        }
        _ => Ok(()),
    }
}
