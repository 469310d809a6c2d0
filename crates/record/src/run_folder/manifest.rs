//! `manifest.json`: the study, the host and its configuration, and the results and times of a run.
//!
//! All times are CLOCK_MONOTONIC nanoseconds of the recording host, aligned with the samples; only
//! `started_at` is wall-clock time.

use std::collections::BTreeMap;

use assay_host::facts::{Available, HostFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run_folder::guest::Guest;
use crate::run_folder::repeat::{FULL_DISK, PlacementRecord, RepeatRecord, SettingRecord};
use crate::terms::RelationKind;

/// The version of the run folder's format that this version writes, and the newest it reads.
pub const SCHEMA: u32 = 1;

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

impl Manifest {
    /// The record of a run that begins, without trials.
    #[must_use]
    pub fn begun(host: HostFacts, started_at: String, command: Vec<String>) -> Self {
        Self {
            schema: SCHEMA,
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            study: String::new(),
            title: String::new(),
            question: None,
            study_text: String::new(),
            command,
            study_choice: None,
            started_at,
            seed: 0,
            host,
            guest: None,
            trials: Vec::new(),
            comparisons: Vec::new(),
            references: Vec::new(),
            changes: Vec::new(),
            restored: None,
            ended_early: None,
            recording: None,
        }
    }

    /// Whether a workload failed in one of the repeats.
    #[must_use]
    pub fn has_failed_workload(&self) -> bool {
        let mut repeats = self.trials.iter().flat_map(|trial| &trial.repeats);
        repeats.any(|repeat| {
            repeat
                .fault
                .as_ref()
                .is_some_and(|fault| ["workload", FULL_DISK].contains(&fault.kind.as_str()))
        })
    }
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpRecord {
    /// The first half second, and at most a fifth.
    #[default]
    Auto,
    /// A fixed number of seconds.
    Seconds(f64),
}

/// One control group of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Its name; nested groups as `outer/inner`.
    pub name: String,
    /// The path of the group that it is below the mounts, if it existed before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<String>,
    /// Whether promises cover it.
    pub measured: bool,
    /// Knobs that the study sets on it.
    pub knobs: Vec<KnobRecord>,
    /// The workloads that run directly in it.
    pub workloads: Vec<WorkloadRecord>,
    /// The scratch disk its workloads use, by the study's name.
    pub disk: Option<String>,
    /// Whether its workloads run outside of all groups of the run, where nothing counts what they use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

impl GroupRecord {
    /// Whether something runs in it.
    #[must_use]
    pub const fn is_loaded(&self) -> bool {
        self.existing.is_some() || !self.workloads.is_empty()
    }
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

// Promises of a trial, as the manifest records them.

/// One promise of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseRecord {
    /// `io.bytes`, `io.ios`, `cpu.time`, `memory.current`, `memory.dirty`, `memory.refaults`, `threads`,
    /// `pages`, `progress`, or `WORKLOAD.METRIC`, a metric reported by a workload.
    pub measure: String,
    /// The relation.
    pub is: RelationRecord,
    /// The margin, a fraction of the expected value.
    pub within: f64,
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
    /// No wait for progress is longer than this, in seconds; without a value, than follows from the
    /// weights and quotas.
    Within(Option<f64>),
    /// At most the value of this knob of the group, as read back.
    AtMostKnob(String),
    /// At least the value of this knob of the group, as read back.
    AtLeastKnob(String),
}

/// What a relation refers to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reference<'r> {
    /// Nothing.
    Nothing,
    /// A knob, by its name in the study.
    Knob(&'r str),
    /// A value, in the measure's unit.
    Value(f64),
}

impl RelationRecord {
    /// The relation of this kind to this; `None` if it refers to something else.
    #[must_use]
    pub fn new(kind: RelationKind, to: Reference<'_>) -> Option<Self> {
        use Reference::{Knob, Nothing, Value};
        Some(match (kind, to) {
            (RelationKind::Proportional, Knob(knob)) => Self::Proportional(knob.to_owned()),
            (RelationKind::Equal, Nothing) => Self::Equal,
            (RelationKind::Placed, Nothing) => Self::Placed,
            (RelationKind::Within, Nothing) => Self::Within(None),
            (RelationKind::Within, Value(time)) => Self::Within(Some(time)),
            (RelationKind::AtMost, Value(bound)) => Self::AtMost(bound),
            (RelationKind::AtLeast, Value(bound)) => Self::AtLeast(bound),
            (RelationKind::AtMost, Knob(knob)) => Self::AtMostKnob(knob.to_owned()),
            (RelationKind::AtLeast, Knob(knob)) => Self::AtLeastKnob(knob.to_owned()),
            _ => return None,
        })
    }

    /// Its kind and what it refers to.
    fn parts(&self) -> (RelationKind, Reference<'_>) {
        match self {
            Self::Proportional(knob) => (RelationKind::Proportional, Reference::Knob(knob)),
            Self::Equal => (RelationKind::Equal, Reference::Nothing),
            Self::Placed => (RelationKind::Placed, Reference::Nothing),
            Self::Within(None) => (RelationKind::Within, Reference::Nothing),
            Self::Within(Some(time)) => (RelationKind::Within, Reference::Value(*time)),
            Self::AtMost(bound) => (RelationKind::AtMost, Reference::Value(*bound)),
            Self::AtLeast(bound) => (RelationKind::AtLeast, Reference::Value(*bound)),
            Self::AtMostKnob(knob) => (RelationKind::AtMost, Reference::Knob(knob)),
            Self::AtLeastKnob(knob) => (RelationKind::AtLeast, Reference::Knob(knob)),
        }
    }

    /// Its kind, whatever it refers to.
    #[must_use]
    pub fn kind(&self) -> RelationKind {
        self.parts().0
    }

    /// What it refers to.
    #[must_use]
    pub fn to(&self) -> Reference<'_> {
        self.parts().1
    }

    /// The knob that divides the measure into shares, if one does.
    #[must_use]
    pub fn divided_by(&self) -> Option<&str> {
        match self.parts() {
            (kind, Reference::Knob(knob)) if kind.divides() => Some(knob),
            _ => None,
        }
    }
}

// Promises across the trials of a run, and external reference numbers shown beside its own.
//
// Promises within one trial are part of its [`TrialRecord`](crate::run_folder::TrialRecord); promises across trials
// belong to the run as a whole.

/// Levels of factors by the factors' names, each exactly as in `factors` of the trials.
pub type Levels = BTreeMap<String, Value>;

/// One promise across trials. The factors it does not name are held: it is judged once for every combination
/// of their levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// What is compared: a measure of the samples, summed over the measured groups, or `WORKLOAD.METRIC`, as
    /// the geometric mean over the instances.
    pub measure: String,
    /// The one group that is compared; all measured groups if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation.
    pub is: AcrossRecord,
}

/// The relation of a promise across trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcrossRecord {
    /// The measure at some levels divided by the measure at others.
    Ratio {
        /// Levels of the numerator.
        of: Levels,
        /// Levels of the denominator, of the same factors.
        to: Levels,
        /// Lower bound of the ratio.
        at_least: Option<f64>,
        /// Upper bound of the ratio.
        at_most: Option<f64>,
    },
    /// Equal at every level of a factor.
    Equal {
        /// The factor.
        over: String,
        /// Which levels are compared with each other.
        pairs: PairsRecord,
        /// The margin: the larger is at most `1 + within` times the smaller.
        within: f64,
    },
}

impl AcrossRecord {
    /// Its name in documents.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ratio { .. } => "ratio",
            Self::Equal { .. } => "equal",
        }
    }

    /// The factors whose levels are compared; all others are held.
    #[must_use]
    pub fn over(&self) -> Vec<String> {
        match self {
            Self::Ratio { of, .. } => of.keys().cloned().collect(),
            Self::Equal { over, .. } => vec![over.clone()],
        }
    }
}

/// Which levels of a factor are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairsRecord {
    /// Every level with every other.
    All,
    /// Every level with the first one in the study file.
    First,
}

/// An external number, shown beside the run's own and never judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceRecord {
    /// What it is, in one line.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it was published.
    pub source: String,
    /// The run's measure to show beside it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The one group of the run to compare with; all measured groups if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The levels of the run's factors that it applies to; empty for all.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub under: Levels,
    /// The levels of the denominator, of the same factors as [`Self::under`]; empty if it is not a ratio.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub to: Levels,
}

// When trials end.

/// When a trial ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRecord {
    /// After all its planned repeats.
    #[default]
    AtMost,
    /// At the first look that decides its promises.
    Decided,
}

// How the caller of a run chose its study.

/// The study as it was named, and the overrides that were applied to its text. The seed is in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyChoiceRecord {
    /// The study file, or the name of a shipped study.
    pub study: String,
    /// Whether the sizes and times of the document were used that the study repeats.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub published: bool,
    /// Values of factors, each as `FACTOR=VALUE[,VALUE]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Number of repeats of each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Maximum length of a repeat, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_s: Option<f64>,
    /// When a trial ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopRecord>,
    /// The disk, as in `--disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// The I/O scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Whether evidence was requested in addition to what the study samples.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evidence: bool,
}
