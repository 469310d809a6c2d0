//! `backlogged` by each workload: whether it wanted the disk all the time, or lost nothing that its pauses may explain.

use std::cell::LazyCell;

use assay_run_folder::WorkloadResult;
use assay_terms::Measure;
use assay_verdict::wording::percent;

use super::backlogged::{ALL_THE_TIME, part_outstanding};
use super::blocked::Busiest;
use super::{Evidence, blocked, demand, in_front};
use crate::queue::{Queue, requests_outstanding};
use crate::repeat::Repeat;

/// What shows it, in the order in which it is asked.
const SHOWN_BY: [&str; 5] = [
    "kept {} or more of its requests outstanding",
    "had its submitters waiting for a place {} of the time or more, by the kernel's own events",
    "had its threads waiting for requests or places {} of the time or more, as they neither ran nor waited for a CPU",
    "got {} or more of what it was promised",
    "wanted the disk for most of the time and got {} or more of its promise, lacking less than half of what others lacked that wanted it all the time",
];

/// Of these.
const BLOCKED: usize = 2;
const GAINED: usize = 3;
const NEARER: usize = 4;

/// A group that wanted the disk for a smaller part of the time shows nothing.
const MOSTLY: f64 = 0.5;

/// A group with pauses may lack this part of what one without pauses lacks: then that one decides.
const OF_THE_MOST: f64 = 0.5;

/// What shows that every workload wanted the disk, or that its pauses do not matter; `None` if one may have lost by them.
pub(super) fn by_all(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    queue: &Queue,
    is_capped: bool,
) -> Option<String> {
    let samples = LazyCell::new(|| Busiest::new(repeat));
    let mut least = [f64::INFINITY; SHOWN_BY.len()];
    let mut note = |way: usize, part: f64| least[way] = least[way].min(part);
    let (mut most_lacked, mut with_pauses) = (0.0_f64, Vec::new());
    for result in &repeat.record.workloads {
        let group = result.group.as_str();
        match always(evidence, repeat, queue, result, || LazyCell::force(&samples)) {
            // Threads may sleep in io_submit(2) for other reasons where no cap binds.
            Ok((BLOCKED, _)) if !is_capped => return None,
            Ok((GAINED, part)) => note(GAINED, part),
            Ok((way, part)) => {
                note(way, part.min(1.0));
                most_lacked =
                    most_lacked.max(beyond_margin(evidence, repeat, group).unwrap_or(0.0));
            }
            Err(part) if part >= MOSTLY => with_pauses.push(group),
            Err(_) => return None,
        }
    }
    for group in with_pauses {
        let (got, _) = part_of_promise(evidence, repeat, group)?;
        if 1.0 - got > OF_THE_MOST * most_lacked {
            return None;
        }
        note(NEARER, got);
    }
    let ways = SHOWN_BY.iter().zip(least).filter(|(_, least)| least.is_finite());
    let ways: Vec<String> = ways.map(|(way, least)| way.replace("{}", &percent(least))).collect();
    Some(ways.join(", or "))
}

/// The first way that shows that a workload wanted the disk all the time, and for which part of it; or the largest part that
/// any shows.
fn always<'r: 's, 's>(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    queue: &Queue,
    result: &WorkloadResult,
    samples: impl Fn() -> &'s Busiest<'r>,
) -> Result<(usize, f64), f64> {
    let (trial, group) = (evidence.trial, result.group.as_str());
    let kept = || {
        let mut known = trial.groups.iter().flat_map(|group| &group.workloads);
        let workload = known.find(|workload| workload.name == result.workload)?;
        Some(part_outstanding(requests_outstanding(result)?, f64::from(workload.io.outstanding?)))
    };
    let in_front = || in_front::waiting(trial, repeat, &queue.device, group);
    let blocked = || blocked::at_least(trial, repeat, &samples, &queue.device, group);
    let ways: [&dyn Fn() -> Option<f64>; 3] = [&kept, &in_front, &blocked];
    let mut largest = 0.0_f64;
    for (way, part) in ways.iter().enumerate() {
        let part = part().unwrap_or(0.0);
        if part >= ALL_THE_TIME {
            return Ok((way, part));
        }
        largest = largest.max(part);
    }
    // One that got more than its promise lost nothing for lack of demand: whether others lost is shown by theirs.
    let gained =
        part_of_promise(evidence, repeat, group).filter(|(got, within)| *got > 1.0 + within);
    gained.map(|(got, _)| (GAINED, got)).ok_or(largest)
}

/// The least that a group got of what it was promised, and the margin.
fn part_of_promise(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    group: &str,
) -> Option<(f64, f64)> {
    demand::least_part(evidence, repeat, group, Measure::is_io)
}

/// What a group lacks of its promise, if that is more than the margin.
fn beyond_margin(evidence: &Evidence<'_>, repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let (got, within) = part_of_promise(evidence, repeat, group)?;
    (1.0 - got > within).then_some(1.0 - got)
}
