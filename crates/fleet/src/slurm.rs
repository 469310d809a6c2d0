//! Slurm, through its commands: sinfo, sbatch, squeue, scontrol, scancel. None needs its accounting.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use assay_host::find_program;
use assay_sys::files::{Caller, search_path};
use assay_sys::kernel::program::{self, Limits};
use assay_sys::kernel::signal;
use rustix::process::geteuid;

use crate::error::Error;

/// A node, as sinfo shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Slurm's name for it.
    pub name: String,
    /// Its state: `idle`, `mixed`, `down*`.
    pub state: String,
    /// Why it is down or drained.
    pub reason: String,
}

impl Node {
    /// Why no job would ever start on it, if so. Other suffixes than `*` (it does not respond) do not matter:
    /// Slurm wakes a node that saves power.
    #[must_use]
    pub fn refuses(&self) -> Option<String> {
        let state = self.state.trim_end_matches(|sign: char| !sign.is_ascii_alphabetic());
        let gone = ["down", "drain", "drained", "draining", "fail", "failing", "error", "unknown"];
        if !gone.contains(&state) && !self.state.ends_with('*') {
            return None;
        }
        Some(match self.reason.as_str() {
            "" | "none" => self.state.clone(),
            reason => format!("{}: {reason}", self.state),
        })
    }
}

/// Tasks that Slurm has not ended, by number.
pub type Queue = BTreeMap<usize, Queued>;

/// A task in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Whether Slurm has not started it.
    pub waits: bool,
    /// Why it waits; `None` as text if there is no reason.
    pub reason: String,
}

/// Parses `sinfo --Node --format=%N|%T|%E`; a node has one line for each partition.
#[must_use]
pub fn nodes(text: &str) -> Vec<Node> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, '|').map(|field| field.trim().to_owned());
        if let (Some(name), Some(state)) = (fields.next(), fields.next()) {
            let reason = fields.next().unwrap_or_default();
            found.entry(name.clone()).or_insert(Node { name, state, reason });
        }
    }
    found.into_values().collect()
}

/// Parses `squeue --array --format=%K|%T|%r`.
#[must_use]
pub fn queued(text: &str) -> Queue {
    let task = |line: &str| {
        let mut fields = line.splitn(3, '|').map(str::trim);
        let task = fields.next()?.parse().ok()?;
        let waits = fields.next()? == "PENDING";
        Some((task, Queued { waits, reason: fields.next()?.to_owned() }))
    };
    text.lines().filter_map(task).collect()
}

/// Finds a Slurm that answers.
pub fn find() -> Result<(), Error> {
    // Slurm's own commands would retry for a minute.
    if let Some(path) = std::env::var_os("SLURM_CONF").filter(|path| !path.is_empty())
        && !PathBuf::from(&path).exists()
    {
        let what = format!("SLURM_CONF names {}, which does not exist", path.display());
        return Err(Error::new(what).hint("name the cluster's slurm.conf, or unset SLURM_CONF"));
    }
    succeed("scontrol", &["ping"]).map(|_| ()).map_err(|error| match error.hint {
        Some(_) => error,
        None => error.hint(
            "do slurmctld and munged run, and does SLURM_CONF or /etc/slurm/slurm.conf name them?",
        ),
    })
}

/// The nodes of a partition, or of all partitions.
pub fn usable_nodes(partition: Option<&str>) -> Result<Vec<Node>, Error> {
    let mut words = vec!["--noheader", "--Node", "--format=%N|%T|%E"];
    words.extend(partition.iter().flat_map(|name| ["--partition", name]));
    let found = nodes(&succeed("sinfo", &words)?);
    match (found.is_empty(), partition) {
        (true, Some(name)) => {
            Err(Error::new(format!("no nodes in the partition {name}")).hint("`sinfo` lists them"))
        }
        _ => Ok(found),
    }
}

/// The names in a node list such as `node[1-3]`.
pub fn expand(list: &str) -> Result<Vec<String>, Error> {
    let listed = succeed("scontrol", &["show", "hostnames", list])?;
    Ok(listed.lines().map(|line| line.trim().to_owned()).collect())
}

/// Submits a job; returns its id, which a semicolon and the cluster may follow.
pub(crate) fn sbatch(words: &[&str]) -> Result<u64, Error> {
    let output = succeed("sbatch", &[&["--parsable"], words].concat())?;
    let id = output.trim().split(';').next().and_then(|id| id.parse().ok());
    id.ok_or_else(|| Error::new(format!("sbatch printed `{}` instead of a job id", output.trim())))
}

/// The tasks of these jobs that have not ended. Jobs that Slurm has forgotten have none.
pub fn queue(jobs: &[u64]) -> Result<Queue, Error> {
    let mut all = Queue::new();
    // One by one: squeue refuses all of them if it has forgotten one.
    for job in jobs {
        let job = format!("--jobs={job}");
        let output = call("squeue", &["--noheader", "--array", "--format=%K|%T|%r", &job])?;
        if output.success {
            all.extend(queued(&output.stdout));
        } else if !output.stderr.contains("Invalid job id") {
            return Err(output.error());
        }
    }
    Ok(all)
}

/// Removes waiting tasks from the queue, and asks running ones to stop, which they do after restoring their hosts.
/// Jobs of other users are never cancelled, whatever the fleet's folder contains.
pub fn cancel(jobs: &[u64]) -> Result<(), Error> {
    let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let caller = Caller::from_sudo().map(|caller| caller.uid);
    for owner in [geteuid().as_raw()].into_iter().chain(caller) {
        let owner = format!("--user={owner}");
        // SIGTERM only to the batch step, which is Assay itself.
        for which in [&["--state=PENDING"][..], &["--batch", "--signal=TERM", "--state=RUNNING"]] {
            let words = [&[owner.as_str(), "--quiet"], which, &jobs].concat();
            let output = call("scancel", &words)?;
            // With --quiet it fails without a message on jobs that have ended (scancel(1)).
            if !output.success && !output.stderr.trim().is_empty() {
                return Err(output.error());
            }
        }
    }
    Ok(())
}

/// What a command printed.
struct Output {
    command: String,
    success: bool,
    stdout: String,
    stderr: String,
}

impl Output {
    fn error(&self) -> Error {
        let lines = || self.stderr.lines().chain(self.stdout.lines()).map(str::trim);
        let fatal = lines().find(|line| line.contains("fatal:"));
        let why = fatal.or_else(|| lines().rfind(|line| !line.is_empty()));
        Error::new(format!("`{}` failed: {}", self.command, why.unwrap_or("no error message")))
    }
}

pub(crate) fn succeed(program: &str, words: &[&str]) -> Result<String, Error> {
    let output = call(program, words)?;
    if output.success { Ok(output.stdout) } else { Err(output.error()) }
}

/// Slurm's own timeouts end after a minute or two.
const TIME: Duration = Duration::from_secs(300);

/// Some hundred bytes for each node or task.
const OUTPUT: u64 = 64 << 20;

/// Runs a command to its end, or to the second Ctrl-C.
fn call(program: &str, words: &[&str]) -> Result<Output, Error> {
    let path = find_program(program).ok_or_else(|| {
        Error::new(format!("Slurm is not installed here: there is no {program}")).hint(
            "apt-get install slurm-client on a node that may submit jobs, or run Assay there; `assay run` needs no Slurm",
        )
    })?;
    let mut command = Command::new(path);
    command
        .args(words)
        .env("LC_ALL", "C")
        // sbatch hands the environment on to the job, which root runs on every host.
        .env("PATH", search_path())
        .env_remove("SQUEUE_FORMAT")
        .env_remove("SINFO_FORMAT")
        // A Ctrl-C at the terminal is for Assay, and must not interrupt a submission.
        .process_group(0);
    let limits = Limits { time: TIME, output: OUTPUT, stop: &signal::interrupted_twice };
    let output = program::run(&mut command, "", &limits)
        .map_err(|why| Error::new(format!("{program} did not end: {why}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Output {
        command: [&[program], words].concat().join(" "),
        success: output.status.success(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // All texts are from Slurm 22.05.8 of Debian 12.

    #[test]
    fn nodes_are_parsed_once_each_with_the_reason_for_being_down() {
        let text = "assay1|idle|none\nassay2|down*|Not responding\nassay1|idle|none\n\
                    assay3|drained|disk, broken | see ticket\nassay4|mixed|none\n\
                    assay5|idle~|none\nassay6|idle*|none\n";
        let refuses: Vec<_> = nodes(text).iter().map(Node::refuses).collect();
        let why = |why: &str| Some(why.to_owned());
        let (down, drained) =
            (why("down*: Not responding"), why("drained: disk, broken | see ticket"));
        assert_eq!(
            refuses,
            [None, down, drained, None, None, why("idle*")],
            "a sleeping node is woken"
        );
    }

    #[test]
    fn tasks_are_parsed_with_the_reason_for_waiting() {
        let text = "0|PENDING|ReqNodeNotAvail, UnavailableNodes:assay2\n1|RUNNING|None\n[3-5]|PENDING|None\n";
        let queue = queued(text);
        assert_eq!(queue.keys().collect::<Vec<_>>(), [&0, &1]);
        assert!(queue[&0].waits && queue[&0].reason.ends_with("assay2") && !queue[&1].waits);
    }
}
