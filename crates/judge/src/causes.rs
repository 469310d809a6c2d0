//! Why a promise was broken, or why it could not be judged.
//!
//! A failed gate proves its cause: the gate's condition is what makes the number mean anything.
//! Everything else is a suspicion and is worded as one; proof is an intervention. A suspicion says
//! what every group would get if it were the cause, and is as strong as that is what was seen: a
//! setting that may break shares is none by itself. Where no suspicion is more than weak, the
//! cause is unknown, and what was looked at is listed.

use assay_run_folder::{PromiseRecord, RelationRecord};

use crate::cpus::Shared;
use crate::promise::{Numbers, Subject};
use crate::queue::Queue;
use crate::repeat::Repeat;
use assay_verdict::Measure;
pub(crate) use assay_verdict::Strength;
use assay_verdict::{Cause, Verdict};

mod ceiling;
mod cfq;
mod cpu_imbalance;
mod damon;
mod device_queue;
mod fit;
mod foreign_writes;
mod infeasible;
mod injection;
mod iocost;
mod memory;
mod never_bound;
mod own_demand;
mod quota_burst;
mod request_pool;
mod seeky;
mod settings;
pub(crate) mod short_run;
mod tag_cap;
mod translated;
mod waker;

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
            let mut causes: Vec<Cause> =
                failed.filter_map(crate::checks::ValidityCheck::cause).collect();
            let own = numbers.is_some_and(|numbers| own_demand::explains(subject, numbers));
            causes.sort_by_key(|cause| consequence(&cause.code, own));
            // Every gate passed and there is a number: the limit was not reached.
            if let (true, Some(numbers)) = (causes.is_empty(), numbers) {
                causes.extend(never_bound::cause(subject, promise, measure, numbers));
            }
            causes
        }
        (Verdict::Broken, Some(numbers)) => suspected(subject, promise, measure, numbers),
        (Verdict::Undecided, Some(numbers)) => too_short(promise, measure, numbers),
        _ => Vec::new(),
    }
}

/// What leaves a promise of shares undecided by itself. No broken promise is due to it, since the
/// interval of a share covers it.
fn too_short(promise: &PromiseRecord, measure: Measure, numbers: &Numbers) -> Vec<Cause> {
    let shares = matches!(promise.is, RelationRecord::Proportional(_) | RelationRecord::Equal);
    let turn_s = match measure.is_cpu() {
        true => short_run::TICK_S,
        false => short_run::TURN_OF_BFQ_S,
    };
    let timed = measure.is_cpu() || measure.is_io();
    let found = (shares && timed).then(|| short_run::find(numbers, turn_s, promise.within));
    found.flatten().into_iter().collect()
}

/// Gates that often fail because of what another gate shows stand behind it: the page cache keeps
/// the CPUs busy, busy CPUs let the queue of the disk run dry, and either moves shares. Who has no CPU
/// cannot ask for a disk, unless `own_demand` explains every group's share.
fn consequence(code: &str, own_demand: bool) -> u8 {
    match code {
        // A disk without a scheduler of its own has not the one that is needed.
        "C-STACKED" => 0,
        // What the page cache keeps back, or root writes out, is missing in the groups' own bytes.
        "C-DISK-OTHERS" => 2,
        "C-DEMAND" if own_demand => 3,
        "C-CPU" => 4,
        "C-STEAL" => 5,
        "C-DEMAND" => 6,
        "C-NOT-BACKLOGGED" => 7,
        "C-LATE-START" => 8,
        _ => 1,
    }
}

/// Whether a cause that a gate proves is often what another one does to the queue.
#[must_use]
pub fn may_follow_from_others(code: &str) -> bool {
    code == "C-NOT-BACKLOGGED"
}

/// Causes of a broken promise on what workloads say of themselves: what the whole host went
/// through.
pub(crate) fn of_metric(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Cause> {
    ranked(Vec::new(), of_memory(subject, promise, None))
}

/// Memory that was taken, or had to be made free: by whom, and at whose cost.
fn of_memory(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Option<Measure>,
) -> Vec<Suspicion> {
    let taken = damon::suspect(subject, promise).into_iter();
    taken.chain(memory::suspect(subject, measure)).collect()
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
    let known = found.first().is_some_and(|(_, strength)| *strength > Strength::Weak);
    let mut causes: Vec<Cause> = found
        .into_iter()
        .map(|(cause, strength)| Cause { strength: Some(strength), ..cause })
        .collect();
    if !known {
        let unknown = Cause {
            code: "C-UNKNOWN".to_owned(),
            summary: "none of the known causes fits what was recorded".to_owned(),
            evidence: looked_at,
            strength: None,
        };
        causes.insert(0, unknown);
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
    let mut of_memory = of_memory(subject, promise, Some(measure));
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
    let mut found: Vec<Suspicion> =
        translated::suspect(subject, promise, numbers).into_iter().collect();
    if measure.is_cpu() {
        let shared = Shared::of(subject.host, subject.trial, repeat.record).ok().flatten();
        found.extend(shared.map(|shared| cpu_imbalance::suspect(repeat, &shared, numbers)));
        found.push(infeasible::suspect(numbers));
        found.append(&mut of_memory);
        return found;
    }
    found.extend(foreign_writes::suspect(subject, repeat, numbers));
    for queue in Queue::all(subject.trial, repeat) {
        match queue {
            Err(why) => found.push(Suspicion::NotSeen(format!("the queue: {why}"))),
            Ok(queue) => {
                found.extend(of_queue(subject, (&queue, repeat), measure, numbers, promise));
            }
        }
    }
    found.append(&mut of_memory);
    found
}

/// What the scheduler of a disk may have done, and the disk itself.
fn of_queue(
    subject: &Subject<'_>,
    (queue, repeat): (&Queue, &Repeat<'_>),
    measure: Measure,
    numbers: &Numbers,
    promise: &PromiseRecord,
) -> Vec<Suspicion> {
    let (scheduler, within) = (queue.scheduler.as_deref(), promise.within);
    let is_bfq = scheduler == Some("bfq");
    let mut found = Vec::new();
    if is_bfq {
        found.push(waker::suspect(subject, queue, repeat, numbers, measure));
    }
    found.push(request_pool::suspect(subject, queue, numbers));
    if is_bfq {
        let grid = repeat.grid(measure).ok();
        found.extend(settings::suspect(subject, queue, repeat, numbers, grid));
        found.push(injection::suspect(queue, repeat, numbers, within));
        found.extend(tag_cap::suspect(subject, queue, repeat, numbers, within));
    }
    found.push(device_queue::suspect(subject, queue, repeat, numbers));
    match scheduler {
        Some("bfq") => {
            found.push(seeky::suspect(subject, queue, repeat, numbers));
            found.push(ceiling::suspect(subject, repeat, numbers));
        }
        Some("cfq") => found.extend(cfq::suspect(subject, queue, numbers, within)),
        _ => {}
    }
    found.extend(iocost::suspect(subject, queue, repeat, numbers));
    found
}
