//! `manifest.json`: the study, the host and its configuration, and the results and times of a run.
//!
//! All times are CLOCK_MONOTONIC nanoseconds of the recording host, aligned with the samples; only
//! `started_at` is wall-clock time.

use std::collections::BTreeMap;

use assay_facts::{Available, HostFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::{ComparisonRecord, ReferenceRecord};
use crate::guest::Guest;
use crate::placement::PlacementRecord;
use crate::promise::PromiseRecord;
use crate::repeat::RepeatRecord;
use crate::setting::SettingRecord;
use crate::stop::StopRecord;
use crate::study_choice::StudyChoiceRecord;

/// Everything about a run except its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub schema: u32,
    /// Version of the program that recorded the run.
    pub assay: String,
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// The question it asks.
    pub question: Option<String>,
    /// The whole text of the study.
    pub study_text: String,
    /// The command line of the run.
    pub command: Vec<String>,
    /// How the study was chosen; absent in records from before this field, and for runs of a study that was
    /// derived from another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study_choice: Option<StudyChoiceRecord>,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// Seed of the order of trials and of random data.
    pub seed: u64,
    /// The machine.
    pub host: HostFacts,
    /// The lab guest in which the run took place, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// One entry for each combination of factors, in the order of the study file.
    pub trials: Vec<TrialRecord>,
    /// Promises across trials. Records from before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonRecord>,
    /// External numbers to show beside the run's own. Records from before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceRecord>,
    /// Every change made to the host and whether it was restored, in order.
    pub changes: Vec<Change>,
    /// Whether everything was restored; `None` while the run is in progress.
    pub restored: Option<bool>,
    /// Why the run ended before its last trial, if it did.
    pub ended_early: Option<String>,
    /// For a recording without a study, what it followed. It promises nothing and is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
}

/// What a recording without a study followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// `command`, `process` or `group`.
    pub kind: String,
    /// The command line, the process with its name, or the path of the group.
    pub of: String,
    /// The process that was followed, or that ran the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How it ended, if it did: `exit status 0`, `stopped after 5 s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The command's own output, relative to the run folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// One combination of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// Control groups with their knobs and workloads, leaves and inner groups alike.
    pub groups: Vec<GroupRecord>,
    /// Scratch disks.
    pub disks: Vec<DiskRecord>,
    /// Settings of the host. Records from before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingRecord>,
    /// Placements of workloads. Records from before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementRecord>,
    /// The promises of this trial.
    pub promises: Vec<PromiseRecord>,
    /// What is cut off at the beginning of a repeat.
    pub warm_up: WarmUpRecord,
    /// Planned length of a repeat, seconds.
    pub at_most_s: f64,
    /// Whether it may end before all its repeats; absent in records from before this field, which did not.
    #[serde(default)]
    pub stop: StopRecord,
    /// Number of repeats in the study; a trial that may stop early can have fewer. `None` in records from
    /// before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_repeats: Option<usize>,
    /// The repeats, one entry for each that was started.
    pub repeats: Vec<RepeatRecord>,
}

/// How the warm-up at the beginning of a repeat is determined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpRecord {
    /// The first half second, and at most a fifth.
    Auto,
    /// A fixed number of seconds.
    Seconds(f64),
}

/// One control group of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Its name; nested groups as `outer/inner`.
    pub name: String,
    /// Whether promises cover it.
    pub measured: bool,
    /// Knobs that the study sets on it.
    pub knobs: Vec<KnobRecord>,
    /// The workloads that run directly in it.
    pub workloads: Vec<WorkloadRecord>,
    /// The scratch disk its workloads use, by the study's name.
    pub disk: Option<String>,
}

/// One knob, as requested and as translated for this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnobRecord {
    /// The name in the study, `io.weight`.
    pub knob: String,
    /// The value in the study, as text.
    pub asked: String,
    /// The interface file that is written, `blkio.bfq.weight`.
    pub file: String,
    /// The value written.
    pub written: String,
    /// A note on the translation, if one is needed.
    pub note: Option<String>,
    /// The scheduler that the knob depends on, if any.
    pub obeyed_by: Option<String>,
    /// Further files of the knob, with the value written into each: cgroup v1 keeps quota and period apart.
    /// Records from before this field have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, String>,
}

/// The kind of I/O of a workload, as far as its options determine it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoClass {
    /// O_DIRECT.
    pub direct: bool,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// Each request begins where the previous one ended, so that requests queued in the scheduler are merged.
    #[serde(default)]
    pub sequential: bool,
    /// Requests it keeps outstanding, all jobs together.
    pub outstanding: Option<u32>,
    /// Bytes per request, if there is a single size.
    pub block_size: Option<u64>,
    /// Whether it does nothing but keep these requests outstanding: no rate, no pauses, no batches. `None` where its options do
    /// not tell, and in runs of earlier versions.
    #[serde(default)]
    pub closed_loop: Option<bool>,
}

/// One workload instance of a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRecord {
    /// Unique within the trial: `task1.reader`.
    pub name: String,
    /// The tool, `fio`.
    pub tool: String,
    /// What kind of I/O it does.
    pub io: IoClass,
    /// Threads that compete for a CPU at the same time; `None` if its options do not determine it, and in
    /// records from before this field.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Changes that Assay made to a user's own job file, in words.
    pub taken_over: Vec<String>,
    /// Its command line, for readers; empty for fio, whose job file is beside its output. Called `told` in
    /// older records.
    #[serde(default, alias = "told", skip_serializing_if = "String::is_empty")]
    pub command_line: String,
    /// When it starts, in words, if not at the common start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
}

/// One scratch disk of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskRecord {
    /// The study's name for it.
    pub name: String,
    /// `loop`, `block`, `directory`, `null_blk`.
    pub source: String,
    /// The kernel's name, `loop0`, once it exists. The subject of its `disk` samples.
    pub device: Option<String>,
    /// The requested scheduler.
    pub scheduler: Option<String>,
    /// The requested queue attributes, below `queue/`.
    pub queue: BTreeMap<String, String>,
}

/// One change of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What was changed, in words: `write /sys/block/loop0/queue/scheduler`.
    pub what: String,
    /// The previous value, if there is one.
    pub before: Option<String>,
    /// The new value, if there is one.
    pub set: Option<String>,
    /// Whether it was restored, and the error if that failed.
    pub restored: Available<bool>,
}
