//! Groups with their knobs and workloads, counted out and named.

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
    let kitchen = WorkloadPlanner { study, facts, factors };
    let mut recipes = BTreeMap::new();
    for name in study.workloads.keys() {
        for prepares in [false, true] {
            match kitchen.recipe(name, prepares) {
                Ok(recipe) => {
                    recipes.insert((name.as_str(), prepares), recipe);
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
    }
    let mut planner =
        Planner { kitchen, predictions, disks, recipes, refusals, groups: Vec::new() };
    planner.add(&study.groups, None);
    let mut groups = planner.groups;
    share_out(&mut groups, disks, refusals);
    groups
}

struct Planner<'p> {
    kitchen: WorkloadPlanner<'p>,
    predictions: &'p Predictions,
    disks: &'p [DiskPlan],
    /// By name, and whether it is for a preparation.
    recipes: BTreeMap<(&'p str, bool), WorkloadTemplate>,
    refusals: &'p mut Vec<Refusal>,
    groups: Vec<GroupPlan>,
}

impl Planner<'_> {
    fn add(&mut self, groups: &[Group], outer: Option<&str>) {
        for group in groups {
            let count = group.count.resolve(self.kitchen.factors).unwrap_or(1) as usize;
            for index in 0..count {
                let own = if count > 1 {
                    format!("{}{}", group.name, index + 1)
                } else {
                    group.name.clone()
                };
                let name = outer.map_or_else(|| own.clone(), |outer| format!("{outer}/{own}"));
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
            outside: group.outside.resolve(self.kitchen.factors).unwrap_or(false),
            is_inner: !group.groups.is_empty(),
            knobs: self.knobs(group, index, disk),
            workloads: self.workloads(group, name, own, index),
            disk,
        }
    }

    /// The disk a group names, or the only one there is.
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
            let value = values[index % values.len()].resolve(self.kitchen.factors);
            let asked = value.map(|value| value.to_string()).unwrap_or_default();
            let (value, footprint) = match self.in_bytes(group, &asked) {
                Ok(found) => found,
                Err(why) => {
                    self.refusals.push(Refusal::new(
                        format!("`{knob} = {asked}` of group `{}`: {why}", group.name),
                        "write the limit in bytes, such as \"256 MiB\"",
                    ));
                    continue;
                }
            };
            match self.translated(knob, &value, queue.as_ref()) {
                Ok(translation) => planned.push(KnobPlan {
                    record: KnobRecord {
                        knob: knob.clone(),
                        asked,
                        file: translation.file.clone(),
                        written: translation.written.clone(),
                        note: footprint.or_else(|| translation.note.clone()),
                        obeyed_by: translation.obeyed_by.clone(),
                        also: translation.also.iter().cloned().collect(),
                    },
                    translation,
                }),
                Err(why) => self.refusals.push(Refusal::new(
                    format!("`{knob} = {asked}` of group `{}`: {}", group.name, why.reason),
                    why.remedy,
                )),
            }
        }
        // Stable: where the order is free, it is that of the study file.
        planned.sort_by_key(|knob| knob.translation.rank);
        planned
    }

    /// The value as knobs take it: a part of the group's footprint becomes bytes, with a note of
    /// where they came from.
    fn in_bytes(&self, group: &Group, asked: &str) -> Result<(String, Option<String>), String> {
        let Some(part) = footprint_part(asked) else { return Ok((asked.to_owned(), None)) };
        let footprint = footprint::of_group(&self.kitchen, group, self.predictions)?;
        let (bytes, note) = footprint::limit(part, footprint);
        Ok((bytes, Some(note)))
    }

    /// The knob as this host and its kernel know it.
    fn translated(
        &self,
        knob: &str,
        asked: &str,
        queue: Option<&DiskQueue>,
    ) -> Result<Translation, Untranslatable> {
        let translation = translate(knob, asked, &self.kitchen.facts.cgroup, queue)?;
        if let Some(why) = translation.why_not_in(&self.kitchen.facts.kernel) {
            return Err(why);
        }
        if !translation.device_rules.is_empty() {
            return Err(Untranslatable {
                reason: "cgroup v2 has no file for devices, and runs of studies attach no device \
                         programs"
                    .to_owned(),
                remedy: "leave the knob out, or run where `devices` is on cgroup v1".to_owned(),
            });
        }
        Ok(translation)
    }

    /// The scheduler that will be active: the one the study sets, or the one found. A fresh loop
    /// or null_blk device has none.
    fn queue(&self, disk: usize) -> DiskQueue {
        let disk = &self.disks[disk];
        let found = match &disk.source {
            assay_study::DiskSource::Block { device, .. } => self
                .kitchen
                .facts
                .disks
                .iter()
                .find(|known| Some(known.name.as_str()) == device.strip_prefix("/dev/"))
                .and_then(|known| known.scheduler.as_ref())
                .map(|scheduler| scheduler.active.clone()),
            _ => None,
        };
        let scheduler = disk.scheduler.clone().or(found).unwrap_or_else(|| "none".to_owned());
        DiskQueue { scheduler, iops: null_blk_speed(disk).iops }
    }

    fn workloads(&self, group: &Group, name: &str, own: &str, index: usize) -> Vec<WorkloadPlan> {
        let full = |workload: &str| format!("{}.{workload}", name.replace('/', "."));
        let plan = |workload: &str, prepares| {
            let recipe = self.recipes.get(&(workload, prepares))?;
            Some(recipe.plan(full(workload), own, index))
        };
        let mut planned = Vec::new();
        for name in &group.run {
            let (Some(workload), Some(asked)) =
                (plan(name, false), self.kitchen.study.workloads.get(name))
            else {
                continue;
            };
            planned.push(WorkloadPlan {
                prepare: asked.prepare.iter().filter_map(|name| plan(name, true)).collect(),
                after: asked.after.as_ref().map(|after| match after {
                    After::Workload(name) => AfterPlan::Workload(full(name)),
                    After::Time(length) => AfterPlan::Time(*length),
                }),
                user: asked.user.clone(),
                ..workload
            });
        }
        planned
    }
}

/// Gives every workload its piece of its disk.
fn share_out(groups: &mut [GroupPlan], disks: &[DiskPlan], refusals: &mut Vec<Refusal>) {
    for (index, disk) in disks.iter().enumerate() {
        let mut users: Vec<&mut WorkloadPlan> = groups
            .iter_mut()
            .filter(|group| group.disk == Some(index))
            .flat_map(|group| &mut group.workloads)
            .filter(|workload| workload.uses_a_disk())
            .collect();
        let count = users.len();
        for (nth, workload) in users.iter_mut().enumerate() {
            let place = piece(disk, nth, count);
            if let ToolPlan::Fio(job) = &mut workload.tool {
                job.resolve_fraction(place.size, count as u64);
            }
            if let Err(refusal) = fits(workload, disk, &place) {
                refusals.push(refusal);
            }
            let named = workload
                .job()
                .and_then(|job| job.option("directory").or(job.option("filename")))
                .map(|found| format!("{found} -> a part of disk `{}`", disk.name));
            workload.taken_over.extend(named);
            for prepared in &mut workload.prepare {
                prepared.place = Some(place.clone());
            }
            workload.place = Some(place);
        }
    }
}

/// A job's own size must fit into its piece, and its piece must hold at least one block.
fn fits(
    workload: &WorkloadPlan,
    disk: &DiskPlan,
    place: &crate::trial::PlacePlan,
) -> Result<(), Refusal> {
    let asked = workload.job().and_then(|job| job.option("size"));
    if workload.job().is_none() {
        // What another tool puts there is its own business; a full disk is its failure.
        return Ok(());
    }
    let wanted = asked.and_then(|text| assay_workload::fio::size_of(text, place.size));
    let wanted = wanted.unwrap_or(place.size).get().max(workload.io.block_size.unwrap_or(512));
    if wanted <= place.size.get() {
        return Ok(());
    }
    let where_ = match place.part {
        Part::Device => "a piece of the device",
        Part::Partition(_) => "its partition",
        Part::Mount(_) => "its share of the file system",
        Part::Directory => "its share of the directory",
    };
    Err(Refusal::new(
        format!(
            "workload `{}` wants {} on disk `{}`, and {where_} has {}",
            workload.name,
            assay_units::Bytes::new(wanted),
            disk.name,
            place.size
        ),
        "give the disk a larger `size`, or the workload a smaller one",
    ))
}
