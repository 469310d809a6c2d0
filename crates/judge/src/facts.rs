//! Facts: context for the numbers that decides nothing by itself.
//!
//! Whether a setting breaks shares shows in the shares, and whether a limit bound is part of the
//! measurement: neither can void a promise, so neither is a validity check.

mod limit;

use crate::verdict::Fact;
use crate::verdict::wording::{count, percent, some_of};

use crate::checks::{Evidence, Finding, Scope};
use crate::cpus::Shared;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use crate::{expected, throttle};

/// All facts of a trial that concern one of its promises.
pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if evidence.repeats.is_empty() {
        return facts;
    }
    if evidence.any_promise(Scope::IoShares) {
        facts.push(heuristics(evidence));
        facts.push(pool_and_demand(evidence));
    }
    if evidence.any_promise(Scope::CpuShares) {
        facts.extend(feasible(evidence));
    }
    if evidence.any_promise(Scope::CpuQuotas) {
        facts.push(throttled(evidence));
    }
    facts.extend(limit::fact(evidence));
    facts
}

/// Collects a fact from every repeat.
fn each_repeat(fact: &str, evidence: &Evidence<'_>, find: impl Fn(&Repeat<'_>) -> Finding) -> Fact {
    let check = crate::checks::each_repeat(fact, evidence, find);
    Fact { fact: check.check, evidence: check.evidence }
}

// `heuristics`: settings of the scheduler and the disk that may override weights.

/// Attributes with the value that leaves weights alone, and the effect of other values.
const KNOWN: [(&str, &str, &str); 5] = [
    ("iosched/low_latency", "0", "raises queues that look interactive"),
    ("iosched/slice_idle", "8", "0 gives up service guarantees"),
    ("iosched/strict_guarantees", "1", "0 allows injection of other requests"),
    (
        "rotational",
        "0",
        "counts large random requests as random too, whose slow turns are charged as time",
    ),
    ("wbt_lat_usec", "0", "throttles buffered writes"),
];

/// Lists the settings. Whether a value breaks shares shows in the shares, and the causes then name
/// it.
fn heuristics(evidence: &Evidence<'_>) -> Fact {
    each_repeat("heuristics", evidence, |repeat| settings(evidence, repeat))
}

fn settings(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut parts = Vec::new();
    for queue in Queue::all(evidence.trial, repeat).into_iter().flatten() {
        let Some(reading) = queue::reading(repeat, &queue.disk) else { continue };
        let known = KNOWN.iter().filter_map(|(name, calm, does)| {
            let value = reading.at_start.get(*name)?.trim();
            let does = if value == *calm { String::new() } else { format!(" ({does})") };
            Some(format!("{name} = {value}{does}"))
        });
        let each: Vec<String> = known.collect();
        if !each.is_empty() {
            parts.push(format!("{}: {}", queue.device, each.join(", ")));
        }
    }
    match parts.is_empty() {
        true => Finding::unverified("no queue attribute was recorded"),
        false => Finding::new(true, some_of(&parts, "; ")),
    }
}

// `pool`: size of the scheduler's request pool, compared with the groups' demand.

/// Lists pool and demand. Demand beyond the pool is served in order of arrival, which the causes
/// C-REQUEST-POOL and C-TAG-CAP look for in the shares.
fn pool_and_demand(evidence: &Evidence<'_>) -> Fact {
    each_repeat("pool", evidence, |repeat| pool(evidence, repeat))
}

fn pool(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut parts = Vec::new();
    for queue in Queue::all(evidence.trial, repeat).into_iter().flatten() {
        let Some(pool) = queue.nr_requests else { continue };
        let demand = match queue.outstanding {
            Some(demand) if demand > pool => format!("{demand} outstanding, more than it holds"),
            Some(demand) => format!("{demand} outstanding"),
            None => "how many are outstanding is unknown".to_owned(),
        };
        parts.push(format!("{}: {pool} requests, {demand}", queue.device));
        parts.extend(capped(evidence, repeat, &queue));
    }
    match parts.is_empty() {
        true => Finding::unverified("`nr_requests` was not recorded"),
        false => Finding::new(true, parts.join("; ")),
    }
}

/// Groups that BFQ caps below their demand.
fn capped(evidence: &Evidence<'_>, repeat: &Repeat<'_>, queue: &Queue) -> Option<String> {
    let each: Vec<String> = evidence
        .bfq_caps(queue, evidence.io_shares(repeat))
        .iter()
        .filter(|cap| cap.binds())
        .map(|cap| {
            format!(
                "`{}` may hold {} of {} outstanding",
                evidence.groups[cap.group], cap.cap, cap.demand
            )
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!("BFQ (since 5.17) caps a group at its weight's part: {}", some_of(&each, ", "))
    })
}

// `feasible`: weights that exceed what a group can use, and the shares promised instead.

/// Explains why a promise differs from the weight's share. `None` where every group can use what
/// its weight gives it.
fn feasible(evidence: &Evidence<'_>) -> Option<Fact> {
    let repeat = evidence.repeats.first()?;
    let shared = Shared::in_repeat(evidence.host, evidence.trial, repeat.record).ok()??;
    let mut promises = evidence.promises.iter();
    let (all, what) = promises.find_map(|(measure, relation)| {
        let shares = || expected::shares(relation, repeat.record, evidence.groups, Some(&shared));
        let all = (measure.is_cpu() && relation.kind().divides()).then(shares)?.ok()?;
        Some((all, relation.divided_by().map_or("equal shares ask", |_| "some weights ask")))
    })?;
    let sum: f64 = all.iter().filter_map(|expected| expected.knob).sum();
    let capped: Vec<String> = evidence
        .groups
        .iter()
        .zip(&all)
        .filter_map(|(group, expected)| {
            let weighed = expected.by_weight.filter(|weighed| *weighed > expected.share)?;
            let threads = *shared.threads.get(*group)? as usize;
            let simultaneous =
                expected.knob.map_or_else(String::new, |knob| format!("{knob} of {sum} "));
            Some(format!(
                "`{group}`: {simultaneous}would be {}, its {} can have at most {}: expected {}",
                percent(weighed),
                count(threads, "thread"),
                percent(shared.demand(group) / shared.count()),
                percent(expected.share)
            ))
        })
        .collect();
    if capped.is_empty() {
        return None;
    }
    let evidence = format!(
        "on {} {what} for more than is available, and the rest is divided among the others \
         by weight; {}",
        count(shared.set.len(), "CPU"),
        some_of(&capped, "; ")
    );
    Some(Fact { fact: "feasible".to_owned(), evidence })
}

// `throttled`: how often each group's quota bound, by the kernel's count.

/// Counts for a quota; the promise itself reports when it never bound.
fn throttled(evidence: &Evidence<'_>) -> Fact {
    each_repeat("throttled", evidence, |repeat| match repeat.table("throttle") {
        Err(why) => Finding::unverified(&why),
        Ok(table) => {
            let seen = |group: &&str| {
                let seen = throttle::counts(&table, repeat, group)?;
                Some(format!("the quota of `{group}` {seen}"))
            };
            let seen: Vec<String> = evidence.groups.iter().filter_map(seen).collect();
            match seen.is_empty() {
                true => Finding::unverified("no measured group has period counters"),
                false => Finding::new(true, some_of(&seen, "; ")),
            }
        }
    })
}
