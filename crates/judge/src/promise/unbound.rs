//! Limits by knob that were not tested, since a group stayed below its own.

use assay_run_folder::PromiseRecord;
use assay_terms::Measure;

use crate::estimates::Estimates;
use crate::subject::Subject;
use crate::{reason, throttle};

/// A limit that no group came near was not tested; one such group is enough.
pub(super) fn never_bound(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
    knob: &str,
) -> Option<String> {
    let slack = promise.within.max(0.1);
    let limit = |index: usize| numbers.expected[index].share;
    let far = |index: &usize| numbers.seen[*index].value < limit(*index) * (1.0 - slack);
    (0..numbers.names.len())
        .find(far)
        .map(|index| not_bound(subject, measure, numbers, knob, index))
}

/// A quota that ran out in no period did not bind, whatever the use.
pub(super) fn untouched(
    subject: &Subject<'_>,
    measure: Measure,
    numbers: &Estimates,
    knob: &str,
) -> Option<String> {
    let free = |index: &usize| {
        measure.is_cpu() && throttled(subject, &numbers.names[*index]).is_some_and(|n| n <= 0.0)
    };
    (0..numbers.names.len())
        .find(free)
        .map(|index| not_bound(subject, measure, numbers, knob, index))
}

/// Periods in which the quota of a group ran out, over all repeats; `None` where one of them has no
/// counter.
fn throttled(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let each = subject.repeats.iter().map(|repeat| {
        let table = repeat.table("throttle").ok()?;
        Some(throttle::counts(&table, repeat, name)?.throttled)
    });
    each.sum()
}

fn not_bound(
    subject: &Subject<'_>,
    measure: Measure,
    numbers: &Estimates,
    knob: &str,
    index: usize,
) -> String {
    let (name, limit) = (&numbers.names[index], numbers.expected[index].share);
    let periods = throttled(subject, name);
    let used = reason::used(measure, numbers, index);
    reason::never_bound_group(measure, name, knob, limit, &used, periods)
}
