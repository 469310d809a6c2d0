//! C-NEVER-BOUND: a limit was not tested because a group stayed clear of it. Collects the reasons
//! from the record.

use assay_run_folder::PromiseRecord;
use assay_terms::{Measure, Side};
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, FoundBy};
use assay_verdict::wording::{count, percent, rate};

use crate::cpus::{self, Shared};
use crate::estimates::Estimates;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-NEVER-BOUND",
    what: "A limit that a group stayed clear of was not tested.",
    found_by: FoundBy::Suspicion,
    fingerprint: "Use below the limit by more than a tenth, or no throttled period.",
    confirm: "A lower limit, or a workload with more demand: use rises to the limit and stays there.",
    tests: &[],
    effects: &[],
    remedy: "A limit well below what the workload uses without one.",
    source: "The founding experiment's 20 and 25 GB limits lay above the 15.0 GiB that the program needs",
};

const CODE: &str = ENTRY.code;

/// The cause of a void limit; `None` for a promise that is not a limit.
pub(super) fn cause(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
) -> Option<Cause> {
    if promise.is.kind().side() != Side::Above {
        return None;
    }
    let mut evidence = vec![used(measure, numbers)?];
    if measure.is_cpu() {
        evidence.extend(cpu(subject, numbers));
    }
    Some(Cause {
        code: CODE.to_owned(),
        summary: "a group stayed clear of its limit, which was therefore not tested".to_owned(),
        evidence,
        strength: None,
    })
}

/// The group that stayed furthest below its limit.
fn used(measure: Measure, numbers: &Estimates) -> Option<String> {
    let part = |index: &usize| numbers.groups[*index].share / numbers.groups[*index].expected_share;
    let least = (0..numbers.groups.len()).min_by(|a, b| part(a).total_cmp(&part(b)))?;
    Some(format!(
        "`{}` used {} of the {} that it may have",
        numbers.groups[least].name,
        rate(measure, numbers.groups[least].share),
        rate(measure, numbers.groups[least].expected_share)
    ))
}

/// Why groups did not use their CPU time: their own threads, or others.
fn cpu(subject: &Subject<'_>, numbers: &Estimates) -> Option<String> {
    let repeat = subject.repeats.first()?;
    let shared = Shared::in_repeat(subject.host, subject.trial, repeat.record).ok()??;
    let few = numbers.names().zip(numbers.promised()).find_map(|(name, limit)| {
        let threads = *shared.threads.get(name)? as usize;
        (shared.demand(name) <= limit).then(|| {
            let (threads, cpus) = (count(threads, "thread"), count(shared.set.len(), "CPU"));
            format!("`{name}` has {threads} on {cpus} and could not use more than its limit")
        })
    });
    let spent = cpus::spent(repeat, Some(&shared.set)).ok()?;
    few.or_else(|| {
        let others = cpus::others(subject.trial, repeat, &shared, spent).ok()?;
        Some(format!(
            "processes outside the groups used {} of {}, which were idle {} of the time",
            percent(others),
            shared.label(),
            percent(spent.idle)
        ))
    })
}
