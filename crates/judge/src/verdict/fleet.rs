//! `fleet-verdict.json`, schema 1: one study on several hosts, judged together. Field names are a
//! contract with users' scripts.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::verdict::judgement::Verdict;

/// Combined result of the hosts of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetJudgement {
    /// Format version: 1.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// Its question.
    pub question: Option<String>,
    /// When the fleet was submitted, or the first run began, RFC 3339, UTC.
    pub started_at: String,
    /// The worst verdict of all hosts. A promise kept on all hosts is undecided while a host is
    /// missing.
    pub verdict: Verdict,
    /// The reason in one sentence, naming the hosts.
    pub reason: String,
    /// Whether every host with a run was restored; `None` when that is unknown for one.
    pub restored: Option<bool>,
    /// One entry for each task.
    pub hosts: Vec<FleetHost>,
    /// Differences between the hosts with a run.
    pub differences: Vec<HostDifference>,
    /// One entry for each combination of factors.
    pub trials: Vec<FleetTrial>,
    /// One entry for each promise across trials and combination of the factors held constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<FleetComparison>,
    /// Unavailable information, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
}

/// One task of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetHost {
    /// Its number, from 0.
    pub task: usize,
    /// Slurm's name of the node, `task N` before it has one; the host name of a copied run.
    pub node: String,
    /// Why it has no verdict.
    pub why: Option<String>,
    /// The verdict of its run, if it has one.
    pub verdict: Option<Verdict>,
    /// The exit code of its run (docs/cli.md), if it ended.
    pub code: Option<i32>,
    /// The seed of its run.
    pub seed: u64,
    /// Its run folder: relative to the folder of the fleet, or the path of a copy.
    pub run: Option<String>,
    /// Whether the host was restored; `None` where unknown.
    pub restored: Option<bool>,
    /// Properties of the host: kernel, layout of control groups, topology, schedulers and tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traits: BTreeMap<String, String>,
}

/// A property in which the hosts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDifference {
    /// Name of the property: `kernel`, `topology`, `scheduler of scratch`.
    pub what: String,
    /// The value on most hosts.
    pub usual: String,
    /// Number of hosts with that value.
    pub alike: usize,
    /// The other hosts.
    pub others: Vec<Differs>,
}

/// A host that differs from most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// Its node.
    pub node: String,
    /// Its value.
    pub is: String,
}

/// One host's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostVerdict {
    /// Its node.
    pub node: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The reason in one sentence.
    pub reason: String,
}

/// One combination of factors on all hosts that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetTrial {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// The worst verdict of the hosts; undecided instead of kept while a host is
    /// missing.
    pub verdict: Verdict,
    /// The hosts that ran it.
    pub hosts: usize,
    /// One entry per promise.
    pub promises: Vec<FleetPromise>,
}

/// One promise of one trial on all hosts that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPromise {
    /// The measure.
    pub measure: String,
    /// The relation.
    pub is: String,
    /// The knob or bound it refers to, as text.
    pub to: Option<String>,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// The worst verdict of the hosts; undecided instead of kept while a host is
    /// missing.
    pub verdict: Verdict,
    /// The result of each host.
    pub hosts: Vec<PromiseOnHost>,
    /// The total rate over hosts, in the measure's unit per second: a geometric mean.
    pub total_rate: Available<Spread>,
    /// The largest relative error over hosts: an arithmetic mean, since errors may be 0.
    pub worst_error: Available<Spread>,
    /// For each group the ratio of its share to the expected one, over hosts: a geometric mean; 1
    /// is exact.
    pub groups: Vec<FleetGroup>,
}

/// One promise on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseOnHost {
    /// Its node.
    pub node: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The reason in one sentence.
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
    /// Measured share relative to the expected one.
    pub to_expected: Available<Spread>,
}

/// One promise across trials on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetComparison {
    /// The measure.
    pub measure: String,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation.
    pub is: String,
    /// The factors whose levels are compared.
    pub over: Vec<String>,
    /// Levels of the other factors.
    pub held: BTreeMap<String, Value>,
    /// The worst verdict of the hosts; undecided instead of kept while a host is
    /// missing.
    pub verdict: Verdict,
    /// The result of each host.
    pub hosts: Vec<HostVerdict>,
}

/// A number over hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of hosts.
    pub hosts: usize,
    /// Its mean.
    pub value: f64,
    /// Lower bound of the interval of the mean; `null` with one host, which shows no scatter.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Highest divided by lowest; `null` where the lowest is 0.
    pub ratio: Option<f64>,
    /// The lowest value.
    pub lowest: Extreme,
    /// The highest value.
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
