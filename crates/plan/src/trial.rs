//! The plan and its trials.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_facts::{Home, HostFacts};
use assay_knob::Translation;
use assay_record::{IoClass, KnobRecord, PromiseRecord, RelationRecord, StopRecord, WarmUpRecord};
use assay_study::{
    Bindings, Bound, DiskSource, Format, Promise, Relation, Scalar, Stop, Study, Templated, WarmUp,
    combinations, rate,
};
use assay_units::Bytes;
use assay_workload::fio::Job;

use crate::disk::plan_disks;
use crate::group::plan_groups;
use crate::order::{Slot, order};
use crate::place::{PlacementPlan, plan_places};
use crate::refusal::Refusal;
use crate::rights::refuse_without_rights;
use crate::setting::{SettingPlan, plan_drop, plan_settings};

/// What is to be done, in full.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One trial for each combination of factors, in the order of the study file.
    pub trials: Vec<Trial>,
    /// The order in which their repeats run.
    pub slots: Vec<Slot>,
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
    /// The fio job, all but the place of its data.
    pub job: Job,
    /// What kind of I/O it does.
    pub io: IoClass,
    /// Threads that want a CPU at the same time, where its options tell.
    pub threads: Option<u32>,
    /// What was taken over from the user's job file.
    pub taken_over: Vec<String>,
    /// Where its data goes; `None` when the study names no disk and the job knows best.
    pub place: Option<PlacePlan>,
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

/// Makes the plan of a study for a host.
#[must_use]
pub fn plan(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    let mut refusals = Vec::new();
    let trials: Vec<Trial> = combinations(study)
        .into_iter()
        .map(|factors| plan_trial(study, facts, factors, &mut refusals))
        .collect();
    let slots = order(trials.len(), study.design.repeats, study.design.order, seed);
    // The same need in every trial is one need.
    let mut unique: Vec<Refusal> = Vec::new();
    for refusal in refusals {
        if !unique.contains(&refusal) {
            unique.push(refusal);
        }
    }
    Plan { trials, slots, refusals: unique }
}

fn plan_trial(
    study: &Study,
    facts: &HostFacts,
    factors: Bindings,
    refusals: &mut Vec<Refusal>,
) -> Trial {
    let disks = plan_disks(study, facts, &factors, refusals);
    let groups = plan_groups(study, facts, &factors, &disks, refusals);
    let (homes, absent) = facts.cgroup.homes(controllers(study, &groups, facts));
    refuse_without_rights(facts, &disks, &groups, &absent, refusals);
    refuse_without_tools(facts, &disks, &groups, refusals);
    if homes.is_empty() {
        refusals.push(refuse_without_homes(&absent));
    }
    Trial {
        promises: study.promises.iter().map(|promise| plan_promise(promise, &factors)).collect(),
        warm_up: match study.design.warm_up {
            WarmUp::Auto => WarmUpRecord::Auto,
            WarmUp::Fixed(length) => WarmUpRecord::Seconds(length.as_secs_f64()),
        },
        at_most: study.design.at_most,
        stop: match study.design.stop {
            Stop::AtMost => StopRecord::AtMost,
            Stop::Decided => StopRecord::Decided,
        },
        settings: plan_settings(study, facts, &factors, refusals),
        drop_caches: plan_drop(study, facts, &factors, refusals),
        placements: plan_places(study, facts, &factors, refusals),
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
    if study.promises.iter().any(of_memory) && !wanted.contains(&"memory") {
        wanted.push("memory");
    }
    wanted
}

fn plan_promise(promise: &Promise, factors: &Bindings) -> PromiseRecord {
    let bound = |value: &Templated<Scalar>| {
        // The checker has resolved every template and refused a bound that is no rate.
        let scalar = value.resolve(factors).ok();
        scalar.and_then(|scalar| rate(&promise.measure, &scalar)).unwrap_or(f64::NAN)
    };
    PromiseRecord {
        measure: promise.measure.clone(),
        is: match &promise.is {
            Relation::Proportional { to } => RelationRecord::Proportional(to.clone()),
            Relation::Equal => RelationRecord::Equal,
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
    }
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

fn refuse_without_tools(
    facts: &HostFacts,
    disks: &[DiskPlan],
    groups: &[GroupPlan],
    refusals: &mut Vec<Refusal>,
) {
    let mut needed = Vec::new();
    if groups.iter().any(|group| !group.workloads.is_empty()) {
        needed.push("fio");
    }
    for disk in disks {
        match disk.format {
            Format::None => {}
            Format::Ext4 => needed.push("mkfs.ext4"),
            Format::Xfs => needed.push("mkfs.xfs"),
        }
    }
    for name in needed {
        let Some(tool) = facts.tools.get(name) else { continue };
        if let assay_facts::Available::NotAvailable(why) = &tool.found {
            refusals.push(Refusal::new(
                format!("`{name}` is needed: {why}"),
                format!("apt-get install {}", tool.package),
            ));
        }
    }
}
