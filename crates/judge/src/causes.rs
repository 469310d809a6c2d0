//! Why a promise was broken, or why it could not be judged.
//!
//! A failed validity check proves its cause: without the check's condition the number means
//! nothing. So do events in the kernel, where they were recorded (`rules.rs`). Everything else is a
//! suspicion and is worded as one; only an intervention proves it. A suspicion predicts every group's share under its cause, and its strength is how well that fits
//! the measurement: a setting that may break shares is no suspicion by itself. Where all suspicions
//! are weak, the cause is unknown, and what was examined is listed.

use assay_run_folder::{PromiseRecord, Reference};

use crate::cpus::Shared;
use crate::estimates::Estimates;
use crate::queue::Queue;
use crate::repeat::Repeat;
use crate::subject::Subject;
pub(crate) use assay_stats::rule::FEWEST;
use assay_terms::Measure;
use assay_terms::Side;
use assay_verdict::Strength;
use assay_verdict::causes::CauseEntry;
use assay_verdict::{Cause, Proof, Verdict};
pub(crate) use rules::Rule;

mod ceiling;
mod cpu_contention;
mod cpu_imbalance;
mod cpu_others;
mod cpu_quota;
mod demand;
mod device_queue;
mod fit;
mod foreign_writes;
mod group_idle;
mod infeasible;
mod injection;
mod iocost;
mod measured;
mod memory;
mod never_bound;
mod own_demand;
mod per_cpu;
mod proofs;
mod quota_burst;
mod request_pool;
mod rules;
mod seeky;
mod settings;
pub(crate) mod short_run;
mod tag_cap;
mod translated;
mod waker;
mod weight_mode;

/// What is known of each cause that is suspected here.
pub(crate) const ENTRIES: &[CauseEntry] = &[
    request_pool::ENTRY,
    tag_cap::ENTRY,
    settings::LOW_LATENCY,
    settings::SLICE_IDLE,
    injection::ENTRY,
    device_queue::ENTRY,
    group_idle::ENTRY,
    seeky::ENTRY,
    ceiling::ENTRY,
    waker::ENTRY,
    iocost::MODEL,
    iocost::DONATION,
    translated::ENTRY,
    foreign_writes::ENTRY,
    weight_mode::ENTRY,
    cpu_imbalance::ENTRY,
    quota_burst::ENTRY,
    infeasible::ENTRY,
    memory::RECLAIM,
    memory::THP,
    never_bound::ENTRY,
    short_run::ENTRY,
];

/// Causes that events in the kernel prove or exclude.
pub(crate) const RULES: &[Rule] = &[
    tag_cap::RULE,
    request_pool::RULE,
    waker::RULE,
    injection::RULE,
    device_queue::RULE,
    group_idle::RULE,
    demand::RULE,
    cpu_contention::RULE,
    cpu_others::RULE,
    cpu_quota::RULE,
    cpu_imbalance::RULE,
];

/// Result of examining one cause.
pub(crate) enum Suspicion {
    /// Events in the kernel prove it.
    Proven(Cause),
    /// It fits, and how well.
    Fits(Cause, Strength),
    /// It does not fit, and why.
    RuledOut(String),
    /// It remains possible: evidence for and against, and how to test it.
    Open(String),
    /// It could not be examined, and why.
    NotExamined(String),
}

impl Suspicion {
    /// Whether it is about the cause with this code.
    fn concerns(&self, code: &str) -> bool {
        match self {
            Self::Proven(cause) | Self::Fits(cause, _) => cause.code == code,
            Self::RuledOut(why) | Self::Open(why) | Self::NotExamined(why) => {
                why.strip_prefix(code).is_some_and(|rest| rest.starts_with(':'))
            }
        }
    }
}

/// Causes, and what events in the kernel say of them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) causes: Vec<Cause>,
    pub(crate) proofs: Vec<Proof>,
}

/// Causes of a promise that is not kept, proven ones first.
pub(crate) fn find(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: Option<&Estimates>,
    verdict: Verdict,
) -> Found {
    let found = match numbers.filter(|numbers| may_be_proven(numbers, verdict)) {
        Some(numbers) => proofs::find(subject, promise, measure, numbers, verdict),
        None => proofs::Found::default(),
    };
    let proofs = &found.proofs;
    let causes = match (verdict, numbers) {
        (Verdict::Void, _) => {
            let checks = subject.checks.iter();
            let concerned: Vec<_> =
                checks.filter(|validity| validity.scope.concerns(measure, &promise.is)).collect();
            let all_hold = concerned.iter().all(|validity| validity.check.ok);
            let mut causes: Vec<Cause> =
                concerned.into_iter().filter_map(crate::checks::ValidityCheck::cause).collect();
            let own = numbers.is_some_and(|numbers| own_demand::explains(subject, numbers));
            causes.sort_by_key(|cause| consequence(&cause.code, own));
            // All checks passed and there is a number: the limit was not reached.
            if let (true, Some(numbers)) = (all_hold, numbers) {
                causes.extend(never_bound::cause(subject, promise, measure, numbers));
            }
            proofs::add_to_checks(&mut causes, proofs);
            causes
        }
        (Verdict::Broken, Some(numbers)) => suspected(subject, promise, measure, numbers, proofs),
        (Verdict::Undecided, Some(numbers)) => {
            let of_window = proofs::of_observed_seconds(&found);
            // Fewer starts than a verdict takes are facts, and what may have caused them is suspected.
            let in_few = numbers.repeats < FEWEST && was_broken(numbers);
            match in_few && of_window.is_empty() {
                true => suspected(subject, promise, measure, numbers, proofs),
                false => {
                    let too_short = too_short(promise, measure, numbers);
                    of_window.into_iter().chain(too_short).collect()
                }
            }
        }
        _ => Vec::new(),
    };
    Found { causes, proofs: found.proofs }
}

/// Whether there is something that events may prove the cause of. An undecided promise may have been broken in the
/// observed seconds: that is a fact like the events, whatever other seconds would show.
fn may_be_proven(numbers: &Estimates, verdict: Verdict) -> bool {
    match verdict {
        Verdict::Void | Verdict::Broken => true,
        Verdict::Undecided => was_broken(numbers),
        Verdict::Kept => false,
    }
}

fn was_broken(numbers: &Estimates) -> bool {
    numbers.was.as_ref().is_some_and(|was| was.verdict == Verdict::Broken)
}

/// Why a promise of shares is undecided: the run is too short. It never explains a broken promise,
/// since the bounds of a share cover it.
fn too_short(promise: &PromiseRecord, measure: Measure, numbers: &Estimates) -> Vec<Cause> {
    let shares = promise.is.kind().divides();
    let slice_s = match measure.is_cpu() {
        true => short_run::TICK_S,
        false => short_run::BFQ_SLICE_S,
    };
    let timed = measure.is_cpu() || measure.is_io();
    let found = (shares && timed).then(|| short_run::find(numbers, slice_s, promise.within));
    found.flatten().into_iter().collect()
}

/// Sort order of failed checks; those that often follow from another failure come after it. The
/// page cache keeps the CPUs busy, busy CPUs let the disk queue run dry, and either moves shares.
/// Without CPU time a group cannot submit I/O, unless `own_demand` explains every group's share.
fn consequence(code: &str, own_demand: bool) -> u8 {
    match code {
        // A stacked disk has no scheduler of its own, hence not the needed one.
        "C-STACKED" => 0,
        // Bytes held in the page cache, or written out by root, are missing in the groups'
        // counters.
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

/// Whether a cause proven by a check is often only an effect of another cause on the queue.
#[must_use]
pub fn may_follow_from_others(code: &str) -> bool {
    code == "C-NOT-BACKLOGGED"
}

/// Causes of a broken promise on workload metrics: conditions of the whole host.
pub(crate) fn of_metric(subject: &Subject<'_>) -> Vec<Cause> {
    ranked(Vec::new(), memory::suspect(subject, None))
}

fn suspected(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
    proofs: &[Proof],
) -> Vec<Cause> {
    let examined: Vec<String> = subject
        .checks
        .iter()
        .filter(|validity| validity.scope.concerns(measure, &promise.is))
        .filter_map(|validity| {
            let (code, _) = validity.proves?;
            Some(format!("ruled out {code}: {}", validity.check.evidence))
        })
        .collect();
    ranked(examined, proofs::settle(suspicions(subject, promise, measure, numbers), proofs))
}

/// Suspicions that fit, strongest first; where none does, what was examined.
fn ranked(mut examined: Vec<String>, suspicions: Vec<Suspicion>) -> Vec<Cause> {
    let mut found: Vec<(Cause, Strength)> = Vec::new();
    let mut causes: Vec<Cause> = Vec::new();
    for suspicion in suspicions {
        match suspicion {
            Suspicion::Proven(cause) => causes.push(cause),
            Suspicion::Fits(cause, strength) => found.push((cause, strength)),
            Suspicion::RuledOut(why) => examined.push(format!("ruled out {why}")),
            Suspicion::Open(why) => examined.push(format!("not ruled out {why}")),
            Suspicion::NotExamined(why) => examined.push(format!("not examined {why}")),
        }
    }
    // A stable sort: equally strong ones keep the order of examination.
    found.sort_by_key(|(_, strength)| std::cmp::Reverse(*strength));
    let known =
        !causes.is_empty() || found.first().is_some_and(|(_, strength)| *strength > Strength::Weak);
    let suspected = found.into_iter();
    causes.extend(suspected.map(|(cause, strength)| Cause { strength: Some(strength), ..cause }));
    if !known {
        let unknown = Cause {
            code: "C-UNKNOWN".to_owned(),
            summary: "none of the known causes fits what was recorded".to_owned(),
            evidence: examined,
            strength: None,
        };
        causes.insert(0, unknown);
    }
    causes
}

/// Suspicions in the order of how much they explain. Most concern shares of a disk or of CPU time;
/// memory reclaim may affect any promise.
fn suspicions(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
) -> Vec<Suspicion> {
    let shares = promise.is.kind().divides();
    let first = subject.repeats.first();
    let mut of_memory = memory::suspect(subject, Some(measure));
    let limits_cpu = measure.is_cpu() && promise.is.kind().side() == Side::Above;
    if let (Reference::Knob(knob), true, Some(repeat)) = (promise.is.to(), limits_cpu, first) {
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
        let shared = Shared::in_repeat(subject.host, subject.trial, repeat.record).ok().flatten();
        if let Some(shared) = &shared {
            found.push(weight_mode::suspect(subject.host, repeat.record, shared, numbers));
            found.push(cpu_imbalance::suspect(repeat, shared, numbers));
        }
        found.push(infeasible::suspect(numbers));
        found.append(&mut of_memory);
        return found;
    }
    found.extend(foreign_writes::suspect(subject, repeat, numbers));
    for queue in Queue::all(subject.trial, repeat) {
        match queue {
            Err(why) => found.push(Suspicion::NotExamined(format!("the queue: {why}"))),
            Ok(queue) => {
                found.extend(of_queue(subject, (&queue, repeat), measure, numbers, promise));
            }
        }
    }
    found.append(&mut of_memory);
    found
}

/// Suspicions about the scheduler of a disk and the disk itself.
fn of_queue(
    subject: &Subject<'_>,
    (queue, repeat): (&Queue, &Repeat<'_>),
    measure: Measure,
    numbers: &Estimates,
    promise: &PromiseRecord,
) -> Vec<Suspicion> {
    let within = promise.within;
    let is_bfq = queue.scheduler.as_deref() == Some("bfq");
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
    if is_bfq {
        found.push(seeky::suspect(subject, queue, repeat, numbers));
        found.push(ceiling::suspect(subject, repeat, numbers));
    }
    found.extend(iocost::suspect(subject, queue, repeat, numbers));
    found
}
