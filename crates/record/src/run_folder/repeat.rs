//! The record of one repeat: its window, what was read of the host, and the results of its workloads.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_blame::Evidence;
use assay_host::facts::Available;
use assay_sys::units::{CpuSet, MemoryPolicy};
use serde::{Deserialize, Serialize};

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
    /// CPU seconds spent within the window on showing progress; `None` in records from before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_cpu_s: Option<f64>,
    /// That evidence from inside the kernel was taken, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceRecord>,
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
    /// What each group had read from and written to its disk when its workloads had ended, in bytes, by the counter of the source
    /// `io`. The last sample is earlier, and what is served while others stop may be most of a light group's bytes. Absent in
    /// records from before this field, and where the kernel counts none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disk_bytes_at_end: BTreeMap<String, u64>,
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
            shown_cpu_s: None,
            evidence: None,
            workloads: Vec::new(),
            preparations: Vec::new(),
            memory_events: BTreeMap::new(),
            disk_bytes_at_end: BTreeMap::new(),
            sampler: SamplerCost::default(),
            not_available: BTreeMap::new(),
            fault: None,
        }
    }
}

/// The kind of a fault: workloads failed because a disk of the study was full.
pub const FULL_DISK: &str = "full disk";

/// Why a repeat did not go as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// `interrupted`, `workload`, `full disk`, `host`, or `oom`: the kernel killed a workload for lack of memory.
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

/// That evidence was taken in a repeat. It lies in `evidence/<samples of the repeat>.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// CPU seconds that the programs took in the window, estimated from those of their events that were timed;
    /// absent if there were too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// The document, in a run that was loaded; the manifest does not contain it.
    #[serde(skip)]
    pub document: Option<Arc<Evidence>>,
}

impl RepeatRecord {
    /// The evidence of this repeat, if it was taken.
    #[must_use]
    pub fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()?.document.as_deref()
    }
}

// Values that changed during a repeat.

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

// Settings of the host in a run: as requested and as read back.

/// A setting of the host as requested in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// Its name, `vm.dirty_ratio` or `thp.enabled`.
    pub setting: String,
    /// The value in the study, as text.
    pub asked: String,
    /// The file.
    pub path: String,
    /// The expected content.
    pub written: String,
    /// Whether it is only expected and not written: the kernel zeroes it when its counterpart is set.
    #[serde(default)]
    pub implied: bool,
}

/// The readings of one setting of the host in one repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingReading {
    /// Its name, as in [`SettingRecord`].
    pub setting: String,
    /// Before it was written; of a list of choices the active one.
    pub found: Available<String>,
    /// After it was written.
    pub at_start: Available<String>,
    /// At the end of the repeat.
    pub at_end: Available<String>,
    /// Readings in between that differ from the one at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// Caches dropped before the common start; this cannot be restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// What was written to /proc/sys/vm/drop_caches: 1 the page cache, 2 what the kernel can free
    /// of its own objects, 3 both.
    pub what: u8,
    /// Seconds that it took, with the sync before it: dirty pages cannot be dropped.
    pub seconds: f64,
    /// `Cached` and `SReclaimable` of /proc/meminfo before, bytes.
    pub before_bytes: Available<u64>,
    /// The same after.
    pub after_bytes: Available<u64>,
}

// Placement of workloads: as requested, and as the kernel reports it for threads and pages.

/// The placement of one workload in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementRecord {
    /// The workload's name in the trial.
    pub workload: String,
    /// Its group.
    pub group: String,
    /// The CPUs as the study names them: `siblings`, `0-3`.
    pub asked_cpus: Option<String>,
    /// The CPUs on this host.
    pub cpus: Option<CpuSet>,
    /// The memory policy.
    pub memory: Option<MemoryPolicy>,
    /// The mode of huge pages.
    pub huge_pages: Option<String>,
    /// The part of its anonymous memory that should be on each node; empty if the policy promises nothing
    /// about single nodes.
    pub pages: BTreeMap<u16, f64>,
}

/// The observed placement of one workload in one repeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacementReading {
    /// The workload's name in the trial.
    pub workload: String,
    /// How often its threads were examined during the window.
    pub looks: u64,
    /// The largest number of threads at once.
    pub threads: u64,
    /// Samples of a thread with the CPU it ran on last, all examinations together.
    pub samples: u64,
    /// Samples on the requested CPUs; all of them if none were requested.
    pub on_cpus: u64,
    /// Samples by CPU.
    pub by_cpu: BTreeMap<u16, u64>,
    /// Samples of a thread that had been examined before, 0 in records of older versions.
    #[serde(default)]
    pub followed: u64,
    /// Those of them with another CPU than the time before.
    #[serde(default)]
    pub moved: u64,
    /// Samples by the CPUs the thread was allowed to use (`Cpus_allowed_list`).
    pub allowed_cpus: BTreeMap<String, u64>,
    /// Samples by the nodes the thread was allowed to use (`Mems_allowed_list`).
    pub allowed_nodes: BTreeMap<String, u64>,
    /// Samples by `THP_enabled` of /proc/PID/status, where the kernel shows it (5.0).
    pub huge_pages: BTreeMap<String, u64>,
    /// Bytes of anonymous memory on each node at the end of the window, or at the last count before
    /// the workload ended by itself; all processes together.
    pub pages: Option<Available<BTreeMap<u16, u64>>>,
    /// Bytes of mapped files on each node at the same time, by path: the largest ones, without programs and
    /// their libraries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, BTreeMap<u16, u64>>,
    /// Bytes of anonymous memory by the policy of their area, as the kernel spells it.
    pub policies: BTreeMap<String, u64>,
}

/// A counter of the host at the start of a repeat, before its workloads started, and at the end of its
/// window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterSpan {
    /// At the start.
    pub before: u64,
    /// At the end.
    pub after: u64,
}

impl CounterSpan {
    /// The increase in between.
    #[must_use]
    pub const fn since(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}

/// The host's counters of placement during a repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeCounts {
    /// `numa_miss` of each node: pages allocated there because the preferred node had none free.
    pub missed_pages: BTreeMap<u16, u64>,
    /// The counters of numastat(8) by node and by name, in pages; empty in records from before this field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numastat: BTreeMap<u16, BTreeMap<String, CounterSpan>>,
    /// Pages that automatic balancing moved (`numa_pages_migrated`).
    pub moved_pages: Available<u64>,
    /// `kernel.numa_balancing` at the start.
    pub balancing: Available<String>,
    /// The weights of weighted interleaving at the start, by node; empty if there are none.
    pub weights: BTreeMap<u16, u64>,
}

// Influences besides the study's knobs on how resources are divided: limits, priorities, another scheduler.

/// The overrides found in one repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverridesRecord {
    /// Limits and classes that are set on a group of the trial, or on a group around the run's
    /// own. A file that holds nothing but its default is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitReading>,
    /// How the threads of each group are scheduled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadReading>,
    /// `/sys/kernel/sched_ext/state`, with the name of the scheduler where one is loaded.
    pub sched_ext: Available<String>,
    /// The devices that a disk is composed of (its `slaves`), by the study's name of the disk. Disks without
    /// an entry are not stacked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stacked: BTreeMap<String, Vec<String>>,
}

/// One file that limits a group or assigns it a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReading {
    /// The group's name in the trial; `above:/path` for one around the run's own.
    pub group: String,
    /// The interface file: `io.max`, `blkio.throttle.read_bps_device`, `cpu.max`.
    pub file: String,
    /// The content; of a file with a line per device, the lines of the trial's disks. Empty if it held its
    /// default.
    pub at_start: String,
    /// The same at the end of the repeat.
    pub at_end: String,
}

impl LimitReading {
    /// What it held at the start, or at the end if that was its default.
    #[must_use]
    pub fn text(&self) -> &str {
        if self.at_start.is_empty() { &self.at_end } else { &self.at_start }
    }
}

/// Threads of one group with equal scheduling attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReading {
    /// The group's name.
    pub group: String,
    /// `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext` (sched(7)).
    pub policy: String,
    /// -20 to 19.
    pub nice: i32,
    /// `none`, `rt`, `best-effort`, `idle` (ioprio_get(2)); `unknown` where the kernel did not report it.
    pub io_class: String,
    /// The largest number of such threads in any reading.
    pub threads: u64,
}

// Curves that a workload reports for plotting.

/// One curve, in the units named on its axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What it shows, `random`.
    pub name: String,
    /// Label of the x axis, with its unit.
    pub x: String,
    /// Label of the y axis, with its unit.
    pub y: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// Points, `x` and `y`.
    pub points: Vec<[f64; 2]>,
    /// Highlighted positions on the x axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A position on the x axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Position, in the unit of the axis.
    pub x: f64,
    /// Label, `L2`.
    pub label: String,
}
