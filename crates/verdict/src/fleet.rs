//! `fleet-verdict.json`, schema 1: one study on several hosts, their judgements as one. Field names are a
//! contract with users' scripts.

use std::collections::BTreeMap;

use assay_facts::Available;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judgement::Verdict;

/// What the hosts of a fleet found, together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetJudgement {
    /// Version of this format: 1.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// The question it asks.
    pub question: Option<String>,
    /// When the fleet was submitted first, RFC 3339, UTC.
    pub started_at: String,
    /// The worst verdict of all hosts. A promise that was kept wherever it was looked at is
    /// undecided while a host is missing.
    pub verdict: Verdict,
    /// Why, in one sentence that names the hosts.
    pub reason: String,
    /// Whether every host that brought a run was put back; `None` when one never said.
    pub restored: Option<bool>,
    /// One entry for each task: a host, or a host and a slice of the trials.
    pub hosts: Vec<FleetHost>,
    /// In what the hosts that brought a run are not alike.
    pub differences: Vec<HostDifference>,
    /// One entry for each combination of factors.
    pub trials: Vec<FleetTrial>,
    /// One entry for each promise across trials and combination of the factors that it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<FleetComparison>,
    /// What is not known of this fleet, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
}

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostState {
    /// Slurm has not started it.
    Waiting,
    /// It has begun and has not said that it ended.
    Running,
    /// It said how it ended.
    Ended,
    /// It will say nothing any more.
    Lost,
}

/// One task of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetHost {
    /// Its number, from 0.
    pub task: usize,
    /// Slurm's name of the node.
    pub node: String,
    /// Where it is.
    pub state: HostState,
    /// Why it is there, where that needs a word: why it is lost, what it waits for.
    pub why: Option<String>,
    /// The verdict of its run, where it brought one.
    pub verdict: Option<Verdict>,
    /// The exit code of its run (docs/cli.md), where it ended.
    pub code: Option<i32>,
    /// The seed of its run.
    pub seed: u64,
    /// Which part of the trials it had, `2/4`; all of them where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Its run folder, relative to the folder of the fleet.
    pub run: Option<String>,
    /// Run folders of the same task from before it was submitted again, that broke a promise: what came
    /// after them does not undo that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_before: Vec<String>,
    /// Whether the host was put back; `None` where nobody said.
    pub restored: Option<bool>,
    /// What was taken back of a killed run before this one began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored_first: Vec<String>,
    /// What the host is: kernel, layout of control groups, topology, schedulers and tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traits: BTreeMap<String, String>,
}

impl FleetHost {
    /// What it came to, with what it broke before it was submitted again.
    #[must_use]
    pub fn found(&self) -> Option<Verdict> {
        if self.broken_before.is_empty() { self.verdict } else { Some(Verdict::Broken) }
    }
}

/// Something in which the hosts are not alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDifference {
    /// What: `kernel`, `topology`, `scheduler of scratch`.
    pub what: String,
    /// How most hosts are.
    pub usual: String,
    /// How many hosts are like that.
    pub alike: usize,
    /// Those that are not.
    pub others: Vec<Differs>,
}

/// A host that is not like the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// Its node.
    pub node: String,
    /// How it is.
    pub is: String,
}

/// What one host says of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostVerdict {
    /// Its node.
    pub node: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
}

/// One combination of factors on all hosts that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetTrial {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// The worst verdict of the hosts; undecided for kept while a host that was to run it is missing.
    pub verdict: Verdict,
    /// The hosts that ran it.
    pub hosts: usize,
    /// One entry a promise.
    pub promises: Vec<FleetPromise>,
}

/// One promise of one trial on all hosts that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPromise {
    /// What is measured.
    pub measure: String,
    /// The relation.
    pub is: String,
    /// The knob or bound it refers to, as text.
    pub to: Option<String>,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The worst verdict of the hosts; undecided for kept while a host that was to run it is missing.
    pub verdict: Verdict,
    /// What each host says.
    pub hosts: Vec<PromiseOnHost>,
    /// The total rate over hosts, in the measure's unit per second: a geometric mean.
    pub total_rate: Available<Spread>,
    /// The largest relative error over hosts: an arithmetic mean, since errors may be 0.
    pub worst_error: Available<Spread>,
    /// For each group its share over the expected one, over hosts: a geometric mean, 1 is exact.
    pub groups: Vec<FleetGroup>,
}

/// One promise on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseOnHost {
    /// Its node.
    pub node: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// The largest relative error.
    pub worst_error: Option<f64>,
    /// The total rate, per second.
    pub total_rate: Option<f64>,
}

/// One group of a promise on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetGroup {
    /// Its name.
    pub name: String,
    /// What was seen over what was expected.
    pub to_expected: Available<Spread>,
}

/// One promise across trials on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetComparison {
    /// What is measured.
    pub measure: String,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation.
    pub is: String,
    /// The factors whose levels are compared.
    pub over: Vec<String>,
    /// Levels of the others.
    pub held: BTreeMap<String, Value>,
    /// The worst verdict of the hosts; undecided for kept while a host that was to run it is missing.
    pub verdict: Verdict,
    /// Why no host can judge it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What each host says.
    pub hosts: Vec<HostVerdict>,
}

/// A number over hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many hosts have it.
    pub hosts: usize,
    /// Its mean.
    pub value: f64,
    /// Lower end of the interval of the mean; `null` with one host, which says nothing of others.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The highest over the lowest; `null` where the lowest is 0.
    pub ratio: Option<f64>,
    /// Where it is lowest.
    pub lowest: Extreme,
    /// Where it is highest.
    pub highest: Extreme,
}

/// The number of one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extreme {
    /// Its node.
    pub node: String,
    /// Its number.
    pub value: f64,
}
