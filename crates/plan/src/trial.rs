//! The plan and its trials.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_facts::{Home, HostFacts};
use assay_knob::Translation;
use assay_run_folder::{
    ComparisonRecord, EveryRecord, IoClass, KnobRecord, PromiseRecord, ReferenceRecord,
    RelationRecord, StopRecord, WarmUpRecord,
};
use assay_study::{
    Bindings, Bound, DiskSource, Ends, Format, Promise, Relation, Sampling, Scalar, Stop, Study,
    Templated, WarmUp, combinations, rate,
};
use assay_units::Bytes;
use assay_workload::Invocation;
use assay_workload::fio::Job;

use crate::comparison::{comparisons, references};
use crate::disk::plan_disks;
use crate::footprint::Predictions;
use crate::group::plan_groups;
use crate::order::{Slot, order};
use crate::place::{PlacementPlan, plan_places};
use crate::privileges::refuse_without_rights;
use crate::program::refuse_without_tools;
use crate::refusal::Refusal;
use crate::setting::{SettingPlan, plan_drop, plan_settings};

/// What is to be done, in full.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One trial for each combination of factors, in the order of the study file.
    pub trials: Vec<Trial>,
    /// The order in which their repeats run.
    pub slots: Vec<Slot>,
    /// What is promised of trials against each other.
    pub comparisons: Vec<ComparisonRecord>,
    /// Numbers of others to show beside ours.
    pub references: Vec<ReferenceRecord>,
    /// What this host cannot do. A plan with refusals is printed but never run.
    pub refusals: Vec<Refusal>,
}

/// One combination of factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The value of each factor.
    pub factors: Bindings,
    /// Settings of the host, in the order of the file.
    pub settings: Vec<SettingPlan>,
    /// What is written to /proc/sys/vm/drop_caches before each repeat, if anything.
    pub drop_caches: Option<u8>,
    /// Places of workloads.
    pub placements: Vec<PlacementPlan>,
    /// Scratch disks, in the order of their names.
    pub disks: Vec<DiskPlan>,
    /// Groups, outer ones before those inside them.
    pub groups: Vec<GroupPlan>,
    /// The hierarchies that groups are made in.
    pub homes: Vec<Home>,
    /// Controllers that would be sampled and that this host lacks, with the reason.
    pub absent: BTreeMap<String, String>,
    /// What is promised.
    pub promises: Vec<PromiseRecord>,
    /// What is cut at the beginning.
    pub warm_up: WarmUpRecord,
    /// How long one repeat runs.
    pub at_most: Duration,
    /// What ends it before that.
    pub ends: Ends,
    /// What is sampled besides what every run samples, and how often.
    pub sampling: Sampling,
    /// Whether it may end before, once everything is decided.
    pub stop: StopRecord,
}

/// A scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskPlan {
    /// The study's name for it.
    pub name: String,
    /// Where it comes from.
    pub source: DiskSource,
    /// Its size; for a directory, what workloads may use there.
    pub size: Bytes,
    /// What is made on it.
    pub format: Format,
    /// How many partitions; 0 means none.
    pub partitions: u32,
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
    /// Whether promises are judged over it.
    pub measured: bool,
    /// Whether its workloads run outside of the run's groups.
    pub outside: bool,
    /// Whether other groups are inside it.
    pub is_inner: bool,
    /// What is set on it.
    pub knobs: Vec<KnobPlan>,
    /// What runs in it.
    pub workloads: Vec<WorkloadPlan>,
    /// The disk its workloads use, an index into [`Trial::disks`].
    pub disk: Option<usize>,
}

/// A knob of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobPlan {
    /// As it goes into the record.
    pub record: KnobRecord,
    /// The file and value on this host.
    pub translation: Translation,
}

/// A workload of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadPlan {
    /// Unique within the trial.
    pub name: String,
    /// What is started, complete but for the place of its data.
    pub tool: ToolPlan,
    /// Whether it was told to outlast the window, so that nobody waits for its end.
    pub until_stopped: bool,
    /// What kind of I/O it does.
    pub io: IoClass,
    /// Threads that want a CPU at the same time, where its options tell.
    pub threads: Option<u32>,
    /// What was taken over from the user's job file.
    pub taken_over: Vec<String>,
    /// Where its data goes; `None` when it needs no disk, or the study names none and the job
    /// knows best.
    pub place: Option<PlacePlan>,
    /// What runs to its end before the common start, in turn, in the same group and place.
    pub prepare: Vec<WorkloadPlan>,
    /// When it starts, if not with all others.
    pub after: Option<AfterPlan>,
    /// Whose rights it and its preparations have; those of Assay itself without.
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

/// When a workload starts that does not start with all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterPlan {
    /// When the workload of this name in the trial has ended.
    Workload(String),
    /// So long after the common start.
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
            ToolPlan::Fio(_) => assay_workload::FIO,
            ToolPlan::Invocation(call) => &call.tool,
        }
    }

    /// Whether it wants a piece of its group's disk.
    pub(crate) fn uses_a_disk(&self) -> bool {
        let own = match &self.tool {
            ToolPlan::Fio(_) => true,
            ToolPlan::Invocation(call) => call.names("directory") || call.names("device"),
        };
        own || self.prepare.iter().any(Self::uses_a_disk)
    }
}

/// Where a workload's data goes, as far as it is known before the disk exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacePlan {
    /// Which part of the disk.
    pub part: Part,
    /// Where the workload's own piece of that part begins; 0 in a directory.
    pub offset: Bytes,
    /// How long its own piece is.
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
    /// The directory that stands for a disk.
    Directory,
}

/// Makes the plan of a study for a host, where no limit is a part of a footprint.
#[must_use]
pub fn plan(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    plan_with(study, facts, &Predictions::default(), seed)
}

/// Makes the plan of a study for a host, with what its workloads say that they will take.
#[must_use]
pub fn plan_with(study: &Study, facts: &HostFacts, predictions: &Predictions, seed: u64) -> Plan {
    let mut refusals = Vec::new();
    let trials: Vec<Trial> = combinations(study)
        .into_iter()
        .map(|factors| {
            let under = study.under(&factors);
            let mut trial = plan_trial(&under, facts, factors, predictions, &mut refusals);
            if study.varies_what_runs() {
                trial.promises.retain(|promise| has_a_meaning(promise, &under, &trial.placements));
            }
            trial
        })
        .collect();
    let slots = order(trials.len(), study.design.repeats, study.design.order, seed);
    // The same need in every trial is one need.
    let mut unique: Vec<Refusal> = Vec::new();
    for refusal in refusals {
        if !unique.contains(&refusal) {
            unique.push(refusal);
        }
    }
    Plan {
        trials,
        slots,
        comparisons: comparisons(study),
        references: references(study),
        refusals: unique,
    }
}

/// Whether a promise is about something that is there in this trial, where trials differ in what
/// runs: a metric of a workload that runs, a place of a workload that has one.
fn has_a_meaning(promise: &PromiseRecord, under: &Study, placements: &[PlacementPlan]) -> bool {
    if promise.is == RelationRecord::Placed {
        return placements.iter().any(|plan| match promise.measure.as_str() {
            "threads" => plan.cpus.is_some(),
            _ => plan.cpus.is_some() || plan.memory.is_some(),
        });
    }
    match promise.measure.split_once('.') {
        Some((workload, _)) if under.workloads.contains_key(workload) => under.runs(workload),
        _ => true,
    }
}

fn plan_trial(
    study: &Study,
    facts: &HostFacts,
    factors: Bindings,
    predictions: &Predictions,
    refusals: &mut Vec<Refusal>,
) -> Trial {
    let disks = plan_disks(study, facts, &factors, refusals);
    let groups = plan_groups(study, facts, &factors, &disks, predictions, refusals);
    let (homes, absent) = facts.cgroup.homes(controllers(study, &groups, facts));
    refuse_without_rights(facts, &disks, &groups, &absent, refusals);
    refuse_without_tools(study, facts, &disks, &groups, refusals);
    if homes.is_empty() {
        refusals.push(refuse_without_homes(&absent));
    }
    Trial {
        promises: study
            .promises
            .iter()
            .filter_map(|promise| plan_promise(promise, &factors))
            .collect(),
        warm_up: match study.design.warm_up {
            WarmUp::Auto => WarmUpRecord::Auto,
            WarmUp::Fixed(length) => WarmUpRecord::Seconds(length.as_secs_f64()),
        },
        at_most: study.design.at_most,
        stop: match study.design.stop {
            Stop::AtMost => StopRecord::AtMost,
            Stop::Precise => StopRecord::Precise,
        },
        settings: plan_settings(study, facts, &factors, refusals),
        drop_caches: plan_drop(study, facts, &factors, refusals),
        placements: plan_places(study, facts, &factors, refusals),
        ends: study.design.ends,
        sampling: study.sampling.clone(),
        factors,
        disks,
        groups,
        homes,
        absent,
    }
}

/// Controllers that knobs need, and those whose counters are sampled in every run.
fn controllers<'g>(study: &Study, groups: &'g [GroupPlan], facts: &HostFacts) -> Vec<&'g str> {
    // CPU time is counted by cpuacct on v1 and by cpu on v2.
    let mut wanted = vec!["io", if facts.cgroup.is_on_v2("cpu") { "cpu" } else { "cpuacct" }];
    for knob in groups.iter().flat_map(|group| &group.knobs) {
        let controller = knob.translation.controller.as_str();
        if !wanted.contains(&controller) {
            wanted.push(controller);
        }
    }
    let of_memory = |promise: &Promise| promise.measure.starts_with("memory.");
    let by_node = study.sampling.sources.iter().any(|source| source == "group_nodes");
    if (by_node || study.promises.iter().any(of_memory)) && !wanted.contains(&"memory") {
        wanted.push("memory");
    }
    wanted
}

/// A promise of one trial; `None` for one across trials, which [`comparisons`] has, and for one that
/// is about other trials.
fn plan_promise(promise: &Promise, factors: &Bindings) -> Option<PromiseRecord> {
    if !promise.is_about(factors) {
        return None;
    }
    let bound = |value: &Templated<Scalar>| {
        // The checker has resolved every template and refused a bound that is no rate.
        let scalar = value.resolve(factors).ok();
        scalar.and_then(|scalar| rate(&promise.measure, &scalar)).unwrap_or(f64::NAN)
    };
    Some(PromiseRecord {
        measure: promise.measure.clone(),
        is: match &promise.is {
            Relation::Ratio { .. } | Relation::EqualOver { .. } => return None,
            Relation::Proportional { to } => RelationRecord::Proportional(to.clone()),
            Relation::Equal => RelationRecord::Equal,
            Relation::Placed => RelationRecord::Placed,
            Relation::AtMost { bound: Bound::Value(value) } => RelationRecord::AtMost(bound(value)),
            Relation::AtLeast { bound: Bound::Value(value) } => {
                RelationRecord::AtLeast(bound(value))
            }
            Relation::AtMost { bound: Bound::Knob(knob) } => {
                RelationRecord::AtMostKnob(knob.clone())
            }
            Relation::AtLeast { bound: Bound::Knob(knob) } => {
                RelationRecord::AtLeastKnob(knob.clone())
            }
        },
        within: promise.within.fraction(),
        confidence: promise.confidence,
        every: promise.every.map(|every| EveryRecord {
            span_s: every.span.as_secs_f64(),
            part: every.part.fraction(),
        }),
    })
}

fn refuse_without_homes(absent: &BTreeMap<String, String>) -> Refusal {
    let mut reasons: Vec<String> =
        absent.iter().map(|(controller, why)| format!("{controller}: {why}")).collect();
    reasons.truncate(2);
    Refusal::new(
        format!("no group can be made in any control-group hierarchy ({})", reasons.join("; ")),
        "run it with sudo; where none is mounted, mount cgroup2 (`assay host` shows the layout)",
    )
}

/// A trial in which nothing is set and nothing runs.
#[cfg(test)]
pub(crate) fn empty_trial() -> Trial {
    Trial {
        factors: Bindings::new(),
        disks: Vec::new(),
        groups: Vec::new(),
        homes: Vec::new(),
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
