//! `demand`: every group asked for what it was promised.
//!
//! Weights give nobody what he does not ask for. A group that is short of its promise and did not
//! keep its requests outstanding, by latency times rate, was not denied anything: of such a group
//! this run shows nothing, and of the others only what they made of what it left.

use assay_run_folder::GroupRecord;

use super::backlogged::{ALL_THE_TIME, outstanding, part_outstanding};
use super::{Evidence, Finding, Scope, ValidityCheck, of_each_repeat};
use crate::bfq_request_cap::{self, Cap};
use crate::queue::{Queue, disk_of, is_measured};
use crate::repeat::Repeat;
use crate::sorted::Sorted;
use assay_verdict::Measure;
use assay_verdict::wording::{percent, some_of};

/// With this part of the pool wanted, a group with few requests outstanding may have waited for a
/// free one.
const POOL_WANTED: f64 = 0.9;

/// One request at a time: what the program does between two of them is part of its load.
const OF_ONE: f64 = 0.5;

/// A group this near to its promise, in margins, was not kept from it by its demand.
const NEAR: f64 = 0.5;

/// A group that ran or waited for a CPU for this part of the time never slept for long.
const AWAKE: f64 = 0.9;

const SUMMARY: &str =
    "a group did not ask for all that it was promised, so that others had what it left";

/// Asks it of the groups whose workloads say what they keep outstanding and for how long.
pub(super) fn gate(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = of_each_repeat("demand", evidence, |repeat| find(evidence, repeat));
    ValidityCheck { check, scope: Scope::IoShares, proves: Some(("C-DEMAND", SUMMARY)) }
}

/// The same of CPU time, where the kernel says how long tasks of a group waited for it. A task that
/// sleeps is in no queue, and nobody keeps its turns for it.
pub(super) fn of_cpu(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = of_each_repeat("demand", evidence, |repeat| match repeat.table("pressure") {
        Err(why) => Finding::spared(&why),
        Ok(table) => awake(evidence, repeat, &table),
    });
    ValidityCheck { check, scope: Scope::CpuShares, proves: Some(("C-DEMAND", SUMMARY)) }
}

fn awake(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Finding {
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
        (true, false) => Finding::spared("nothing says how long the groups waited for a CPU"),
    }
}

/// CPU seconds of a group a second, and the part of the time in which some task of it waited for a
/// CPU. Of several threads that is more than the part in which one of them was awake, and never less.
fn ran_or_waited(repeat: &Repeat<'_>, table: &Sorted<'_>, group: &str) -> Option<f64> {
    let (ran_ns, ran_in_s) = repeat.growth("cpu", group, &["usage_ns"]).ok()?;
    let (waited_us, waited_in_s) = repeat.grown(table, group, &["cpu_some_us"]).ok()?;
    Some(ran_ns * 1e-9 / ran_in_s + waited_us * 1e-6 / waited_in_s)
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let measured = evidence.trial.groups.iter().filter(|group| is_measured(group));
    let (mut idle, mut least) = (Vec::new(), f64::INFINITY);
    for group in measured {
        let Some(asked) = Asked::of(group, repeat) else { continue };
        least = least.min(asked.part());
        if asked.is_little()
            && is_short(evidence, repeat, &group.name, Measure::is_io)
            && has_room(evidence, repeat, group)
        {
            idle.push(format!(
                "`{}` kept {:.1} of {} requests outstanding, by latency times rate, and is short \
                 of its promise",
                group.name, asked.kept, asked.wanted
            ));
        }
    }
    match (idle.is_empty(), least.is_finite()) {
        (false, _) => Finding::new(false, some_of(&idle, "; ")),
        (true, true) => Finding::new(
            true,
            format!(
                "by latency times rate every group kept {} or more of its requests outstanding, or \
                 was not short of its promise (at least {} needed)",
                percent(least.min(1.0)),
                percent(ALL_THE_TIME)
            ),
        ),
        (true, false) => Finding::spared(
            "no workload reports latency and rate, or says what it keeps outstanding",
        ),
    }
}

/// Whether a group kept fewer requests outstanding in a repeat than it was to; `None` where its
/// workloads do not say.
pub(crate) fn asks_for_little(group: &GroupRecord, repeat: &Repeat<'_>) -> Option<bool> {
    Some(Asked::of(group, repeat)?.is_little())
}

/// What a group kept outstanding of what it was to keep.
struct Asked {
    kept: f64,
    wanted: f64,
}

impl Asked {
    fn of(group: &GroupRecord, repeat: &Repeat<'_>) -> Option<Self> {
        let (mut kept, mut wanted) = (0.0, 0.0);
        for workload in &group.workloads {
            let mut results = repeat.record.workloads.iter();
            let result = results
                .find(|result| result.workload == workload.name && result.group == group.name)?;
            kept += outstanding(result)?;
            wanted += f64::from(workload.io.outstanding?);
        }
        (wanted > 0.0).then_some(Self { kept, wanted })
    }

    fn part(&self) -> f64 {
        part_outstanding(self.kept, self.wanted)
    }

    fn is_little(&self) -> bool {
        self.part() < if self.wanted > 1.0 { ALL_THE_TIME } else { OF_ONE }
    }
}

/// Whether a group is short, in this repeat, of what some promise of such a measure gives it.
fn is_short(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    group: &str,
    is_meant: fn(Measure) -> bool,
) -> bool {
    let Some(index) = evidence.groups.iter().position(|name| *name == group) else { return false };
    let promises = evidence.trial.promises.iter();
    promises
        .filter_map(|promise| evidence.part_of_promise(repeat, promise, index, is_meant))
        .any(|(part, within)| part < 1.0 - NEAR * within)
}

/// Whether nothing but itself kept the group from more requests: the pool of its disk was not
/// wanted by more than it holds, and BFQ's cap is more than the group wants.
fn has_room(evidence: &Evidence<'_>, repeat: &Repeat<'_>, group: &GroupRecord) -> bool {
    let disk = disk_of(evidence.trial, group);
    let queues = Queue::all(evidence.trial, repeat).into_iter().flatten();
    let Some(queue) = queues.into_iter().find(|queue| Some(queue.disk.as_str()) == disk) else {
        return true;
    };
    let (Some(wanted), Some(pool)) = (queue.outstanding, queue.nr_requests) else { return true };
    if wanted >= POOL_WANTED * pool {
        return false;
    }
    // Under BFQ weights cap a group whatever is promised of it.
    let shares = || evidence.io_shares(repeat).or_else(|| evidence.divided_by(repeat, "io.weight"));
    let capped = queue.scheduler.as_deref() == Some("bfq")
        && shares().is_some_and(|shares| {
            let groups = evidence.groups.iter().copied().zip(shares);
            let mut caps = bfq_request_cap::of_groups(evidence.trial, groups, pool).into_iter();
            caps.any(|cap: Cap| evidence.groups[cap.group] == group.name && cap.binds())
        });
    !capped
}
