//! The plan and its trials.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::workload::fio::Job;
use crate::workload::{Invocation, Placeholders, Program, kind};
use crate::{Bindings, DiskSource, Ends, Format, Sampling};
use assay_host::facts::UsedHierarchy;
use assay_host::knob::Translation;
use assay_record::run_folder::{
    ComparisonRecord, IoClass, KnobRecord, PlacementRecord, PromiseRecord, ReferenceRecord,
    StopRecord, WarmUpRecord,
};
use assay_sys::units::Bytes;

use crate::plan::order::RepeatId;
use crate::plan::refusal::Refusal;
use crate::plan::setting::SettingPlan;

/// The complete plan of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One trial for each combination of factors, in the order of the study file.
    pub trials: Vec<Trial>,
    /// The order in which their repeats run.
    pub slots: Vec<RepeatId>,
    /// Cross-trial promises.
    pub comparisons: Vec<ComparisonRecord>,
    /// Published numbers to show beside the results.
    pub references: Vec<ReferenceRecord>,
    /// The memory that its programs need for themselves in the largest trial, as far as they predict it.
    pub memory: Bytes,
    /// What this host cannot do. A plan with refusals is printed but never run.
    pub refusals: Vec<Refusal>,
}

/// One combination of factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The value of each factor.
    pub factors: Bindings,
    /// Host settings, in the order of the file.
    pub settings: Vec<SettingPlan>,
    /// The value written to /proc/sys/vm/drop_caches before each repeat, if any.
    pub drop_caches: Option<u8>,
    /// Placements of workloads.
    pub placements: Vec<PlacementRecord>,
    /// Scratch disks, in the order of their names.
    pub disks: Vec<DiskPlan>,
    /// Groups, outer ones before those inside them.
    pub groups: Vec<GroupPlan>,
    /// The hierarchies in which groups are made.
    pub hierarchies: Vec<UsedHierarchy>,
    /// Controllers whose counters would be sampled but that this host lacks, with the reason.
    pub absent: BTreeMap<String, String>,
    /// The promises about this trial.
    pub promises: Vec<PromiseRecord>,
    /// The time cut from the start of a repeat.
    pub warm_up: WarmUpRecord,
    /// The longest time of a repeat.
    pub at_most: Duration,
    /// Which workload's end ends a repeat early.
    pub ends: Ends,
    /// Optional sources, and the sampling interval.
    pub sampling: Sampling,
    /// Whether sufficient precision ends a repeat early.
    pub stop: StopRecord,
}

impl Trial {
    /// Whether it has groups of its own, and not only some that exist.
    #[must_use]
    pub fn makes_groups(&self) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|group| group.existing.is_none())
    }
}

/// A scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskPlan {
    /// The study's name for it.
    pub name: String,
    /// Its source.
    pub source: DiskSource,
    /// Its size; for a directory, the amount that workloads may use there.
    pub size: Bytes,
    /// Its file system.
    pub format: Format,
    /// The number of partitions; 0 means none.
    pub partitions: u32,
    /// The disk of which it is a partition itself, whose scheduler and queue it has.
    pub whole: Option<String>,
    /// The scheduler to set.
    pub scheduler: Option<String>,
    /// Queue attributes to set, below `queue/`.
    pub queue: Vec<(String, String)>,
}

/// A control group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupPlan {
    /// Its name, `outer1/inner2`.
    pub name: String,
    /// Whether promises include it.
    pub measured: bool,
    /// Whether its workloads run outside of all groups of the run.
    pub outside: bool,
    /// Whether it has groups inside it.
    pub is_inner: bool,
    /// The path of the group that it is below the mount of each hierarchy, if it exists already.
    pub existing: Option<String>,
    /// Its knobs; those of a group that exists are as they were found.
    pub knobs: Vec<KnobPlan>,
    /// Its workloads.
    pub workloads: Vec<WorkloadPlan>,
    /// The disk that its workloads use, an index into [`Trial::disks`].
    pub disk: Option<usize>,
}

/// A knob of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobPlan {
    /// In the form of the record.
    pub record: KnobRecord,
    /// The file and value on this host.
    pub translation: Translation,
}

/// A workload of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadPlan {
    /// Unique within the trial.
    pub name: String,
    /// What is started, complete except for the location of its data.
    pub tool: ToolPlan,
    /// Whether its running time exceeds the window, so that its end is not awaited.
    pub until_stopped: bool,
    /// The class of its I/O.
    pub io: IoClass,
    /// Threads that need a CPU at once, if its options determine it.
    pub threads: Option<u32>,
    /// Options of the user's job file that Assay applies itself.
    pub taken_over: Vec<String>,
    /// Where its data goes; `None` if it needs no disk, or if the study names none and the job has
    /// its own target.
    pub storage: Option<StoragePlan>,
    /// What it writes to its disk, where the tool cannot say it.
    pub creates: Option<Bytes>,
    /// Preparations that run to completion before the common start, in this order, in the same
    /// group and storage.
    pub prepare: Vec<WorkloadPlan>,
    /// When it starts, if not at the common start.
    pub after: Option<AfterPlan>,
    /// The user it and its preparations run as; that of Assay if `None`.
    pub user: Option<String>,
}

/// What is started.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolPlan {
    /// fio with this job.
    Fio(Job),
    /// A command line.
    Invocation(Invocation),
}

/// A start after the common start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterPlan {
    /// When the workload of this name in the trial has ended.
    Workload(String),
    /// This long after the common start.
    Time(Duration),
}

impl WorkloadPlan {
    /// The fio job, if it is one.
    #[must_use]
    pub fn job(&self) -> Option<&Job> {
        match &self.tool {
            ToolPlan::Fio(job) => Some(job),
            ToolPlan::Invocation(_) => None,
        }
    }

    /// The name of its tool: `fio`, a kind of the registry, or `command`.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        match &self.tool {
            ToolPlan::Fio(_) => crate::workload::FIO,
            ToolPlan::Invocation(invocation) => &invocation.tool,
        }
    }

    /// The command that predicts its footprint; `None` if it cannot predict.
    pub(crate) fn prediction_command(&self) -> Option<Vec<String>> {
        match &self.tool {
            ToolPlan::Fio(_) => None,
            ToolPlan::Invocation(invocation) => predict(invocation),
        }
    }

    /// Whether it needs a piece of its group's disk.
    pub(crate) fn uses_a_disk(&self) -> bool {
        let own = match &self.tool {
            ToolPlan::Fio(_) => true,
            ToolPlan::Invocation(invocation) => invocation.uses_a_disk(),
        };
        own || self.prepare.iter().any(Self::uses_a_disk)
    }
}

/// The command that predicts what a generator will use; `None` if it cannot predict.
fn predict(invocation: &Invocation) -> Option<Vec<String>> {
    let kind_of_tool = kind(&invocation.tool)?;
    if kind_of_tool.program != Program::Load {
        return None;
    }
    // The location of its files is not known yet, and does not affect their size.
    let placeholders = Placeholders { directory: Some(".".to_owned()), ..Placeholders::default() };
    let words = invocation.words.iter().map(|word| placeholders.fill(word));
    let program = std::iter::once(invocation.program.clone());
    Some(program.chain(words).chain(["--predict".to_owned()]).collect())
}

/// Where a workload's data goes, as far as known before the disk is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoragePlan {
    /// Which part of the disk.
    pub part: Part,
    /// Start of the workload's piece in that part; 0 in a directory.
    pub offset: Bytes,
    /// Length of the workload's piece.
    pub size: Bytes,
}

/// A part of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole device.
    Device,
    /// This partition of it, from 0, without a file system.
    Partition(usize),
    /// The file system on this partition, or on the whole device (0).
    Mount(usize),
    /// The directory used in place of a disk.
    Directory,
}

/// A trial without settings and workloads.
#[cfg(test)]
pub(crate) fn empty_trial() -> Trial {
    Trial {
        factors: Bindings::new(),
        disks: Vec::new(),
        groups: Vec::new(),
        hierarchies: Vec::new(),
        absent: BTreeMap::new(),
        promises: Vec::new(),
        warm_up: WarmUpRecord::Auto,
        at_most: Duration::from_secs(1),
        ends: Ends::First,
        sampling: Sampling::default(),
        stop: StopRecord::AtMost,
        settings: Vec::new(),
        drop_caches: None,
        placements: Vec::new(),
    }
}
