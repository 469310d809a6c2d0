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
    Templated, WarmUp, combinations, parse_bound,
};
use assay_units::Bytes;
use assay_workload::Invocation;
use assay_workload::fio::Job;

use crate::comparison::{comparisons, references};
use crate::disk::plan_disks;
use crate::footprint::Predictions;
use crate::group::plan_groups;
use crate::order::{RepeatId, order};
use crate::placement::{PlacementPlan, plan_placements};
use crate::privileges::refuse_missing_privileges;
use crate::program::refuse_missing_tools;
use crate::refusal::Refusal;
use crate::setting::{SettingPlan, plan_drop, plan_settings};

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
    pub placements: Vec<PlacementPlan>,
    /// Scratch disks, in the order of their names.
    pub disks: Vec<DiskPlan>,
    /// Groups, outer ones before those inside them.
    pub groups: Vec<GroupPlan>,
    /// The hierarchies in which groups are made.
    pub homes: Vec<Home>,
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
    /// Its knobs.
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
    pub place: Option<StoragePlan>,
    /// Preparations that run to completion before the common start, in this order, in the same
    /// group and place.
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
            ToolPlan::Fio(_) => assay_workload::FIO,
            ToolPlan::Invocation(invocation) => &invocation.tool,
        }
    }

    /// Whether it needs a piece of its group's disk.
    pub(crate) fn uses_a_disk(&self) -> bool {
        let own = match &self.tool {
            ToolPlan::Fio(_) => true,
            ToolPlan::Invocation(invocation) => {
                invocation.uses_placeholder("directory") || invocation.uses_placeholder("device")
            }
        };
        own || self.prepare.iter().any(Self::uses_a_disk)
    }
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

/// Plans a study for a host, without limits relative to a footprint.
#[must_use]
pub fn plan(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    plan_with(study, facts, &Predictions::default(), seed)
}

/// Plans a study for a host, with the predicted footprints of its workloads.
#[must_use]
pub fn plan_with(study: &Study, facts: &HostFacts, predictions: &Predictions, seed: u64) -> Plan {
    let mut refusals = Vec::new();
    let trials: Vec<Trial> = combinations(study)
        .into_iter()
        .map(|factors| {
            let trial_study = study.for_trial(&factors);
            let mut trial = plan_trial(&trial_study, facts, factors, predictions, &mut refusals);
            if study.has_varying_workloads() {
                trial
                    .promises
                    .retain(|promise| is_applicable(promise, &trial_study, &trial.placements));
            }
            trial
        })
        .collect();
    let slots = order(trials.len(), study.design.repeats, study.design.order, seed);
    // The same refusal in every trial is reported once.
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

/// Whether a promise applies to this trial if trials run different workloads: the workload of a
/// metric must run, and `placed` needs a placement.
fn is_applicable(promise: &PromiseRecord, study: &Study, placements: &[PlacementPlan]) -> bool {
    if promise.is == RelationRecord::Placed {
        return placements.iter().any(|plan| match promise.measure.as_str() {
            "threads" => plan.cpus.is_some(),
            _ => plan.cpus.is_some() || plan.memory.is_some(),
        });
    }
    match promise.measure.split_once('.') {
        Some((workload, _)) if study.workloads.contains_key(workload) => study.runs(workload),
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
    refuse_missing_privileges(facts, &disks, &groups, &absent, refusals);
    refuse_missing_tools(study, facts, &disks, &groups, refusals);
    if homes.is_empty() {
        refusals.push(no_hierarchy(&absent));
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
        placements: plan_placements(study, facts, &factors, refusals),
        ends: study.design.ends,
        sampling: study.sampling.clone(),
        factors,
        disks,
        groups,
        homes,
        absent,
    }
}

/// Controllers needed by knobs, and those whose counters are sampled in every run.
fn controllers<'g>(study: &Study, groups: &'g [GroupPlan], facts: &HostFacts) -> Vec<&'g str> {
    // CPU time is counted by cpuacct on v1 and by cpu on v2.
    let mut controllers = vec!["io", if facts.cgroup.is_on_v2("cpu") { "cpu" } else { "cpuacct" }];
    for knob in groups.iter().flat_map(|group| &group.knobs) {
        let controller = knob.translation.controller.as_str();
        if !controllers.contains(&controller) {
            controllers.push(controller);
        }
    }
    let is_memory_promise = |promise: &Promise| promise.measure.starts_with("memory.");
    let by_node = study.sampling.sources.iter().any(|source| source == "group_nodes");
    if (by_node || study.promises.iter().any(is_memory_promise)) && !controllers.contains(&"memory")
    {
        controllers.push("memory");
    }
    controllers
}

/// A promise about single trials; `None` for a cross-trial promise (see [`comparisons`]) and for
/// one that does not apply to this trial.
fn plan_promise(promise: &Promise, factors: &Bindings) -> Option<PromiseRecord> {
    if !promise.applies_to(factors) {
        return None;
    }
    let bound = |value: &Templated<Scalar>| {
        // The checker has resolved every template and refused invalid bounds.
        let scalar = value.resolve(factors).ok();
        scalar.and_then(|scalar| parse_bound(&promise.measure, &scalar)).unwrap_or(f64::NAN)
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

fn no_hierarchy(absent: &BTreeMap<String, String>) -> Refusal {
    let mut reasons: Vec<String> =
        absent.iter().map(|(controller, why)| format!("{controller}: {why}")).collect();
    reasons.truncate(2);
    Refusal::new(
        format!("no group can be made in any control-group hierarchy ({})", reasons.join("; ")),
        "run it with sudo; if none is mounted, mount cgroup2 (`assay host` shows the layout)",
    )
}

/// A trial without settings and workloads.
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
