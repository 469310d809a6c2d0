//! C-REQUEST-POOL: the scheduler's pool of requests is exhausted, and the next free request goes to
//! the first in line, before weights apply.
//!
//! Known since 2012 (a051661ca6d1: once the shared pool is exhausted, proportional limits mean
//! nothing) and again since blk-mq (76f1df88bbc2, 5.17: a light group fills the pool, a heavy group
//! sleeps in tag allocation). Between the two, until 5.0, each group had a pool of its own. BFQ's remedy caps a group at its weight's part of the pool, which
//! rounds to nothing for light groups among many.

use assay_terms::Measure;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, FoundBy, PredictedEffect};
use assay_verdict::wording::percent;

use super::fit::{Fit, first_come_first_served};
use super::measured::GroupRequests;
use super::rules::{Case, Finding, Rule};
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::Queue;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-REQUEST-POOL",
    what: "The scheduler's pool of requests is exhausted, and the next free one goes to the first in line, before weights apply.",
    found_by: FoundBy::Suspicion,
    fingerprint: "Groups x iodepth at least 0.9 of `nr_requests`, the mean queue at least 0.8 of it; the heaviest groups lose first (1:2:2:2, then all equal).",
    confirm: "Four times the requests (`nr_requests`), or a quarter of the iodepth: the number of groups where shares break grows by four, so that the error at this number vanishes.",
    tests: &["requests", "iodepth", "room"],
    // Nothing for `strict`: with one request in the device the others merge in the scheduler, which takes
    // tags from the pool too.
    effects: &[PredictedEffect::unrelated(&["longer", "rotational", "low-latency", "one-cpu"])],
    remedy: "Raise `nr_requests` above groups x iodepth, or lower the iodepth.",
    source: "a051661ca6d1 (2012), 76f1df88bbc2 (5.17); breaks at N* = P / d groups",
};

const CODE: &str = ENTRY.code;

/// Minimum demand of the workloads relative to the pool.
const WANTED: f64 = 0.9;

/// Minimum mean filling of the pool.
const FULL: f64 = 0.8;

/// Compares demand, pool and the mean queue.
pub(super) fn suspect(subject: &Subject<'_>, queue: &Queue, numbers: &Estimates) -> Suspicion {
    let code = CODE;
    let Some(pool) = queue.nr_requests.filter(|pool| *pool > 0.0) else {
        return Suspicion::NotExamined(format!("{code}: `nr_requests` was not recorded"));
    };
    let Some(demand) = queue.outstanding else {
        return Suspicion::NotExamined(format!(
            "{code}: not all workloads report how many requests they keep outstanding"
        ));
    };
    let Some(filled) = queue.mean_queue.as_ref().ok().copied().or(queue.mean_in_flight()) else {
        return Suspicion::NotExamined(format!("{code}: the length of the queue was not recorded"));
    };
    if demand < WANTED * pool || filled < FULL * pool {
        return Suspicion::RuledOut(format!(
            "{code}: the workloads keep {demand} requests outstanding and {filled:.1} were in the queue, for a \
             pool of {pool}"
        ));
    }
    let mut evidence = vec![
        format!(
            "the workloads keep {demand} requests outstanding, the pool of {} holds {pool}",
            queue.device
        ),
        format!("{filled:.1} of them were in use on average, {}", percent(filled / pool)),
    ];
    let fit = Fit::new(numbers, &first_come_first_served(subject, numbers));
    let strength = fit.and_then(Fit::strength);
    evidence.extend(fingerprint(numbers, strength.is_some()));
    let Some(strength) = strength else {
        return Suspicion::RuledOut(format!("{code}: {}", evidence.join("; ")));
    };
    if queue.scheduler.as_deref() == Some("bfq") {
        evidence.extend(cap(pool, numbers));
    }
    let cause = Cause {
        code: code.to_owned(),
        summary: "suspected: the scheduler's pool of requests is exhausted, and requests are \
                  granted first come, first served, regardless of weight"
            .to_owned(),
        evidence,
        strength: None,
    };
    Suspicion::Fits(cause, strength)
}

/// What the lightest and the heaviest groups got relative to their promise. An exhausted pool takes
/// from the heavy and gives to the light.
fn fingerprint(numbers: &Estimates, fits: bool) -> Option<String> {
    let shares = || numbers.promised();
    let (least, most) = (shares().reduce(f64::min)?, shares().reduce(f64::max)?);
    if most <= least * 1.001 {
        return None;
    }
    let served = |demand: f64| {
        let groups = numbers.groups.iter();
        let class: Vec<f64> = groups
            .filter(|group| (group.expected_share / demand - 1.0).abs() < 1e-9)
            .map(|group| group.share / group.expected_share)
            .collect();
        class.iter().sum::<f64>() / class.len().max(1) as f64
    };
    let (light, heavy) = (served(least), served(most));
    let explains =
        if fits { "as this cause predicts" } else { "which this cause does not explain" };
    Some(format!(
        "the heaviest groups got {heavy:.2} times and the lightest {light:.2} times what was \
         promised, {explains}"
    ))
}

/// BFQ's cap as it follows from the promise: each group's part of the pool.
fn cap(pool: f64, numbers: &Estimates) -> Option<String> {
    let shares = || numbers.promised();
    let (least, most) = (shares().reduce(f64::min)?, shares().reduce(f64::max)?);
    Some(format!(
        "BFQ (since 5.17) caps a group at its weight's part of the pool: {:.1} requests for the \
         lightest group, {:.1} for the heaviest",
        pool * least,
        pool * most
    ))
}

pub(super) const RULE: Rule = Rule {
    code: CODE,
    summary: "the scheduler's pool of requests was exhausted, and requests are granted first come, first served, regardless of weight",
    proof: "In each group that lost, requests waited for a place in the full pool at least half of the time, and shares follow, in full or in part, the requests that the groups keep outstanding.",
    excluded: "All groups together waited for a place in the full pool during less than a twentieth of the time of their requests; on a disk with several hardware queues, whose pools fill one by one, also no group waited for a place for another reason.",
    concerns: Measure::is_io,
    examine,
};

/// Below this part of the time of all requests a wait for places moves no share by more than about that part.
const RARELY: f64 = 0.05;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok().filter(|_| case.schedules)?;
    let waited = |group: usize| disk.groups[group].pool_full / disk.seconds;
    let all: f64 = disk.groups.iter().map(GroupRequests::whole).sum();
    let of_all = disk.groups.iter().map(|group| group.pool_full).sum::<f64>() / all;
    let of_own =
        |group: &usize| disk.groups[*group].pool_full / disk.groups[*group].whole().max(1e-9);
    let nobody_waits =
        || disk.groups.iter().all(|group| group.waiting_in_front() < RARELY * disk.seconds);
    if of_all < RARELY
        && case.losers().iter().all(|group| of_own(group) < RARELY)
        && (!case.has_several_pools() || nobody_waits())
    {
        return Some(Finding::excluded(format!(
            "requests waited for a place in the full pool during {} of their time",
            percent(of_all)
        )));
    }
    let losers = case.losers();
    let blocked = !losers.is_empty() && losers.iter().all(|group| waited(*group) >= 0.5);
    let depths = case.depths.clone()?;
    let fit = Fit::from_shares(&case.seen, case.promised, &depths);
    let fits = fit.and_then(Fit::strength).is_some_and(|strength| strength > Strength::Weak);
    let evidence = format!(
        "requests waited for a place in the full pool during {} of their time; {}",
        percent(of_all),
        case.list(&losers, |group| format!("had {:.2} waiting for one on average", waited(group)))
    );
    let explained = if fits { fit.map_or(0.0, Fit::explained) } else { 0.5 };
    // Two groups lie on every line between the weights and the depths.
    let tests_the_law = case.seen.len() > 2;
    Some(Finding::new(explained, blocked && fits && tests_the_law, evidence))
}
