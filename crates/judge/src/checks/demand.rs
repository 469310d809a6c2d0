//! `demand`: every group had enough demand for its promise.
//!
//! A group cannot get more than it requests. A group that falls short of its promise and did not
//! keep its requests outstanding, by Little's law, was not denied anything: this run shows nothing
//! about that group, and about the others only how they divided the rest.

use assay_record::run_folder::GroupRecord;
use assay_record::run_folder::sorted::Sorted;
use assay_record::terms::Measure;

use super::wanted::{ALL_THE_TIME, part_outstanding};
use super::{Evidence, Finding, Rule, Scope};
use crate::queue::{Queue, disk_of, is_measured, requests_outstanding};
use crate::repeat::Repeat;
use crate::verdict::wording::{percent, some_of};

/// Above this demand relative to the pool, a group with few requests outstanding may have waited
/// for a free tag.
const POOL_WANTED: f64 = 0.9;

/// The limit for a single request outstanding: the program's own time between requests is part of
/// its load.
const OF_ONE: f64 = 0.5;

/// A group this near to its promise, in margins, was not limited by its demand.
const NEAR: f64 = 0.5;

/// A group that ran or waited for a CPU for this part of the time never slept for long.
const AWAKE: f64 = 0.9;

const SUMMARY: &str =
    "a group did not request all that it was promised, so that others got the rest";

/// Examines the groups whose workloads report requests outstanding and latencies.
pub(super) const OF_IO: Rule =
    Rule::each("demand", Scope::IoShares, find).proves("C-DEMAND", SUMMARY);

/// The same for CPU time, where the kernel reports how long tasks of a group waited for it. A
/// sleeping task is in no run queue, and its share is not reserved.
pub(super) const OF_CPU: Rule =
    Rule::each("demand", Scope::CpuShares, find_sleeping).proves("C-DEMAND", SUMMARY);

fn find_sleeping(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let table = &match repeat.table("pressure") {
        Ok(table) => table,
        Err(why) => return Finding::unverified(&why),
    };
    let (mut asleep, mut least) = (Vec::new(), f64::INFINITY);
    for group in evidence.groups {
        let Some(part) = ran_or_waited(repeat, table, group) else { continue };
        least = least.min(part);
        if part < AWAKE && is_short(evidence, repeat, group, Measure::is_cpu) {
            asleep.push(format!(
                "`{group}` ran or waited for a CPU {} of the time, and is short of its promise",
                percent(part)
            ));
        }
    }
    match (asleep.is_empty(), least.is_finite()) {
        (false, _) => Finding::new(false, some_of(&asleep, "; ")),
        (true, true) => Finding::new(
            true,
            format!(
                "every group ran or waited for a CPU {} of the time or more, or was not short of \
                 its promise (at least {} needed)",
                percent(least.min(1.0)),
                percent(AWAKE)
            ),
        ),
        (true, false) => {
            Finding::unverified("the time that the groups waited for a CPU was not recorded")
        }
    }
}

/// CPU seconds of a group per second, plus the part of the time in which some task of it waited for
/// a CPU. With several threads that is at least the part in which one of them was runnable.
fn ran_or_waited(repeat: &Repeat<'_>, table: &Sorted<'_>, group: &str) -> Option<f64> {
    let (ran_ns, ran_in_s) = repeat.growth("cpu", group, &["usage_ns"]).ok()?;
    let (waited_us, waited_in_s) = repeat.grown(table, group, &["cpu_some_us"]).ok()?;
    Some(ran_ns * 1e-9 / ran_in_s + waited_us * 1e-6 / waited_in_s)
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let measured = evidence.trial.groups.iter().filter(|group| is_measured(group));
    let (mut low, mut least) = (Vec::new(), f64::INFINITY);
    for group in measured {
        let Some(demand) = Demand::new(group, repeat) else { continue };
        least = least.min(demand.part());
        if demand.is_low()
            && is_short(evidence, repeat, &group.name, Measure::is_io)
            && has_room(evidence, repeat, group)
        {
            low.push(format!(
                "`{}` kept {:.1} of {} requests outstanding, by latency times rate, and is short \
                 of its promise",
                group.name, demand.kept, demand.configured
            ));
        }
    }
    match (low.is_empty(), least.is_finite()) {
        (false, _) => Finding::new(false, some_of(&low, "; ")),
        (true, true) => Finding::new(
            true,
            format!(
                "by latency times rate every group kept {} or more of its requests outstanding, or \
                 was not short of its promise (at least {} needed)",
                percent(least.min(1.0)),
                percent(ALL_THE_TIME)
            ),
        ),
        (true, false) => Finding::unverified(
            "no workload reports latency and rate, or how many requests it keeps outstanding",
        ),
    }
}

/// Whether a group kept fewer requests outstanding in a repeat than configured; `None` where its
/// workloads do not report it.
#[must_use]
pub fn has_low_demand(group: &GroupRecord, repeat: &Repeat<'_>) -> Option<bool> {
    Some(Demand::new(group, repeat)?.is_low())
}

/// The part of the configured requests that a group kept outstanding in a repeat, by latency times rate, before the kernel
/// merged any; `None` where its workloads do not report it.
#[must_use]
pub fn part_kept(group: &GroupRecord, repeat: &Repeat<'_>) -> Option<f64> {
    Some(Demand::new(group, repeat)?.part())
}

/// Requests that a group kept outstanding, and those configured.
struct Demand {
    kept: f64,
    configured: f64,
}

impl Demand {
    fn new(group: &GroupRecord, repeat: &Repeat<'_>) -> Option<Self> {
        let (mut kept, mut configured) = (0.0, 0.0);
        for workload in &group.workloads {
            kept += requests_outstanding(repeat.result(group, workload)?)?;
            configured += f64::from(workload.io.outstanding?);
        }
        (configured > 0.0).then_some(Self { kept, configured })
    }

    fn part(&self) -> f64 {
        part_outstanding(self.kept, self.configured)
    }

    fn is_low(&self) -> bool {
        self.part() < if self.configured > 1.0 { ALL_THE_TIME } else { OF_ONE }
    }
}

/// Whether a group fell short, in this repeat, of some promise for such a measure.
fn is_short(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    group: &str,
    selects: fn(Measure) -> bool,
) -> bool {
    let Some(index) = evidence.groups.iter().position(|name| *name == group) else { return false };
    let promises = evidence.trial.promises.iter();
    promises
        .filter_map(|promise| evidence.part_of_promise(repeat, promise, index, selects))
        .any(|(part, within)| part < 1.0 - NEAR * within)
}

/// Whether the group's own demand was the limit: neither the pool of its disk was nearly used up
/// nor did BFQ's cap bind.
fn has_room(evidence: &Evidence<'_>, repeat: &Repeat<'_>, group: &GroupRecord) -> bool {
    let disk = disk_of(evidence.trial, group);
    let queues = Queue::all(evidence.trial, repeat).into_iter().flatten();
    let Some(queue) = queues.into_iter().find(|queue| Some(queue.disk.as_str()) == disk) else {
        return true;
    };
    let (Some(configured), Some(pool)) = (queue.outstanding, queue.nr_requests) else {
        return true;
    };
    if configured >= POOL_WANTED * pool {
        return false;
    }
    // Under BFQ weights cap a group whatever its promise.
    let by_weight = || evidence.divided_by(repeat, "io.weight");
    let shares = evidence.io_shares(repeat).or_else(by_weight);
    let mut caps = evidence.bfq_caps(&queue, shares).into_iter();
    !caps.any(|cap| evidence.groups[cap.group] == group.name && cap.binds())
}
