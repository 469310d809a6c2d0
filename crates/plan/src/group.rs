//! Groups with their members, knobs and workloads.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use assay_knob::{DiskQueue, Translation, Untranslatable, translate};
use assay_run_folder::KnobRecord;
use assay_study::{After, Bindings, Group, Study, footprint_part};

use crate::disk::piece;
use crate::footprint::{self, Predictions};
use crate::null_blk::null_blk_speed;
use crate::refusal::Refusal;
use crate::trial::{AfterPlan, DiskPlan, GroupPlan, KnobPlan, Part, ToolPlan, WorkloadPlan};
use crate::workload::{WorkloadPlanner, WorkloadTemplate};

pub(crate) fn plan_groups(
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
    assign_storage(&mut groups, disks, refusals);
    groups
}

/// The members of a group: their own names, and their names below the group around them.
pub(crate) fn members(
    group: &Group,
    factors: &Bindings,
    outer: Option<&str>,
) -> Vec<(String, String)> {
    let count = group.count.resolve(factors).unwrap_or(1);
    (1..=count)
        .map(|index| {
            let number = if count > 1 { index.to_string() } else { String::new() };
            let own = format!("{}{number}", group.name);
            let name = outer.map_or_else(|| own.clone(), |outer| format!("{outer}/{own}"));
            (own, name)
        })
        .collect()
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
        GroupPlan {
            name: name.to_owned(),
            measured: group.measured,
            outside: group.outside.resolve(self.workloads.factors).unwrap_or(false),
            is_inner: !group.groups.is_empty(),
            knobs: self.knobs(group, index, disk),
            workloads: self.workloads(group, name, own, index),
            disk,
        }
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
            assay_study::DiskSource::Block { device, .. } => self
                .workloads
                .facts
                .disks
                .iter()
                .find(|known| Some(known.name.as_str()) == device.strip_prefix("/dev/"))
                .and_then(|known| known.scheduler.as_ref())
                .map(|scheduler| scheduler.active.clone()),
            _ => None,
        };
        let scheduler = disk.scheduler.clone().or(current).unwrap_or_else(|| "none".to_owned());
        DiskQueue { scheduler, iops: null_blk_speed(disk).iops }
    }

    fn workloads(&self, group: &Group, name: &str, own: &str, index: usize) -> Vec<WorkloadPlan> {
        let full = |workload: &str| format!("{}.{workload}", name.replace('/', "."));
        let plan = |workload: &str, prepares| {
            let template = self.templates.get(&(workload, prepares))?;
            Some(template.plan(full(workload), own, index))
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

/// Assigns every workload its piece of its disk.
fn assign_storage(groups: &mut [GroupPlan], disks: &[DiskPlan], refusals: &mut Vec<Refusal>) {
    for (index, disk) in disks.iter().enumerate() {
        let mut users: Vec<&mut WorkloadPlan> = groups
            .iter_mut()
            .filter(|group| group.disk == Some(index))
            .flat_map(|group| &mut group.workloads)
            .filter(|workload| workload.uses_a_disk())
            .collect();
        let count = users.len();
        for (nth, workload) in users.iter_mut().enumerate() {
            let storage = piece(disk, nth, count);
            if let ToolPlan::Fio(job) = &mut workload.tool {
                job.resolve_fraction(storage.size, count as u64);
            }
            if let Err(refusal) = fits(workload, disk, &storage) {
                refusals.push(refusal);
            }
            let named = workload
                .job()
                .and_then(|job| job.option("directory").or(job.option("filename")))
                .map(|target| format!("{target} -> a part of disk `{}`", disk.name));
            workload.taken_over.extend(named);
            for prepared in &mut workload.prepare {
                prepared.storage = Some(storage.clone());
            }
            workload.storage = Some(storage);
        }
    }
}

/// Checks that a job's size fits into its piece, and that its piece has at least one block.
fn fits(
    workload: &WorkloadPlan,
    disk: &DiskPlan,
    storage: &crate::trial::StoragePlan,
) -> Result<(), Refusal> {
    let size_option = workload.job().and_then(|job| job.option("size"));
    if workload.job().is_none() {
        // The size of another tool's data is unknown; a full disk makes it fail.
        return Ok(());
    }
    let needed = size_option.and_then(|text| assay_workload::fio::parse_size(text, storage.size));
    let needed = needed.unwrap_or(storage.size).get().max(workload.io.block_size.unwrap_or(512));
    if needed <= storage.size.get() {
        return Ok(());
    }
    let part = match storage.part {
        Part::Device => "a piece of the device",
        Part::Partition(_) => "its partition",
        Part::Mount(_) => "its share of the file system",
        Part::Directory => "its share of the directory",
    };
    Err(Refusal::new(
        format!(
            "workload `{}` needs {} on disk `{}`, but {part} has {}",
            workload.name,
            assay_units::Bytes::new(needed),
            disk.name,
            storage.size
        ),
        "give the disk a larger `size`, or the workload a smaller one",
    ))
}
