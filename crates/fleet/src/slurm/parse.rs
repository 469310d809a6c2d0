//! Parsers for the output of Slurm's commands, in the formats requested by `slurm.rs`.

use crate::error::Error;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Slurm's name for it.
    pub name: String,
    /// Its host name in Slurm (`NodeHostname`): several nodes may share one.
    pub host_name: String,
    /// Its state as printed by sinfo, `idle`, `mixed`, `down*`.
    pub state: String,
    /// Why it is down or drained; empty if it is not.
    pub reason: String,
}

impl Node {
    /// Why no job would ever start on it, if so. State suffixes (`*` for a node that does not
    /// respond, `~` for one in power saving) are ignored: Slurm wakes a sleeping node.
    #[must_use]
    pub fn refuses(&self) -> Option<String> {
        let state = self.state.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
        let gone = ["down", "drain", "drained", "draining", "fail", "failing", "error", "unknown"];
        let silent = self.state.ends_with('*');
        if !gone.contains(&state) && !silent {
            return None;
        }
        Some(match self.reason.as_str() {
            "" | "none" => self.state.clone(),
            reason => format!("{}: {reason}", self.state),
        })
    }

    /// Whether nothing runs on it.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state.starts_with("idle")
    }
}

/// A job, or a task of a job array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmTask {
    /// The id of the job, or of the array.
    pub job: u64,
    /// Its index in the array; `None` for a job of its own.
    pub index: Option<usize>,
    /// `PENDING`, `RUNNING`, `COMPLETED`, `NODE_FAIL`, ... (squeue(1), JOB STATE CODES).
    pub state: String,
    /// Its node; empty before the start.
    pub node: String,
    /// Why it waits or failed; `None` as text if there is no reason.
    pub reason: String,
}

impl SlurmTask {
    /// Whether Slurm has not started it.
    #[must_use]
    pub fn waits(&self) -> bool {
        ["PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"].contains(&self.state.as_str())
    }

    /// Whether processes of it may still exist.
    #[must_use]
    pub fn lives(&self) -> bool {
        let alive = [
            "RUNNING",
            "COMPLETING",
            "CONFIGURING",
            "SUSPENDED",
            "STOPPED",
            "SIGNALING",
            "STAGE_OUT",
        ];
        alive.contains(&self.state.as_str())
    }
}

/// Parses `sinfo --Node --format=%N|%n|%T|%E`; a node has one line per partition.
pub(super) fn nodes(text: &str) -> Vec<Node> {
    let mut found: Vec<Node> = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(4, '|').map(str::trim);
        let (Some(name), Some(host_name), Some(state)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if found.iter().any(|node| node.name == name) {
            continue;
        }
        found.push(Node {
            name: name.to_owned(),
            host_name: host_name.to_owned(),
            state: state.to_owned(),
            reason: fields.next().unwrap_or_default().to_owned(),
        });
    }
    found
}

/// Parses `squeue --array --format=%F|%K|%T|%N|%r`.
pub(super) fn tasks(text: &str) -> Vec<SlurmTask> {
    let task = |line: &str| {
        let mut fields = line.splitn(5, '|').map(str::trim);
        Some(SlurmTask {
            job: fields.next()?.parse().ok()?,
            index: match fields.next()? {
                "N/A" => None,
                index => Some(index.parse().ok()?),
            },
            state: fields.next()?.to_owned(),
            node: fields.next()?.to_owned(),
            reason: fields.next()?.to_owned(),
        })
    };
    text.lines().filter_map(task).collect()
}

/// Parses `sbatch --parsable`: the job id, followed by a semicolon and the cluster if there are
/// several.
pub(super) fn job_of_sbatch(text: &str) -> Result<u64, Error> {
    let number = text.trim().split(';').next().unwrap_or_default();
    number
        .parse()
        .map_err(|_| Error::new(format!("sbatch printed `{}` instead of a job id", text.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    // All texts are from Slurm 22.05.8 of Debian 12.

    #[test]
    fn nodes_are_parsed_once_each_with_the_reason_for_being_down() {
        let text = "assay1|vm|idle|none\nassay2|vm|down*|Not responding\nassay1|vm|idle|none\n\
                    assay3|vm|drained|disk, broken | see ticket\nassay4|vm|mixed|none\n";
        let found = nodes(text);
        assert_eq!(found.len(), 4);
        assert_eq!((found[0].refuses(), found[0].is_idle()), (None, true));
        assert_eq!(found[1].refuses().unwrap(), "down*: Not responding");
        assert_eq!(found[2].refuses().unwrap(), "drained: disk, broken | see ticket");
        assert_eq!((found[3].refuses(), found[3].is_idle()), (None, false));
    }

    #[test]
    fn a_sleeping_node_is_accepted_and_a_silent_one_is_refused() {
        let node = |state: &str| Node {
            name: "n".to_owned(),
            host_name: "n".to_owned(),
            state: state.to_owned(),
            reason: "none".to_owned(),
        };
        assert_eq!(node("idle~").refuses(), None);
        assert_eq!(node("idle*").refuses().unwrap(), "idle*");
        assert_eq!(node("draining@").refuses().unwrap(), "draining@");
    }

    #[test]
    fn tasks_are_parsed_with_the_reason_for_waiting() {
        let found = tasks(
            "17|N/A|PENDING||ReqNodeNotAvail, UnavailableNodes:assay2\n18|1|RUNNING|assay3|None\n\
                           18|2|NODE_FAIL|assay4|NodeDown\n19|[3-5]|PENDING||None\n",
        );
        assert_eq!(found.len(), 3);
        let named: Vec<_> = found.iter().map(|task| (task.job, task.index)).collect();
        assert_eq!(named, [(17, None), (18, Some(1)), (18, Some(2))]);
        assert!(found[0].waits() && !found[0].lives());
        assert_eq!(found[0].reason, "ReqNodeNotAvail, UnavailableNodes:assay2");
        assert!(found[1].lives() && found[1].node == "assay3");
        assert!(!found[2].lives() && !found[2].waits());
    }

    #[test]
    fn a_job_id_may_be_followed_by_its_cluster() {
        assert_eq!(job_of_sbatch("17\n"), Ok(17));
        assert_eq!(job_of_sbatch("17;north\n"), Ok(17));
        assert!(job_of_sbatch("").is_err());
    }
}
