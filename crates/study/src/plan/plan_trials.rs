//! Plans every trial of a study for a host: its groups with their members, knobs and workloads.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{
    After, Bindings, DiskSize, Group, Promise, Stop, Study, Templated, WarmUp, combinations,
    footprint_part,
};
use assay_host::facts::{HostFacts, find_disk};
use assay_host::knob::{DiskQueue, Translation, Untranslatable, translate};
use assay_record::run_folder::{KnobRecord, PromiseRecord, StopRecord, WarmUpRecord};
use assay_sys::units::Bytes;

use crate::plan::comparison::{comparisons, references};
use crate::plan::disk::{assign_storage, plan_disks};
use crate::plan::existing::{ExistingGroup, FoundKnob, refuse_unrelated};
use crate::plan::footprint::{self, Predictions};
use crate::plan::members::members;
use crate::plan::memory;
use crate::plan::null_blk::null_blk_speed;
use crate::plan::order::order;
use crate::plan::placement::plan_placements;
use crate::plan::privileges::refuse_missing_privileges;
use crate::plan::program::refuse_missing_tools;
use crate::plan::promise::{is_applicable, plan_promise};
use crate::plan::refusal::Refusal;
use crate::plan::room;
use crate::plan::setting::{plan_drop, plan_settings};
use crate::plan::trial::{AfterPlan, DiskPlan, GroupPlan, KnobPlan, Plan, Trial, WorkloadPlan};
use crate::plan::workload::{WorkloadPlanner, WorkloadTemplate};

/// Plans a study for a host, without limits relative to a footprint.
#[must_use]
pub fn plan(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    plan_with(study, facts, &Predictions::default(), seed)
}

/// Plans a study for a host, with the predicted footprints of its workloads.
#[must_use]
pub fn plan_with(study: &Study, facts: &HostFacts, predictions: &Predictions, seed: u64) -> Plan {
    let mut refusals = Vec::new();
    let mut of_sizes = Vec::new();
    let study = &with_sizes(study, facts, predictions, &mut of_sizes);
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
    refusals.extend(of_sizes);
    refusals.extend(trials.iter().find_map(|trial| memory::too_little(trial, facts, predictions)));
    let memory = trials.iter().map(|trial| memory::needed(trial, predictions)).max();
    let memory = Bytes::new(memory.unwrap_or(0));
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
        memory,
        refusals: unique,
    }
}

/// The study with the sizes of disks that follow from the files of their workloads: that of the trial
/// that needs most, so that all trials have the same disk.
fn with_sizes<'s>(
    study: &'s Study,
    facts: &HostFacts,
    predictions: &Predictions,
    refusals: &mut Vec<Refusal>,
) -> Cow<'s, Study> {
    let is_auto = |size: &Option<Templated<DiskSize>>| match size {
        Some(Templated::Value(size)) => *size == DiskSize::Auto,
        Some(Templated::Template(_)) | None => false,
    };
    if !study.disks.values().any(|disk| is_auto(&disk.size)) {
        return Cow::Borrowed(study);
    }
    let trials: Vec<Trial> = combinations(study)
        .into_iter()
        .map(|factors| {
            let of_trial = study.for_trial(&factors);
            plan_trial(&of_trial, facts, factors, predictions, &mut Vec::new())
        })
        .collect();
    let mut sized = study.clone();
    for (name, disk) in sized.disks.iter_mut().filter(|(_, disk)| is_auto(&disk.size)) {
        let sizes = trials.iter().map(|trial| room::size_in(trial, name, predictions));
        let size = sizes.collect::<Result<Vec<u64>, Refusal>>().map(|all| all.into_iter().max());
        match size {
            Ok(size) => {
                let size = Bytes::new(size.unwrap_or(0).max(room::LEAST));
                disk.size = Some(Templated::Value(DiskSize::Fixed(size)));
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    Cow::Owned(sized)
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
    let (hierarchies, absent) = facts.cgroup.hierarchies_with(controllers(study, &groups, facts));
    refuse_missing_privileges(facts, &disks, &groups, &absent, refusals);
    refuse_missing_tools(study, facts, &disks, &groups, refusals);
    if hierarchies.is_empty() {
        refusals.push(no_hierarchy(&absent));
    }
    let promises: Vec<PromiseRecord> =
        study.promises.iter().filter_map(|promise| plan_promise(promise, &factors)).collect();
    refuse_unrelated(&promises, &groups, refusals);
    Trial {
        promises,
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
        placements: plan_placements(study, facts, &factors, refusals),
        ends: study.design.ends,
        sampling: study.sampling.clone(),
        factors,
        disks,
        groups,
        hierarchies,
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
    // On v1 programs tell groups apart by the scheduler's own, which exist only with `cpu`.
    if study.sampling.evidence && !controllers.contains(&"cpu") {
        controllers.push("cpu");
    }
    // A group that exists may use only some CPUs.
    if groups.iter().any(|group| group.existing.is_some()) && !controllers.contains(&"cpuset") {
        controllers.push("cpuset");
    }
    let is_memory_promise = |promise: &Promise| promise.measure.starts_with("memory.");
    let by_source = study.sampling.sources.iter().any(|source| source == "memory_stat");
    if (by_source || study.promises.iter().any(is_memory_promise))
        && !controllers.contains(&"memory")
    {
        controllers.push("memory");
    }
    controllers
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

fn plan_groups(
    study: &Study,
    facts: &HostFacts,
    factors: &Bindings,
    disks: &[DiskPlan],
    predictions: &Predictions,
    refusals: &mut Vec<Refusal>,
) -> Vec<GroupPlan> {
    let workload_planner = WorkloadPlanner { study, facts, factors };
    let mut templates = BTreeMap::new();
    for name in study.workloads.keys() {
        for prepares in [false, true] {
            match workload_planner.template(name, prepares) {
                Ok(template) => {
                    templates.insert((name.as_str(), prepares), template);
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
    }
    let mut planner = Planner {
        workloads: workload_planner,
        predictions,
        disks,
        templates,
        refusals,
        groups: Vec::new(),
    };
    planner.add(&study.groups, None);
    let mut groups = planner.groups;
    assign_storage(&mut groups, disks, predictions, refusals);
    groups
}

struct Planner<'p> {
    workloads: WorkloadPlanner<'p>,
    predictions: &'p Predictions,
    disks: &'p [DiskPlan],
    /// By name, and whether it is for a preparation.
    templates: BTreeMap<(&'p str, bool), WorkloadTemplate>,
    refusals: &'p mut Vec<Refusal>,
    groups: Vec<GroupPlan>,
}

impl Planner<'_> {
    fn add(&mut self, groups: &[Group], outer: Option<&str>) {
        for group in groups {
            let members = members(group, self.workloads.factors, outer);
            for (index, (own, name)) in members.into_iter().enumerate() {
                let planned = self.member(group, &name, &own, index);
                self.groups.push(planned);
                self.add(&group.groups, Some(&name));
            }
        }
    }

    fn member(&mut self, group: &Group, name: &str, own: &str, index: usize) -> GroupPlan {
        let disk = self.disk_of(group);
        let existing = group.existing.is_some().then(|| self.existing(name));
        GroupPlan {
            name: name.to_owned(),
            measured: group.measured,
            outside: group.outside.resolve(self.workloads.factors).unwrap_or(false),
            is_inner: !group.groups.is_empty(),
            existing: existing.as_ref().map(|found| found.path.clone()),
            knobs: match existing {
                Some(found) => found.knobs.iter().map(FoundKnob::planned).collect(),
                None => self.knobs(group, index, disk),
            },
            workloads: self.workloads(group, name, own, index),
            disk,
        }
    }

    /// What is known of a group that exists; nothing of one that is refused.
    fn existing(&mut self, name: &str) -> ExistingGroup {
        let unknown = || Err("only a group at the top of a study can exist already".to_owned());
        let found = self.predictions.existing.get(name).cloned().unwrap_or_else(unknown);
        found.unwrap_or_else(|why| {
            let remedy = "`assay top` shows the groups of this host";
            self.refusals.push(Refusal::new(format!("group `{name}`: {why}"), remedy));
            ExistingGroup::default()
        })
    }

    /// The disk that a group names, or the only one.
    fn disk_of(&self, group: &Group) -> Option<usize> {
        match &group.disk {
            Some(name) => self.disks.iter().position(|disk| disk.name == *name),
            None => (self.disks.len() == 1).then_some(0),
        }
    }

    fn knobs(&mut self, group: &Group, index: usize, disk: Option<usize>) -> Vec<KnobPlan> {
        let queue = disk.map(|disk| self.queue(disk));
        let mut planned = Vec::new();
        for (knob, values) in &group.knobs {
            let value = values[index % values.len()].resolve(self.workloads.factors);
            let requested = value.map(|value| value.to_string()).unwrap_or_default();
            let (value, footprint) = match self.in_bytes(group, &requested) {
                Ok(in_bytes) => in_bytes,
                Err(why) => {
                    self.refusals.push(Refusal::new(
                        format!("`{knob} = {requested}` of group `{}`: {why}", group.name),
                        "write the limit in bytes, such as \"256 MiB\"",
                    ));
                    continue;
                }
            };
            match self.translated(knob, &value, queue.as_ref()) {
                Ok(_) if memory::lacks_swap(knob, &value, self.workloads.facts) => {
                    self.refusals.push(Refusal::new(
                        format!("`{knob} = {requested}` of group `{}`: this host has no swap", group.name),
                        "add swap (mkswap, swapon), or run it in a guest: `assay lab run --swap 512MiB`",
                    ));
                }
                Ok(translation) => planned.push(KnobPlan {
                    record: KnobRecord {
                        knob: knob.clone(),
                        asked: requested,
                        file: translation.file.clone(),
                        written: translation.written.clone(),
                        note: footprint.or_else(|| translation.note.clone()),
                        obeyed_by: translation.obeyed_by.clone(),
                        also: translation.also.iter().cloned().collect(),
                    },
                    translation,
                }),
                // The disk itself is refused, and with it everything that depends on its scheduler.
                Err(_) if queue.is_none() && knob.starts_with("io.") && self.lacks_a_disk() => (),
                Err(why) => self.refusals.push(Refusal::new(
                    format!("`{knob} = {requested}` of group `{}`: {}", group.name, why.reason),
                    why.remedy,
                )),
            }
        }
        // The sort is stable: knobs without dependencies keep the order of the study file.
        planned.sort_by_key(|knob| knob.translation.rank);
        planned
    }

    /// Whether this host refuses a disk of the study.
    fn lacks_a_disk(&self) -> bool {
        self.disks.len() < self.workloads.study.disks.len()
    }

    /// The value in bytes if it is a part of the group's footprint, with a note about its origin;
    /// otherwise the value itself.
    fn in_bytes(&self, group: &Group, value: &str) -> Result<(String, Option<String>), String> {
        let Some(part) = footprint_part(value) else { return Ok((value.to_owned(), None)) };
        let footprint = footprint::group_footprint(&self.workloads, group, self.predictions)?;
        let (bytes, note) = footprint::limit(part, footprint);
        Ok((bytes, Some(note)))
    }

    /// The knob as the file and value of this host and kernel.
    fn translated(
        &self,
        knob: &str,
        value: &str,
        queue: Option<&DiskQueue>,
    ) -> Result<Translation, Untranslatable> {
        let translation = translate(knob, value, &self.workloads.facts.cgroup, queue)?;
        if let Some(why) = translation.why_not_in(&self.workloads.facts.kernel) {
            return Err(why);
        }
        if !translation.device_rules.is_empty() {
            return Err(Untranslatable {
                reason: "cgroup v2 has no file for devices, and studies do not attach device \
                         programs"
                    .to_owned(),
                remedy: "remove the knob, or run on a host with `devices` on cgroup v1".to_owned(),
            });
        }
        Ok(translation)
    }

    /// The scheduler that will be active: that of the study, or the current one. A new loop or
    /// null_blk device has none.
    fn queue(&self, disk: usize) -> DiskQueue {
        let disk = &self.disks[disk];
        let current = match &disk.source {
            crate::DiskSource::Block { device, .. } => {
                find_disk(&self.workloads.facts.disks, device)
                    .and_then(|(known, _)| known.scheduler.as_ref())
                    .map(|scheduler| scheduler.active.clone())
            }
            _ => None,
        };
        let scheduler = disk.scheduler.clone().or(current).unwrap_or_else(|| "none".to_owned());
        DiskQueue { scheduler, iops: null_blk_speed(disk).iops }
    }

    fn workloads(&self, group: &Group, name: &str, own: &str, index: usize) -> Vec<WorkloadPlan> {
        let full = |workload: &str| format!("{}.{workload}", name.replace('/', "."));
        let plan = |workload: &str, prepares| {
            let template = self.templates.get(&(workload, prepares))?;
            let definition = self.workloads.study.workloads.get(workload)?;
            let creates = definition.creates.as_ref();
            Some(WorkloadPlan {
                creates: creates.and_then(|size| size.resolve(self.workloads.factors).ok()),
                ..template.plan(full(workload), own, index)
            })
        };
        let mut planned = Vec::new();
        for name in &group.run {
            let (Some(workload), Some(definition)) =
                (plan(name, false), self.workloads.study.workloads.get(name))
            else {
                continue;
            };
            planned.push(WorkloadPlan {
                prepare: definition.prepare.iter().filter_map(|name| plan(name, true)).collect(),
                after: definition.after.as_ref().map(|after| match after {
                    After::Workload(name) => AfterPlan::Workload(full(name)),
                    After::Time(length) => AfterPlan::Time(*length),
                }),
                user: definition.user.clone(),
                ..workload
            });
        }
        planned
    }
}
