//! Builds a scenario from a planned trial, and records the assumptions made.

use assay_facts::{HostFacts, find_disk};
use assay_plan::{DiskPlan, GroupPlan, Trial, null_blk_speed};
use assay_run_folder::IoClass;
use assay_study::DiskSource;

use crate::calibration::{Cost, Costs, RequestKind};
use crate::scenario::{Device, Member, Scenario, Scheduler};

/// A planned trial as a scenario of the formulas.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTrial {
    /// The scenario, with the planned weights.
    pub scenario: Scenario,
    /// Names of the measured groups, in the order of the members.
    pub names: Vec<String>,
    /// What obeys the weights: `bfq`, `iocost`, or nothing.
    pub obeyed_by: Option<String>,
    /// Assumptions about what has not been measured.
    pub assumed: Vec<String>,
    /// Options of the study that the model ignores.
    pub left_out: Vec<String>,
}

/// Tags of a loop device (drivers/block/loop.c: LOOP_DEFAULT_HW_Q_DEPTH).
const LOOP_DEPTH: u32 = 128;

/// The default weight of a group (`BFQ_DEFAULT_GRP_WEIGHT` is 10 for iocost's 100; both files read 100).
const USUAL_WEIGHT: f64 = 100.0;

/// The kind of a disk, as used in calibrations.
pub(crate) fn disk_name(disk: &DiskPlan) -> String {
    match &disk.source {
        DiskSource::Loop => "loop".to_owned(),
        DiskSource::Block { device, .. } => format!("block:{device}"),
        DiskSource::Directory { path } => format!("directory:{path}"),
        DiskSource::NullBlk(_) => "null_blk".to_owned(),
    }
}

/// The scenario of a trial about its disk. The error is the reason why the model does not apply.
pub fn from_plan(trial: &Trial, facts: &HostFacts, costs: &Costs) -> Result<PlannedTrial, String> {
    let groups: Vec<&GroupPlan> =
        trial.groups.iter().filter(|group| !group.workloads.is_empty()).collect();
    if groups.iter().any(|group| group.name.contains('/')) {
        return Err("groups inside groups are not in the model".to_owned());
    }
    if groups.iter().any(|group| !group.measured) {
        return Err("a background load that is not measured is not in the model".to_owned());
    }
    let disk = one_disk(trial, &groups)?;
    let mut notes = Notes::default();
    let members: Result<Vec<Member>, String> =
        groups.iter().map(|group| member(group, costs, &mut notes)).collect();
    let queue = |name: &str| {
        let attribute = disk.queue.iter().find(|(own, _)| own == name);
        attribute.map(|(_, value)| value.as_str())
    };
    let scheduler = scheduler(disk, &queue)?;
    Ok(PlannedTrial {
        scenario: Scenario {
            members: members?,
            scheduler,
            pool: pool(disk, facts, &queue),
            device: device(disk)?,
            cpus: cpus(trial, facts, &groups)?,
        },
        names: groups.iter().map(|group| group.name.clone()).collect(),
        obeyed_by: groups.iter().flat_map(|group| &group.knobs).find_map(|knob| {
            (knob.record.knob == WEIGHT).then(|| knob.record.obeyed_by.clone()).flatten()
        }),
        assumed: notes.assumed,
        left_out: notes.left_out,
    })
}

const WEIGHT: &str = "io.weight";

#[derive(Default)]
struct Notes {
    assumed: Vec<String>,
    left_out: Vec<String>,
}

impl Notes {
    fn assume(&mut self, text: String) {
        if !self.assumed.contains(&text) {
            self.assumed.push(text);
        }
    }

    fn note_ignored(&mut self, text: String) {
        if !self.left_out.contains(&text) {
            self.left_out.push(text);
        }
    }
}

fn one_disk<'t>(trial: &'t Trial, groups: &[&GroupPlan]) -> Result<&'t DiskPlan, String> {
    let first = groups.first().ok_or("no group runs anything")?;
    if groups.iter().any(|group| group.disk != first.disk) {
        return Err("groups on different disks do not compete".to_owned());
    }
    first.disk.and_then(|index| trial.disks.get(index)).ok_or_else(|| "it uses no disk".to_owned())
}

/// Combines all workloads of a group. They must be alike: the formulas know one kind of request for each group.
fn member(group: &GroupPlan, costs: &Costs, notes: &mut Notes) -> Result<Member, String> {
    let mut depth = 0;
    let mut io: Option<&IoClass> = None;
    for workload in &group.workloads {
        let Some(job) = workload.job() else {
            return Err(format!(
                "`{}` is not fio, so its load on the disk is unknown",
                workload.name
            ));
        };
        for option in ["rate", "rate_iops", "thinktime", "fsync", "fdatasync"] {
            if job.option(option).is_some() {
                notes.note_ignored(format!("fio's `{option}`"));
            }
        }
        depth += workload.io.outstanding.ok_or("the number of outstanding requests is unknown")?;
        match io {
            Some(first) if *first != workload.io => notes.note_ignored(
                "different workloads in one group, all treated like the first".to_owned(),
            ),
            _ => io = Some(&workload.io),
        }
    }
    let io = io.ok_or("a group runs nothing")?;
    if !io.direct {
        return Err("requests through the page cache are not in the model".to_owned());
    }
    let bytes = io.block_size.ok_or("requests of several sizes are not in the model")?;
    let kind = kind(io, io.writes);
    Ok(Member {
        weight: weight(group)?,
        depth,
        bytes,
        sequential: kind.sequential,
        writes: kind.writes,
        cost: cost(io, costs, notes),
    })
}

const fn kind(io: &IoClass, writes: bool) -> RequestKind {
    RequestKind { writes, sequential: io.sequential }
}

fn cost(io: &IoClass, costs: &Costs, notes: &mut Notes) -> Option<Cost> {
    let mut cost_of = |writes: bool| {
        let kind = kind(io, writes);
        let cost = costs.get(kind.name()).copied();
        if cost.is_none() {
            notes.assume(format!("the cost of a request of `{}`", kind.name()));
        }
        cost
    };
    if io.reads && io.writes {
        let (reading, writing) = (cost_of(false), cost_of(true));
        Some(reading?.mean(writing?))
    } else {
        cost_of(io.writes)
    }
}

fn weight(group: &GroupPlan) -> Result<f64, String> {
    let Some(knob) = group.knobs.iter().find(|knob| knob.record.knob == WEIGHT) else {
        return Ok(USUAL_WEIGHT);
    };
    let text = knob.record.asked.trim().trim_start_matches("default").trim();
    text.parse().map_err(|_| format!("the weight `{text}` of `{}` is not a number", group.name))
}

fn scheduler<'q>(
    disk: &DiskPlan,
    queue: &impl Fn(&str) -> Option<&'q str>,
) -> Result<Scheduler, String> {
    let Some("bfq") = disk.scheduler.as_deref() else { return Ok(Scheduler::Fifo) };
    let number = |name: &str| queue(name).and_then(|text| text.trim().parse::<f64>().ok());
    if number("iosched/low_latency") != Some(0.0) {
        return Err(
            "`iosched/low_latency` is not 0, and what it favours is not in the model".to_owned()
        );
    }
    let has_budget = number("iosched/max_budget").is_some_and(|budget| budget > 0.0);
    Ok(Scheduler::Bfq { has_budget })
}

/// `nr_requests`: twice the device's depth, with at most 128 of it counted, unless set by the study
/// (`blk_mq_default_nr_requests`, block/blk-mq-sched.c).
fn pool<'q>(disk: &DiskPlan, facts: &HostFacts, queue: &impl Fn(&str) -> Option<&'q str>) -> u32 {
    if let Some(requested) = queue("nr_requests").and_then(|text| text.trim().parse().ok()) {
        return requested;
    }
    let named = match &disk.source {
        DiskSource::Block { device, .. } => {
            find_disk(&facts.disks, device).and_then(|(disk, _)| disk.nr_requests)
        }
        _ => None,
    };
    let depth = null_blk_speed(disk).depth.unwrap_or(LOOP_DEPTH);
    named.unwrap_or(2 * depth.min(128))
}

fn device(disk: &DiskPlan) -> Result<Device, String> {
    match &disk.source {
        DiskSource::Loop => Ok(Device::Loop),
        DiskSource::NullBlk(_) => {
            let speed = null_blk_speed(disk);
            Ok(Device::NullBlk { depth: speed.depth.unwrap_or(64), iops: speed.iops })
        }
        DiskSource::Block { .. } => Ok(Device::Block),
        DiskSource::Directory { .. } => {
            Err("a directory is on a disk that the study does not control".to_owned())
        }
    }
}

/// CPUs that all groups may use.
fn cpus(trial: &Trial, facts: &HostFacts, groups: &[&GroupPlan]) -> Result<f64, String> {
    let set = |group: &&GroupPlan| {
        let knob = group.knobs.iter().find(|knob| knob.record.knob == "cpuset.cpus")?;
        Some(knob.record.asked.clone())
    };
    if groups.iter().any(|group| set(group).is_some()) || !trial.placements.is_empty() {
        return Err("groups that are bound to CPUs are not in the model".to_owned());
    }
    Ok(facts.cpus.allowed.len().max(1) as f64)
}

/// The disk shared by a plan's groups, as named in calibrations, and its scheduler.
#[must_use]
pub fn disk_of(plan: &assay_plan::Plan) -> Option<(String, Option<String>)> {
    let disk = plan.trials.first()?.disks.first()?;
    match disk.source {
        DiskSource::Directory { .. } => None,
        _ => Some((disk_name(disk), disk.scheduler.clone())),
    }
}
