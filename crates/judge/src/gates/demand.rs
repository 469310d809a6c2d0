//! `demand`: every group asked for what it was promised.
//!
//! Weights give nobody what he does not ask for. A group that is short of its promise and did not
//! keep its requests outstanding, by latency times rate, was not denied anything: of such a group
//! this run shows nothing, and of the others only what they made of what it left.

use assay_record::GroupRecord;

use super::backlogged::{ALL_THE_TIME, outstanding, part_outstanding};
use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::caps::{self, Cap};
use crate::queue::{Queue, disk_of, is_measured};
use crate::repeat::Repeat;
use crate::wording::{percent, some_of};

/// With this part of the pool wanted, a group with few requests outstanding may have waited for a
/// free one.
const POOL_WANTED: f64 = 0.9;

/// One request at a time: what the program does between two of them is part of its load.
const OF_ONE: f64 = 0.5;

/// A group this near to its promise, in margins, was not kept from it by its demand.
const NEAR: f64 = 0.5;

/// Asks it of the groups whose workloads say what they keep outstanding and for how long.
pub(super) fn gate(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("demand", evidence, |repeat| find(evidence, repeat));
    let summary = "a group did not ask for all that it was promised, so that others had what it \
                   left";
    Gate { check, scope: Scope::IoShares, proves: Some(("C-DEMAND", summary)) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let measured = evidence.trial.groups.iter().filter(|group| is_measured(group));
    let (mut idle, mut least) = (Vec::new(), f64::INFINITY);
    for group in measured {
        let Some(asked) = Asked::of(group, repeat) else { continue };
        least = least.min(asked.part());
        if asked.is_little()
            && is_short(evidence, repeat, &group.name)
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

/// Whether a group is short, in this repeat, of what some promise of shares of the disk gives it.
fn is_short(evidence: &Evidence<'_>, repeat: &Repeat<'_>, group: &str) -> bool {
    let Some(index) = evidence.groups.iter().position(|name| *name == group) else { return false };
    let promises = evidence.trial.promises.iter();
    promises
        .filter_map(|promise| evidence.part_of_promise(repeat, promise, index))
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
    let capped = queue.scheduler.as_deref() == Some("bfq")
        && evidence.io_shares(repeat).is_some_and(|shares| {
            let groups = evidence.groups.iter().copied().zip(shares);
            let mut caps = caps::of_groups(evidence.trial, groups, pool).into_iter();
            caps.any(|cap: Cap| evidence.groups[cap.group] == group.name && cap.binds())
        });
    !capped
}
