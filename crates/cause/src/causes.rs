//! Why a promise was broken, or why it could not be judged.
//!
//! A failed validity check proves its cause: without the check's condition the number means
//! nothing. So do events in the kernel, where they were recorded (`rules.rs`). Everything else is a
//! suspicion and is worded as one; only an intervention proves it. A suspicion predicts every group's share under its cause, and its strength is how well that fits
//! the measurement: a setting that may break shares is no suspicion by itself. Where all suspicions
//! are weak, the cause is unknown, and what was examined is listed.
//!
//! [`ENTRIES`] is the table of causes. An entry says what is known of a cause, what it needs to be suspected, and how
//! it is; [`RULES`] says how events prove it.

use assay_judge::verdict::{Cause, Proof, Strength, Verdict};
use assay_record::run_folder::{PromiseRecord, Reference};
use assay_record::terms::{Measure, Side};
pub(crate) use assay_stats::rule::FEWEST;

use assay_judge::cpus::Shared;
use assay_judge::estimates::Estimates;
use assay_judge::laws::{BFQ_SLICE_S, TICK_S};
use assay_judge::queue::Queue;
use assay_judge::repeat::Repeat;
use assay_judge::subject::Subject;
use assay_judge::{laws, queue};

use fit::Fit;
pub(crate) use rules::Rule;

mod bfq;
mod cpu;
mod cpu_imbalance;
mod disk;
mod entry;
pub(crate) mod fit;
mod measured;
mod memory;
mod own_demand;
mod per_cpu;
pub(crate) mod placement;
mod proofs;
mod proven;
mod rules;
mod run;
mod tag_cap;
mod waker;

pub use entry::{CauseEntry, Expect, FoundBy, PredictedEffect, SAME_ERROR};

/// What is known of each cause that is suspected or observed here, in the order of examination: what explains most
/// comes first, and memory reclaim may affect any promise.
const ENTRIES: &[&CauseEntry] = &[
    &run::TRANSLATED,
    &disk::FOREIGN_WRITES,
    &cpu::WEIGHT_MODE,
    &cpu_imbalance::ENTRY,
    &cpu::INFEASIBLE,
    &cpu::QUOTA_BURST,
    &waker::ENTRY,
    &disk::REQUEST_POOL,
    &bfq::LOW_LATENCY,
    &bfq::SLICE_IDLE,
    &bfq::INJECTION,
    &tag_cap::ENTRY,
    &disk::DEVICE_QUEUE,
    &bfq::SEEKY,
    &bfq::CEILING,
    &disk::IOCOST,
    &memory::RECLAIM,
    &memory::THP,
    &memory::GUEST_CACHE,
    &bfq::GROUP_IDLE,
    &run::NEVER_BOUND,
    &run::SHORT_RUN,
];

/// Causes that events in the kernel prove or exclude.
pub(crate) const RULES: &[Rule] = &[
    tag_cap::RULE,
    disk::POOL_RULE,
    waker::RULE,
    bfq::INJECTION_RULE,
    disk::DEVICE_RULE,
    bfq::IDLE_RULE,
    disk::DEMAND_RULE,
    cpu::CONTENTION_RULE,
    cpu::OTHERS_RULE,
    cpu::QUOTA_RULE,
    cpu_imbalance::RULE,
];

/// All causes: the suspected ones, then those that checks prove.
pub fn catalogue() -> impl Iterator<Item = &'static CauseEntry> {
    ENTRIES.iter().copied().chain(proven::ENTRIES)
}

/// What a cause needs to be suspected, and how it is.
pub(crate) enum Suspect {
    /// A check, events, or nothing but the record proves it.
    Never,
    /// Shares of a disk or of CPU time.
    Shares(fn(&Symptom<'_, '_>) -> Examined),
    /// Shares of a disk.
    Io(fn(&Symptom<'_, '_>) -> Examined),
    /// Shares of CPU time.
    Cpu(fn(&Symptom<'_, '_>) -> Examined),
    /// Shares of CPUs that are known.
    Cpus(fn(&Symptom<'_, '_>, &Shared) -> Examined),
    /// A limit of CPU time, by its knob.
    Quota(fn(&Symptom<'_, '_>, &str) -> Examined),
    /// A disk with a queue.
    Queue(fn(&Symptom<'_, '_>, &Queue) -> Examined),
    /// The same under BFQ.
    Bfq(fn(&Symptom<'_, '_>, &Queue) -> Examined),
    /// Any promise, also one on the metrics of a workload.
    Any(fn(&Subject<'_>, Option<Measure>) -> Examined),
}

/// The result of examining a cause, or why it could not be examined.
pub(crate) type Examined = Result<Outcome, String>;

/// What became of a suspicion.
pub(crate) enum Outcome {
    /// Events in the kernel prove it.
    Proven(Cause),
    /// It fits: how well, what is suspected, and the evidence.
    Fits(Strength, &'static str, Vec<String>),
    /// It does not fit, and why.
    RuledOut(String),
    /// It remains possible: evidence for and against, and how to test it.
    Open(String),
    /// It does not concern this promise.
    Unconcerned,
}

/// A cause by its code, examined.
struct Suspicion {
    code: &'static str,
    examined: Examined,
}

/// A promise that is not kept, with its numbers.
#[derive(Clone, Copy)]
pub(crate) struct Symptom<'a, 'r> {
    subject: &'a Subject<'r>,
    promise: &'a PromiseRecord,
    measure: Measure,
    numbers: &'a Estimates,
    /// Names of the groups.
    names: &'a [String],
}

impl<'a, 'r> Symptom<'a, 'r> {
    /// The first repeat, of which there is one where a cause is examined.
    fn repeat(&self) -> &'a Repeat<'r> {
        &self.subject.repeats[0]
    }

    /// Whether shares of a disk or of CPU time are promised.
    fn is_of_shares(&self) -> bool {
        self.promise.is.kind().divides() && !self.measure.is_memory()
    }

    /// What each group got, as shares or rates.
    fn seen(&self) -> Vec<f64> {
        self.numbers.shares().collect()
    }

    /// What each group was promised.
    fn promised(&self) -> Vec<f64> {
        self.numbers.promised().collect()
    }

    /// How many times its promise a group got.
    fn times(&self, group: usize) -> f64 {
        self.numbers.groups[group].share / self.numbers.groups[group].expected_share
    }

    /// How well these shares explain the seen ones.
    fn fit(&self, predicted: &[f64]) -> Option<Fit> {
        Fit::new(self.numbers, predicted)
    }

    /// How well first come, first served explains the shares.
    fn first_come_first_served(&self) -> Option<Fit> {
        self.fit(&laws::first_come_first_served(self.subject.trial, self.names))
    }

    /// The first of these attributes of a queue that was recorded, with its value.
    fn attribute(
        &self,
        queue: &Queue,
        names: &[&'static str],
    ) -> Result<(&'static str, &'r str), String> {
        let values = queue::reading(self.repeat(), &queue.disk).map(|reading| &reading.at_start);
        let found = values.and_then(|values| {
            names.iter().find_map(|name| Some((*name, values.get(*name)?.trim())))
        });
        let last = names.last().copied().unwrap_or_default();
        found.ok_or_else(|| format!("`{last}` was not recorded"))
    }

    /// Requests a second of all groups together.
    fn requests_per_s(&self) -> Result<f64, String> {
        let table = self.repeat().table("io")?;
        let of = |group: &&str| {
            let (grown, seconds) =
                self.repeat().grown(&table, group, &["read_ios", "write_ios"])?;
            Ok(grown / seconds)
        };
        self.subject.groups.iter().map(of).sum()
    }
}

/// Causes of a promise that is not kept, proven ones first.
pub(crate) fn find(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: Option<&Estimates>,
    verdict: Verdict,
) -> (Vec<Cause>, Vec<Proof>) {
    let names: Vec<String> =
        numbers.map(|numbers| numbers.names().cloned().collect()).unwrap_or_default();
    let of = |numbers| Symptom { subject, promise, measure, numbers, names: &names };
    let symptom = numbers.map(of);
    let found = match symptom.filter(|symptom| may_be_proven(symptom, verdict)) {
        Some(symptom) => proofs::find(&symptom, verdict),
        None => proofs::Found::default(),
    };
    let causes = match (verdict, symptom) {
        (Verdict::Void, _) => {
            let checks = subject.checks.iter();
            let concerned: Vec<_> =
                checks.filter(|validity| validity.scope.concerns(measure, &promise.is)).collect();
            let all_hold = concerned.iter().all(|validity| validity.check.ok);
            let mut causes: Vec<Cause> = concerned
                .into_iter()
                .filter_map(assay_judge::checks::ValidityCheck::cause)
                .collect();
            let own = numbers.is_some_and(|numbers| own_demand::explains(subject, numbers));
            causes.sort_by_key(|cause| consequence(&cause.code, own));
            // All checks passed and there is a number: the limit was not reached.
            causes.extend(
                symptom.filter(|_| all_hold).and_then(|symptom| run::never_bound(&symptom)),
            );
            proofs::add_to_checks(&mut causes, &found.proofs);
            causes
        }
        (Verdict::Broken, Some(symptom)) => suspected(&symptom, &found.proofs),
        (Verdict::Undecided, Some(symptom)) => {
            let of_window = proofs::of_observed_seconds(&found);
            // Fewer starts than a verdict takes are facts, and what may have caused them is suspected.
            let in_few = symptom.numbers.repeats < FEWEST && was_broken(symptom.numbers);
            match in_few && of_window.is_empty() {
                true => suspected(&symptom, &found.proofs),
                false => of_window.into_iter().chain(too_short(&symptom)).collect(),
            }
        }
        _ => Vec::new(),
    };
    (causes, found.proofs)
}

/// Whether there is something that events may prove the cause of. An undecided promise may have been broken in the
/// observed seconds: that is a fact like the events, whatever other seconds would show.
fn may_be_proven(symptom: &Symptom<'_, '_>, verdict: Verdict) -> bool {
    match verdict {
        Verdict::Void | Verdict::Broken => true,
        Verdict::Undecided => was_broken(symptom.numbers),
        Verdict::Kept => false,
    }
}

fn was_broken(numbers: &Estimates) -> bool {
    numbers.was.as_ref().is_some_and(|was| was.verdict == Verdict::Broken)
}

/// Why a promise of shares is undecided: the run is too short. It never explains a broken promise,
/// since the bounds of a share cover it.
fn too_short(symptom: &Symptom<'_, '_>) -> Option<Cause> {
    let slice_s = if symptom.measure.is_cpu() { TICK_S } else { BFQ_SLICE_S };
    let timed = symptom.measure.is_cpu() || symptom.measure.is_io();
    (symptom.is_of_shares() && timed).then(|| run::short_run(symptom, slice_s))?
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
pub(crate) fn of_metric(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Cause> {
    let mut found = Vec::new();
    let cache = memory::guest_cache(subject, promise);
    found.extend(cache.map(|examined| Suspicion { code: memory::GUEST_CACHE.code, examined }));
    of_any(subject, None, &mut found);
    ranked(Vec::new(), found)
}

fn suspected(symptom: &Symptom<'_, '_>, proofs: &[Proof]) -> Vec<Cause> {
    let Symptom { subject, promise, measure, .. } = *symptom;
    let checks = subject.checks.iter();
    let concerned = checks.filter(|validity| validity.scope.concerns(measure, &promise.is));
    let examined = concerned.filter_map(|validity| {
        let (code, _) = validity.proves?;
        Some(format!("ruled out {code}: {}", validity.check.evidence))
    });
    ranked(examined.collect(), proofs::settle(suspicions(symptom), proofs))
}

/// Suspicions that fit, strongest first; where none does, what was examined.
fn ranked(mut evidence: Vec<String>, suspicions: Vec<Suspicion>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    let mut found: Vec<Cause> = Vec::new();
    for Suspicion { code, examined } in suspicions {
        match examined {
            Ok(Outcome::Proven(cause)) => causes.push(cause),
            Ok(Outcome::Fits(strength, what, evidence)) => found.push(Cause {
                code: code.to_owned(),
                summary: format!("suspected: {what}"),
                evidence,
                strength: Some(strength),
            }),
            Ok(Outcome::RuledOut(why)) => evidence.push(format!("ruled out {code}: {why}")),
            Ok(Outcome::Open(why)) => evidence.push(format!("not ruled out {code}: {why}")),
            Err(why) => evidence.push(format!("not examined {code}: {why}")),
            Ok(Outcome::Unconcerned) => {}
        }
    }
    // A stable sort: equally strong ones keep the order of examination.
    found.sort_by_key(|cause| std::cmp::Reverse(cause.strength));
    let fits = found.first().is_some_and(|cause| cause.strength > Some(Strength::Weak));
    if causes.is_empty() && !fits {
        causes.push(Cause {
            code: "C-UNKNOWN".to_owned(),
            summary: "none of the known causes fits what was recorded".to_owned(),
            evidence,
            strength: None,
        });
    }
    causes.extend(found);
    causes
}

/// Examines all causes that may concern the promise.
fn suspicions(symptom: &Symptom<'_, '_>) -> Vec<Suspicion> {
    let Symptom { subject, promise, measure, .. } = *symptom;
    let mut found = Vec::new();
    if !subject.repeats.is_empty() {
        match promise.is.to() {
            Reference::Knob(knob)
                if measure.is_cpu() && promise.is.kind().side() == Side::Above =>
            {
                of_quota(symptom, knob, &mut found);
            }
            _ if symptom.is_of_shares() => of_shares(symptom, &mut found),
            _ => {}
        }
    }
    of_any(subject, Some(measure), &mut found);
    found
}

/// Adds what this says of each cause that it examines.
fn examine(found: &mut Vec<Suspicion>, how: impl Fn(&Suspect) -> Option<Examined>) {
    found.extend(
        ENTRIES.iter().filter_map(|entry| {
            Some(Suspicion { code: entry.code, examined: how(&entry.suspect)? })
        }),
    );
}

fn of_any(subject: &Subject<'_>, measure: Option<Measure>, found: &mut Vec<Suspicion>) {
    examine(found, |suspect| match suspect {
        Suspect::Any(examine) => Some(examine(subject, measure)),
        _ => None,
    });
}

fn of_quota(symptom: &Symptom<'_, '_>, knob: &str, found: &mut Vec<Suspicion>) {
    examine(found, |suspect| match suspect {
        Suspect::Quota(examine) => Some(examine(symptom, knob)),
        _ => None,
    });
}

fn of_shares(symptom: &Symptom<'_, '_>, found: &mut Vec<Suspicion>) {
    let (subject, repeat) = (symptom.subject, symptom.repeat());
    let of_cpu = symptom.measure.is_cpu();
    let shared = Shared::in_repeat(subject.host, subject.trial, repeat.record).ok().flatten();
    examine(found, |suspect| match suspect {
        Suspect::Shares(examine) => Some(examine(symptom)),
        Suspect::Io(examine) if !of_cpu => Some(examine(symptom)),
        Suspect::Cpu(examine) if of_cpu => Some(examine(symptom)),
        Suspect::Cpus(examine) if of_cpu => Some(examine(symptom, shared.as_ref()?)),
        _ => None,
    });
    let queues = if of_cpu { Vec::new() } else { Queue::all(subject.trial, repeat) };
    for queue in queues {
        match queue {
            Err(why) => found.push(Suspicion { code: "the queue", examined: Err(why) }),
            Ok(queue) => examine(found, |suspect| match suspect {
                Suspect::Queue(examine) => Some(examine(symptom, &queue)),
                Suspect::Bfq(examine) if queue.is_bfq() => Some(examine(symptom, &queue)),
                _ => None,
            }),
        }
    }
}
