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

/// The verdict by the numbers alone.
///
/// Several repeats show what to expect of runs like these, and that is the verdict; but a promise
/// observed to be broken is never kept. One repeat is a fact about its own window: broken where the
/// mean of a group is outside the margin by more than the counters' grain and more than its own
/// noise, otherwise undecided.
pub(crate) fn of_numbers(
    promise: &PromiseRecord,
    numbers: &Estimates,
    objection: Option<&str>,
) -> Statement {
    let on_average =
        Verdict::worst(numbers.deviations.iter().map(|one| one.verdict(promise.within)));
    let in_spans = numbers.spans.as_ref().map(|spans| spans.verdict);
    let found = Verdict::worst([on_average].into_iter().chain(in_spans));
    let was = numbers.was.as_ref();
    // Where the autocorrelation time is long compared with the window, its noise is unknown, and a
    // window outside the margin is only a fact about itself.
    let mut groups = 0..numbers.names.len();
    let in_fact = numbers.is_long_enough()
        && groups.any(|group| numbers.is_broken_in_fact(group, promise.within));
    let forbidden = was
        .is_some_and(|was| was.verdict == Verdict::Broken || was.in_warm_up.is_some())
        || objection.is_some();
    let will_be = match found {
        _ if numbers.repeats < 2 => Verdict::Undecided,
        // How long runs stay in a state is unknown if they were hardly in it.
        Verdict::Kept if numbers.unsettled.is_some() => Verdict::Undecided,
        found => found,
    };
    let verdict = match (numbers.repeats, found) {
        (0 | 1, Verdict::Broken) if in_fact => Verdict::Broken,
        (0 | 1, _) => Verdict::Undecided,
        (_, Verdict::Kept) if forbidden => Verdict::Undecided,
        _ => will_be,
    };
    let measure = Measure::parse(&promise.measure).unwrap_or(Measure::IoBytes);
    let reason = reason::of_numbers(promise, measure, numbers, on_average, verdict, objection);
    let is_open = objection.is_some()
        || numbers.unsettled.is_some()
        || was.is_some_and(|was| was.in_warm_up.is_some());
    Statement { verdict, will_be: Some(will_be), reason, is_open }
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
