//! Why a promise was broken, or why it could not be judged.
//!
//! A failed gate proves its cause: the gate's condition is what makes the number mean anything.
//! Everything else is a suspicion, drawn from settings and counters that are known to break
//! shares, and is worded as one; proof is an intervention. What was looked at
//! without a find is listed when nothing is left.

use assay_record::{PromiseRecord, RelationRecord};

use crate::cpus::Shared;
pub(crate) use crate::judgement::Strength;
use crate::judgement::{Cause, Verdict};
use crate::measure::Measure;
use crate::promise::{Numbers, Subject};
use crate::queue::Queue;

mod ceiling;
mod cfq;
mod cpu_imbalance;
mod damon;
mod device_queue;
mod foreign_writes;
mod group_idle;
mod infeasible;
mod injection;
mod iocost;
mod memory;
mod never_bound;
mod quota_burst;
mod request_pool;
mod seeky;
mod settings;
pub(crate) mod short_run;
mod tag_cap;
mod translated;

/// What one suspicion came to.
pub(crate) enum Suspicion {
    /// It fits, and how well.
    Fits(Cause, Strength),
    /// It was looked at and does not fit: why.
    RuledOut(String),
    /// It was looked at and may still be: what speaks for and against it, and how to test it.
    Open(String),
    /// It could not be looked at: why.
    NotSeen(String),
}

/// Causes of a broken or void promise, proven ones first.
pub(crate) fn find(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: Option<&Numbers>,
    verdict: Verdict,
) -> Vec<Cause> {
    match (verdict, numbers) {
        (Verdict::Void, _) => {
            let gates = subject.gates.iter();
            let failed = gates.filter(|gate| gate.scope.concerns(measure, &promise.is));
            let mut causes: Vec<Cause> = failed.filter_map(crate::gates::Gate::cause).collect();
            causes.sort_by_key(|cause| consequence(&cause.code));
            // Every gate passed and there is a number: the limit was not reached.
            if let (true, Some(numbers)) = (causes.is_empty(), numbers) {
                causes.extend(never_bound::cause(subject, promise, measure, numbers));
            }
            causes
        }
        (Verdict::Broken, Some(numbers)) => suspected(subject, promise, measure, numbers),
        _ => Vec::new(),
    }
}

/// Gates that often fail because of what another gate shows stand behind it: the page cache keeps
/// the CPUs busy, busy CPUs let the queue of the disk run dry, and either moves shares.
fn consequence(code: &str) -> u8 {
    match code {
        // What the page cache keeps back, or root writes out, is missing in the groups' own bytes.
        "C-DISK-OTHERS" => 1,
        "C-CPU" => 2,
        "C-STEAL" => 3,
        "C-NOT-BACKLOGGED" => 4,
        "C-NO-STEADY-STATE" => 5,
        "C-LATE-START" => 6,
        _ => 0,
    }
}

/// Whether a cause that a gate proves is often what another one does: to the queue, or to how steady
/// shares are.
pub(crate) fn may_follow_from_others(code: &str) -> bool {
    matches!(code, "C-NOT-BACKLOGGED" | "C-NO-STEADY-STATE")
}

/// Causes of a broken promise on what workloads say of themselves: what the whole host went
/// through.
pub(crate) fn of_metric(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Cause> {
    ranked(Vec::new(), of_memory(subject, promise))
}

/// Memory that was taken, or had to be made free: by whom, and at whose cost.
fn of_memory(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Suspicion> {
    damon::suspect(subject, promise).into_iter().chain(memory::suspect(subject)).collect()
}

fn suspected(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
) -> Vec<Cause> {
    let looked_at: Vec<String> = subject
        .gates
        .iter()
        .filter(|gate| gate.scope.concerns(measure, &promise.is))
        .filter_map(|gate| {
            let (code, _) = gate.proves?;
            Some(format!("ruled out {code}: {}", gate.check.evidence))
        })
        .collect();
    ranked(looked_at, suspicions(subject, promise, measure, numbers))
}

/// Suspicions that fit, strongest first; where none does, what was looked at.
fn ranked(mut looked_at: Vec<String>, suspicions: Vec<Suspicion>) -> Vec<Cause> {
    let mut found: Vec<(Cause, Strength)> = Vec::new();
    for suspicion in suspicions {
        match suspicion {
            Suspicion::Fits(cause, strength) => found.push((cause, strength)),
            Suspicion::RuledOut(why) => looked_at.push(format!("ruled out {why}")),
            Suspicion::Open(why) => looked_at.push(format!("not ruled out {why}")),
            Suspicion::NotSeen(why) => looked_at.push(format!("not looked at {why}")),
        }
    }
    // Those of the same strength stay in the order in which they were looked at.
    found.sort_by_key(|(_, strength)| std::cmp::Reverse(*strength));
    let mut causes: Vec<Cause> = found.into_iter().map(|(cause, _)| cause).collect();
    if causes.is_empty() {
        causes.push(Cause {
            code: "C-UNKNOWN".to_owned(),
            summary: "none of the known causes fits what was recorded".to_owned(),
            evidence: looked_at,
            strength: None,
        });
    }
    causes
}

/// Suspicions in the order of how much they explain. Most are about shares of a disk and of CPU
/// time; memory that had to be made free may be behind any promise.
fn suspicions(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
) -> Vec<Suspicion> {
    let shares = matches!(promise.is, RelationRecord::Proportional(_) | RelationRecord::Equal);
    let first = subject.repeats.first();
    let mut of_memory = of_memory(subject, promise);
    if let (RelationRecord::AtMostKnob(knob), true, Some(repeat)) =
        (&promise.is, measure.is_cpu(), first)
    {
        let mut found = vec![quota_burst::suspect(subject, repeat, knob, numbers)];
        found.append(&mut of_memory);
        return found;
    }
    let Some(repeat) = first.filter(|_| shares && !measure.is_memory()) else {
        return of_memory;
    };
    let mut found: Vec<Suspicion> = translated::suspect(subject, promise).into_iter().collect();
    if measure.is_cpu() {
        let shared = Shared::of(subject.host, subject.trial, repeat.record).ok().flatten();
        found.extend(shared.map(|shared| cpu_imbalance::suspect(repeat, &shared, numbers)));
        found.push(infeasible::suspect(numbers));
        found.push(short_run::suspect(numbers, short_run::TICK_S, promise.within));
        found.append(&mut of_memory);
        return found;
    }
    found.extend(foreign_writes::suspect(subject));
    for queue in Queue::all(subject.trial, repeat) {
        match queue {
            Err(why) => found.push(Suspicion::NotSeen(format!("the queue: {why}"))),
            Ok(queue) => {
                found.push(request_pool::suspect(&queue, numbers));
                found.push(group_idle::suspect(subject, &queue, repeat, numbers, promise.within));
                found.extend(settings::suspect(&queue, repeat));
                found.push(injection::suspect(&queue, repeat, numbers, promise.within));
                found.extend(tag_cap::suspect(subject, &queue, repeat, numbers, promise.within));
                found.push(device_queue::suspect(&queue, repeat, numbers));
                found.extend(seeky::suspect(subject, &queue, repeat));
                found.extend(ceiling::suspect(subject, &queue, repeat));
                found.extend(cfq::suspect(subject, &queue, numbers, promise.within));
                found.extend(iocost::suspect(subject, &queue, repeat, numbers));
            }
        }
    }
    found.push(short_run::suspect(numbers, short_run::TURN_OF_BFQ_S, promise.within));
    found.append(&mut of_memory);
    found
}
