//! `manifest.json`: the study, the host and its configuration, and the results and times of a run.
//!
//! All times are CLOCK_MONOTONIC nanoseconds of the recording host, aligned with the samples; only
//! `started_at` is wall-clock time.

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
    /// Whether a repeat may end earlier; absent in records from before this field, whose repeats did not.
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
    /// Detected from the data.
    Auto,
    /// A fixed number of seconds.
    Seconds(f64),
}

/// When a repeat ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRecord {
    /// When its planned time is over.
    #[default]
    AtMost,
    /// As soon as every promise is known precisely enough, at the latest when its planned time is over. Older
    /// records hold `decided`: as soon as every promise had a verdict.
    #[serde(alias = "decided")]
    Precise,
}

/// The interim looks at the data of a repeat that check whether it is precise enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LooksRecord {
    /// Number of looks before the end.
    pub taken: u32,
    /// In older records, whose repeats ended with a verdict: the part of the promise's error (one less its
    /// confidence) that the last analysis may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// Whether a look ended the repeat.
    pub decided: bool,
    /// CPU seconds of all looks.
    pub cpu_s: f64,
    /// End of the data used by the look that ended the repeat; the verdict uses the same data. `None` if no
    /// look ended it, and in records from before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_until_ns: Option<u64>,
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

/// One promise of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseRecord {
    /// `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.dirty`, `memory.refaults`, `threads`,
    /// `pages`, or `WORKLOAD.METRIC`, a metric reported by a workload.
    pub measure: String,
    /// The relation.
    pub is: RelationRecord,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The spans in which it should hold, if it should hold in more than the average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryRecord>,
}

/// The spans of a promise that should hold in each span of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EveryRecord {
    /// Seconds per span.
    pub span_s: f64,
    /// The fraction of the spans in which it should hold.
    pub part: f64,
}

/// The relation of a promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationRecord {
    /// Shares are proportional to this knob as read back. Holds the knob's name in the study.
    Proportional(String),
    /// All groups get the same.
    Equal,
    /// Threads run on their CPUs, or pages lie on their nodes.
    Placed,
    /// At most this rate for each group, in the measure's unit per second.
    AtMost(f64),
    /// At least this rate for each group, in the measure's unit per second.
    AtLeast(f64),
    /// At most the value of this knob of the group, as read back.
    AtMostKnob(String),
    /// At least the value of this knob of the group, as read back.
    AtLeastKnob(String),
}

/// The record of one repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatRecord {
    /// Folder of its samples in `samples/`, `trial-00-repeat-00`.
    pub samples: String,
    /// When the first workload was released.
    pub released_ns: u64,
    /// When the last workload had been released: start of the common window.
    pub all_released_ns: u64,
    /// When the first workload was stopped or ended by itself: end of the window.
    pub stopped_ns: u64,
    /// Seconds between the first I/O of the first group and the first I/O of the last group.
    pub start_skew_s: Available<f64>,
    /// Every knob as read from the kernel.
    pub knobs: Vec<Reading>,
    /// The queues of the scratch disks.
    pub queues: Vec<QueueReading>,
    /// The CPUs that each group could use at the start, by group, if a hierarchy of the run serves `cpuset`.
    /// Groups without an entry could use those of the host's `allowed`.
    #[serde(default)]
    pub cpus: BTreeMap<String, Available<String>>,
    /// Influences besides the knobs on how resources are divided; `None` in records from before this field,
    /// and of a repeat without a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<OverridesRecord>,
    /// The settings of the host that the study requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingReading>,
    /// That caches were dropped, if the study requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// The observed placement of workloads that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementReading>,
    /// The host's counters of placement, if workloads have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCounts>,
    /// Cost of rereading knobs and queues during the repeat; `None` in records from before this field.
    #[serde(default)]
    pub watch: Option<WatchCost>,
    /// Interim looks at the data, if the trial may stop early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksRecord>,
    /// CPU seconds spent within the window on interim looks and on showing progress; `None` in records from
    /// before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_cpu_s: Option<f64>,
    /// The results reported by each workload.
    pub workloads: Vec<WorkloadResult>,
    /// The results of what ran to its end before the common start (`prepare` of a study).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparations: Vec<WorkloadResult>,
    /// The kernel's counters of memory limits in each group over the whole repeat, by group and by the
    /// kernel's names (`oom_kill`, `max`, `failcnt`). Groups without an entry have no controller `memory` in
    /// this run, or no such file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory_events: BTreeMap<String, BTreeMap<String, u64>>,
    /// The cost of sampling.
    pub sampler: SamplerCost,
    /// Sources missing on this host, by name, with the reason.
    pub not_available: BTreeMap<String, String>,
    /// Why the repeat was cut short or did not take place, if so.
    pub fault: Option<Fault>,
}

impl RepeatRecord {
    /// A repeat without data, given only its samples folder and the reason why its groups did not start
    /// together.
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

/// Why a repeat did not go as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// `interrupted`, `workload`, `host`, or `oom`: the kernel killed a workload for lack of memory.
    pub kind: String,
    /// What happened, where, and what to do about it.
    pub message: String,
}

/// A knob, read back after it was written and again at the end of the repeat.
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
    /// Further files of the knob, as read at the start, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, Available<String>>,
    /// Readings in between that differ from the one at the start, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drift: BTreeMap<String, Drift>,
}

/// Changes of a value during a repeat, whether or not it was changed back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The first reading that differs from the one at the start.
    pub first: TimedReading,
    /// The last such reading.
    pub last: TimedReading,
    /// How many readings differ.
    pub readings: u64,
}

/// A reading with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedReading {
    /// CLOCK_MONOTONIC nanoseconds.
    pub time_ns: u64,
    /// The value read.
    pub value: Available<String>,
}

/// The cost of rereading knobs and queues in one repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchCost {
    /// Planned seconds between two rounds; a change that is reverted between rounds may be missed.
    pub interval_s: f64,
    /// Rounds taken.
    pub rounds: u64,
    /// Files read per round.
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

/// The results of one workload in one repeat, as reported by its tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// The workload's name in its [`GroupRecord`].
    pub workload: String,
    /// Its group.
    pub group: String,
    /// How it failed; `None` if it was stopped by Assay at the end of the window as planned.
    pub failure: Option<String>,
    /// Its own output, relative to the run folder.
    pub log: String,
    /// Seconds measured by the tool.
    pub runtime_s: Option<f64>,
    /// Numbers by name with the unit in the name: `read_bytes`, `write_bytes`, `read_ios`,
    /// `write_ios`, `read_iops`, `write_iops`, `user_cpu_percent`, `system_cpu_percent`.
    pub metrics: BTreeMap<String, f64>,
    /// Completion latency by direction (`read`, `write`), or by operation.
    pub latency: BTreeMap<String, Latency>,
    /// Missing metrics, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
    /// Phases of the workload, if it reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Warnings about its numbers for readers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Curves for plotting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// When it was started or released, CLOCK_MONOTONIC nanoseconds; `None` in records from before this
    /// field, and if it was never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<u64>,
    /// When it ended by itself; `None` if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
}

/// A named part of a workload's run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// The name reported by the tool.
    pub name: String,
    /// When it began, CLOCK_MONOTONIC nanoseconds.
    pub begin_ns: u64,
    /// When it ended.
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

/// The cost of sampling in one repeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerCost {
    /// Planned seconds between two rounds.
    pub interval_s: f64,
    /// Rounds taken.
    pub rounds: u64,
    /// Rounds skipped because the previous one took too long.
    pub missed: u64,
    /// Largest delay of a round after its planned time, seconds.
    pub latest_s: f64,
    /// CPU seconds of the sampling thread.
    pub cpu_s: f64,
    /// Wall-clock seconds of its run.
    pub wall_s: f64,
    /// Wake-ups of the sampling thread. Records from before this field have 0.
    #[serde(default)]
    pub wakeups: u64,
    /// Rounds that began more than a tenth of the interval late.
    #[serde(default)]
    pub late: u64,
    /// The CPU that the sampling thread was bound to. If absent, `not_available` holds the reason as
    /// `sampler.cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u16>,
    /// The group of the sampling thread; if absent, the reason is `sampler.group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// CPU seconds by source.
    pub by_source_s: BTreeMap<String, f64>,
    /// Reads, rows and cost of each source. Records from before this field have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, SourceCost>,
}

/// Reads, rows and cost of one source in one repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceCost {
    /// Planned seconds between two reads.
    pub period_s: f64,
    /// Number of reads.
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
    /// The previous value, if there is one.
    pub before: Option<String>,
    /// The new value, if there is one.
    pub set: Option<String>,
    /// Whether it was restored, and the error if that failed.
    pub restored: Available<bool>,
}
