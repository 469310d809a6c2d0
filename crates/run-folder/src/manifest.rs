//! `manifest.json`: what was asked of this host, what it answered, and when things happened.
//!
//! All times are CLOCK_MONOTONIC nanoseconds of the recording host, so that they line up with
//! the samples; `started_at` alone is wall-clock time.

use std::collections::BTreeMap;

use assay_facts::{Available, HostFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::{ComparisonRecord, ReferenceRecord};
use crate::curve::Curve;
use crate::guest::Guest;
use crate::overrides::OverridesRecord;
use crate::placement::{NodeCounts, PlacementReading, PlacementRecord};
use crate::setting::{Dropped, SettingReading, SettingRecord};

/// Everything about a run that is not a sample.
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
    /// Its whole text.
    pub study_text: String,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// Seeds the order of trials and random data.
    pub seed: u64,
    /// The machine.
    pub host: HostFacts,
    /// The lab's guest that this machine is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// One entry for each combination of factors, in the order of the study file.
    pub trials: Vec<TrialRecord>,
    /// What is promised of trials against each other. Records before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonRecord>,
    /// Numbers of others to show beside ours. Records before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceRecord>,
    /// Every change made to the host and whether it was taken back, in order.
    pub changes: Vec<Change>,
    /// Whether everything was put back; `None` while the run goes on.
    pub restored: Option<bool>,
    /// Why the run ended before its last trial, if it did.
    pub ended_early: Option<String>,
    /// For a recording without a study, whom it followed. It promises nothing, and nothing of it
    /// is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
}

/// Whom a recording without a study followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// `command`, `process` or `group`.
    pub kind: String,
    /// The command line, the process with its name, or the path of the group.
    pub of: String,
    /// The process that was followed, or that the command became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How it ended, where it did: `exit status 0`, `stopped after 5 s`.
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
    /// Settings of the host. Records before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingRecord>,
    /// Places of workloads. Records before this field have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementRecord>,
    /// What is promised.
    pub promises: Vec<PromiseRecord>,
    /// What is cut at the beginning.
    pub warm_up: WarmUpRecord,
    /// How long a repeat was to run.
    pub at_most_s: f64,
    /// Whether a repeat ends before that; records before this field say nothing and did not.
    #[serde(default)]
    pub stop: StopRecord,
    /// Repeats that the study asks for; a trial that is to stop early may have fewer. `None` in
    /// records before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_repeats: Option<usize>,
    /// What happened, one entry for each repeat that was started.
    pub repeats: Vec<RepeatRecord>,
}

/// How the beginning of a repeat is left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpRecord {
    /// Found in the data.
    Auto,
    /// This long.
    Seconds(f64),
}

/// When a repeat ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRecord {
    /// When its time is up.
    #[default]
    AtMost,
    /// As soon as every promise is known well enough, at the latest when its time is up. Records of
    /// before say `decided`: as soon as every promise had a verdict.
    #[serde(alias = "decided")]
    Precise,
}

/// How often the data of a repeat was looked at to see whether it is precise enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LooksRecord {
    /// Looks taken before the end.
    pub taken: u32,
    /// In records of before, whose repeats a verdict ended: the part of the promise's error (one less
    /// its confidence) that the last analysis may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// Whether a look ended the repeat.
    pub decided: bool,
    /// CPU seconds that looking cost.
    pub cpu_s: f64,
    /// Where the data of the look that ended the repeat ends: the verdict judges the same. `None`
    /// where no look ended it, and in records before verdicts did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_until_ns: Option<u64>,
}

/// One control group of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Its name; nested groups as `outer/inner`.
    pub name: String,
    /// Whether promises are judged over it.
    pub measured: bool,
    /// Knobs that the study sets on it.
    pub knobs: Vec<KnobRecord>,
    /// What runs directly in it.
    pub workloads: Vec<WorkloadRecord>,
    /// The scratch disk its workloads use, by the study's name.
    pub disk: Option<String>,
}

/// One knob as asked and as translated for this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnobRecord {
    /// The name in the study, `io.weight`.
    pub knob: String,
    /// The value in the study, as text.
    pub asked: String,
    /// The interface file that is written, `blkio.bfq.weight`.
    pub file: String,
    /// What is written into it.
    pub written: String,
    /// What a reader should know of the translation, if anything.
    pub note: Option<String>,
    /// For a knob that only some scheduler obeys: which one.
    pub obeyed_by: Option<String>,
    /// Further files that belong to the knob, with what is written into each: cgroup v1 keeps
    /// quota and period apart. Records before this field have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, String>,
}

/// What kind of I/O a workload does, as far as its options tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoClass {
    /// O_DIRECT.
    pub direct: bool,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// Each request begins where the one before ended, so that requests which wait in the
    /// scheduler merge with each other.
    #[serde(default)]
    pub sequential: bool,
    /// Requests that it keeps outstanding, all its jobs together.
    pub outstanding: Option<u32>,
    /// Bytes of one request, where there is one size.
    pub block_size: Option<u64>,
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
    /// Threads that want a CPU at the same time; `None` when its options do not tell, or in
    /// records before this field.
    #[serde(default)]
    pub threads: Option<u32>,
    /// What Assay changed of a user's own job file, in words.
    pub taken_over: Vec<String>,
    /// Its command line, for people; empty for fio, whose job file lies beside its output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// When it starts, in words, where that is not the common start.
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
    /// The kernel's name, `loop0`, once it exists. Subject of the `disk` samples.
    pub device: Option<String>,
    /// The scheduler that was asked for.
    pub scheduler: Option<String>,
    /// Queue attributes that were asked for, below `queue/`.
    pub queue: BTreeMap<String, String>,
}

/// What should hold in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseRecord {
    /// `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.dirty`, `memory.refaults`,
    /// `threads`, `pages`, or `WORKLOAD.METRIC` of what workloads say of themselves.
    pub measure: String,
    /// The relation.
    pub is: RelationRecord,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The spans in which it is to hold, where it does not hold on average alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryRecord>,
}

/// A promise that is to hold in single spans of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EveryRecord {
    /// Seconds of a span.
    pub span_s: f64,
    /// The part of the spans in which it is to hold.
    pub part: f64,
}

/// The relation of a promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationRecord {
    /// Shares follow this knob as read back. Holds the knob's name in the study.
    Proportional(String),
    /// All groups get the same.
    Equal,
    /// Threads are on their CPUs, or pages on their nodes.
    Placed,
    /// At most this rate each, in the measure's unit per second.
    AtMost(f64),
    /// At least this rate each, in the measure's unit per second.
    AtLeast(f64),
    /// At most what this knob of the group says, as read back.
    AtMostKnob(String),
    /// At least what this knob of the group says, as read back.
    AtLeastKnob(String),
}

/// What happened in one repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatRecord {
    /// Folder of its samples below `samples/`, `trial-00-repeat-00`.
    pub samples: String,
    /// When the first workload was released.
    pub released_ns: u64,
    /// When the last workload had been released: the window common to all starts here.
    pub all_released_ns: u64,
    /// When the first workload was told to stop or ended by itself: the window ends here.
    pub stopped_ns: u64,
    /// Seconds between the first I/O of the first group and the first I/O of the last group.
    pub start_skew_s: Available<f64>,
    /// Every knob as read from the kernel.
    pub knobs: Vec<Reading>,
    /// The queues of the scratch disks.
    pub queues: Vec<QueueReading>,
    /// The CPUs that each group could use at the start, by group, where a hierarchy of the run
    /// serves `cpuset`. Groups without an entry could use those of the host's `allowed`.
    #[serde(default)]
    pub cpus: BTreeMap<String, Available<String>>,
    /// What else than the knobs may decide who is served; `None` in records before it was read,
    /// and of a repeat without a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<OverridesRecord>,
    /// The settings of the host that the study asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingReading>,
    /// That caches were dropped, if the study asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// What was seen of workloads with a place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementReading>,
    /// What the host counted of placement, where workloads have a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCounts>,
    /// What reading knobs and queues again during the repeat cost; `None` in records before it
    /// was done.
    #[serde(default)]
    pub watch: Option<WatchCost>,
    /// Looks at the data while it ran, where the trial was to stop once decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksRecord>,
    /// CPU seconds that looking at the data and showing the run cost while the window lasted;
    /// `None` in records before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_cpu_s: Option<f64>,
    /// What each workload said of itself.
    pub workloads: Vec<WorkloadResult>,
    /// What ran to its end before the common start (`prepare` of a study).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparations: Vec<WorkloadResult>,
    /// What the kernel counted of memory limits in each group over the whole repeat, by group and
    /// by the kernel's own names (`oom_kill`, `max`, `failcnt`). Groups without an entry have no
    /// controller `memory` in this run, or no such file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory_events: BTreeMap<String, BTreeMap<String, u64>>,
    /// What sampling cost.
    pub sampler: SamplerCost,
    /// Sources that this host lacks, by name, with the reason.
    pub not_available: BTreeMap<String, String>,
    /// Why the repeat was cut short or did not take place, if so.
    pub fault: Option<Fault>,
}

impl RepeatRecord {
    /// A repeat of which nothing is known yet but where its samples lie, and why groups did not
    /// start together.
    #[must_use]
    pub fn without_a_window(samples: &str, no_start: &str) -> Self {
        Self {
            samples: samples.to_owned(),
            released_ns: 0,
            all_released_ns: 0,
            stopped_ns: 0,
            start_skew_s: Available::NotAvailable(no_start.to_owned()),
            knobs: Vec::new(),
            queues: Vec::new(),
            cpus: BTreeMap::new(),
            overrides: None,
            settings: Vec::new(),
            dropped: None,
            placements: Vec::new(),
            nodes: None,
            watch: None,
            looks: None,
            shown_cpu_s: None,
            workloads: Vec::new(),
            preparations: Vec::new(),
            memory_events: BTreeMap::new(),
            sampler: SamplerCost::default(),
            not_available: BTreeMap::new(),
            fault: None,
        }
    }
}

/// Why a repeat is not what was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// `interrupted`, `workload`, `host`, or `oom`: the kernel ended a workload for want of memory.
    pub kind: String,
    /// What happened, where, and what to do about it.
    pub message: String,
}

/// A knob, read back after it was written and again at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The group's name.
    pub group: String,
    /// The knob's name in the study.
    pub knob: String,
    /// The file it was read from.
    pub file: String,
    /// After it was written.
    pub at_start: Available<String>,
    /// At the end of the repeat.
    pub at_end: Available<String>,
    /// Further files that belong to the knob, as they read at the start, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, Available<String>>,
    /// Readings in between that differ from the one at the start, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drift: BTreeMap<String, Drift>,
}

/// A value that changed while a repeat ran, whether or not it was changed back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The first reading that differs from the one at the start.
    pub first: Seen,
    /// The last such reading.
    pub last: Seen,
    /// How many readings differ.
    pub readings: u64,
}

/// A reading with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// CLOCK_MONOTONIC nanoseconds.
    pub time_ns: u64,
    /// What was read.
    pub value: Available<String>,
}

/// What reading knobs and queues again cost in one repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchCost {
    /// Planned seconds between two rounds: what changes and changes back within may be missed.
    pub interval_s: f64,
    /// Rounds taken.
    pub rounds: u64,
    /// Files read in each.
    pub files: u64,
    /// CPU seconds, all rounds together.
    pub cpu_s: f64,
}

/// A queue at the start and at the end of a repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueReading {
    /// The study's name of the disk.
    pub disk: String,
    /// The kernel's name.
    pub device: String,
    /// Active scheduler at the start.
    pub scheduler_at_start: String,
    /// Active scheduler at the end.
    pub scheduler_at_end: String,
    /// Attributes below `queue/` at the start: those the study sets, and `nr_requests`,
    /// `rotational`.
    pub at_start: BTreeMap<String, String>,
    /// The same at the end.
    pub at_end: BTreeMap<String, String>,
    /// Readings in between that differ from the one at the start, by attribute; the scheduler is
    /// the attribute `scheduler`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drift: BTreeMap<String, Drift>,
}

/// What a tool said of its own run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// The workload's name in its [`GroupRecord`].
    pub workload: String,
    /// Its group.
    pub group: String,
    /// How it ended: `None` when it was stopped by Assay at the end of the window as planned.
    pub failure: Option<String>,
    /// Its own output, relative to the run folder.
    pub log: String,
    /// Seconds that it measured.
    pub runtime_s: Option<f64>,
    /// Numbers by name with the unit in the name: `read_bytes`, `write_bytes`, `read_ios`,
    /// `write_ios`, `read_iops`, `write_iops`, `user_cpu_percent`, `system_cpu_percent`.
    pub metrics: BTreeMap<String, f64>,
    /// Completion latency by direction (`read`, `write`), or by operation.
    pub latency: BTreeMap<String, Latency>,
    /// Metrics that were to be had and are not, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
    /// What it did when, where it says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// What a reader should know before looking at its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Curves that it hands over to be drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// When it was started or let go, CLOCK_MONOTONIC nanoseconds; `None` in records before this
    /// field, and where it never came to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<u64>,
    /// When it was seen to have ended by itself; `None` where it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
}

/// A part of a workload's time that it gives a name of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name, as the tool gives it.
    pub name: String,
    /// When it began, CLOCK_MONOTONIC nanoseconds.
    pub begin_ns: u64,
    /// When it was over.
    pub end_ns: u64,
}

/// Completion latency in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Percentile (as `"99"`, `"99.9"`) to value.
    pub percentiles_ns: BTreeMap<String, f64>,
}

/// What sampling cost in one repeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerCost {
    /// Planned seconds between two rounds.
    pub interval_s: f64,
    /// Rounds taken.
    pub rounds: u64,
    /// Rounds that were left out because the one before took too long.
    pub missed: u64,
    /// The latest start of a round after its planned time, seconds.
    pub latest_s: f64,
    /// CPU seconds of the sampling thread.
    pub cpu_s: f64,
    /// Wall seconds it ran.
    pub wall_s: f64,
    /// How often the sampling thread woke up. Records before this field have 0.
    #[serde(default)]
    pub wakeups: u64,
    /// Rounds that began more than a tenth of the interval after their time.
    #[serde(default)]
    pub late: u64,
    /// The CPU that the sampling thread was bound to. `sampler.cpu` among what is not available
    /// says why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u16>,
    /// The group that it was in; `sampler.group` says why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// CPU seconds by source.
    pub by_source_s: BTreeMap<String, f64>,
    /// How often each source was read and what came of it. Records before this field have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, SourceCost>,
}

/// What one source did and cost in one repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceCost {
    /// Planned seconds between two reads.
    pub period_s: f64,
    /// How often it was read.
    pub rounds: u64,
    /// Rows on disk.
    pub rows: u64,
    /// CPU seconds.
    pub cpu_s: f64,
}

/// One change of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What was changed, in words: `write /sys/block/loop0/queue/scheduler`.
    pub what: String,
    /// The value found, where there is one.
    pub before: Option<String>,
    /// The value set, where there is one.
    pub set: Option<String>,
    /// Whether it was taken back, and the error if that failed.
    pub restored: Available<bool>,
}
