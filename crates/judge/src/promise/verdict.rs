//! The verdict on a promise by its numbers, once every check has passed.

use assay_run_folder::{PromiseRecord, Reference};
use assay_terms::{Measure, Side};
use assay_verdict::Verdict;

use super::data::promise_data;
use super::unbound::{never_bound, untouched};
use crate::estimates::Estimates;
use crate::reason;
use crate::statement::Statement;
use crate::subject::Subject;

/// The verdict by the numbers alone. What was broken in all observed seconds together is never kept.
pub(crate) fn of_numbers(
    promise: &PromiseRecord,
    numbers: &Estimates,
    objection: Option<&str>,
) -> Statement {
    let on_average =
        Verdict::worst((0..numbers.names.len()).map(|one| numbers.on_average(one, promise.within)));
    let in_spans = numbers.spans.as_ref().map(|spans| spans.verdict);
    let was_broken = numbers.was.as_ref().is_some_and(|was| was.verdict == Verdict::Broken);
    let verdict = match Verdict::worst([on_average].into_iter().chain(in_spans)) {
        Verdict::Kept if was_broken || objection.is_some() => Verdict::Undecided,
        found => found,
    };
    let measure = Measure::parse(&promise.measure).unwrap_or(Measure::IoBytes);
    let reason = reason::of_numbers(promise, measure, numbers, on_average, objection);
    Statement { verdict, reason, is_open: objection.is_some() }
}

/// The verdict by the numbers, once every check has passed.
pub(super) fn decide(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
) -> Statement {
    let found = Verdict::worst(numbers.deviations.iter().map(|one| one.verdict(promise.within)));
    // The kernel counts how often a quota bound, which needs no interval.
    let limit = Some(promise.is.to()).filter(|_| promise.is.kind().side() == Side::Above);
    let idle = match (limit, found) {
        (Some(Reference::Knob(knob)), Verdict::Kept | Verdict::Undecided) => {
            untouched(subject, measure, numbers, knob)
        }
        _ => None,
    };
    let idle = idle.or_else(|| match (limit, found) {
        (Some(Reference::Value(bound)), Verdict::Kept) => {
            reason::never_bound(numbers, measure, bound, promise.within)
        }
        (Some(Reference::Knob(knob)), Verdict::Kept) => {
            never_bound(subject, promise, measure, numbers, knob)
        }
        _ => None,
    });
    // A mean that stays clear of a limit may hide spans that did not.
    let exceeded = numbers.spans.as_ref().is_some_and(|spans| spans.held.value < spans.promised);
    match idle.filter(|_| !exceeded) {
        Some(why) => Statement::void(why),
        None => {
            let objection = subject.objection(|repeat| {
                let alone = std::slice::from_ref(repeat);
                promise_data(subject, promise, measure, alone).ok()?.broken()
            });
            of_numbers(promise, numbers, objection.as_deref())
        }
    }
}
