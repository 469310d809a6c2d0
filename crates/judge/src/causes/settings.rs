//! C-LOW-LATENCY and C-SLICE-IDLE: settings of BFQ that override weights.

use assay_stats::Grid;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::percent;

use super::fit::{Fit, first_come_first_served};
use super::{Strength, Suspicion, injection};
use crate::estimates::Estimates;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const LOW_LATENCY: CauseEntry = CauseEntry {
    code: "C-LOW-LATENCY",
    what: "BFQ's low_latency raises the weight of queues that it considers interactive or soft real-time, up to thirty times, whatever weight was set.",
    found_by: FoundBy::Suspicion,
    fingerprint: "`iosched/low_latency` reads 1, and the largest error of the first half of the window is twice that of the second, or a few groups gained on all others, which keep their proportions.",
    confirm: "Set `iosched/low_latency` to 0: the error of the first seconds vanishes.",
    tests: &["low-latency"],
    effects: &[
        PredictedEffect {
            of: &["low-latency"],
            expect: Expect::Vanishes,
            why: "no queue's weight is raised",
        },
        PredictedEffect::unrelated(&["longer", "requests"]),
    ],
    remedy: "`queue = { \"iosched/low_latency\" = 0 }`.",
    source: "Documentation/block/bfq-iosched.rst, section 4-1",
};

pub(super) const SLICE_IDLE: CauseEntry = CauseEntry {
    code: "C-SLICE-IDLE",
    what: "BFQ does not wait for the next request of the group in service, so that a group that needs a moment loses its service.",
    found_by: FoundBy::Suspicion,
    fingerprint: "`iosched/slice_idle` reads 0, and each group's share follows its requests outstanding.",
    confirm: "Set `iosched/slice_idle` to 8 (ms): shares return, at some cost in throughput.",
    tests: &["slice-idle"],
    effects: &[
        PredictedEffect {
            of: &["slice-idle"],
            expect: Expect::Vanishes,
            why: "the disk is held for the next request",
        },
        PredictedEffect::unrelated(&["longer", "requests"]),
    ],
    remedy: "`queue = { \"iosched/slice_idle\" = 8 }`.",
    source: "Documentation/block/bfq-iosched.rst: slice_idle 0 gives up service guarantees",
};

/// Errors decrease if those of the first half are this many times those of the second.
const FALLS: f64 = 2.0;

/// Examines BFQ's attributes.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
    grid: Option<&Grid>,
) -> [Suspicion; 2] {
    [low_latency(queue, repeat, numbers, grid), slice_idle(subject, queue, repeat, numbers)]
}

/// The first of these attributes that was recorded, with its value.
fn attribute<'r>(
    queue: &Queue,
    repeat: &Repeat<'r>,
    names: &[&'static str],
) -> Option<(&'static str, &'r str)> {
    let values = &queue::reading(repeat, &queue.disk)?.at_start;
    names.iter().find_map(|name| Some((*name, values.get(*name)?.trim())))
}

/// low_latency raises queues for some seconds, so that errors decrease over time; raised queues
/// gain on all others, which keep their proportions.
fn low_latency(
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
    grid: Option<&Grid>,
) -> Suspicion {
    let code = LOW_LATENCY.code;
    match attribute(queue, repeat, &["iosched/low_latency"]) {
        None => Suspicion::NotExamined(format!("{code}: `iosched/low_latency` was not recorded")),
        Some((name, "1")) => {
            let fell = grid.and_then(|grid| errors_of_halves(grid, numbers));
            let falls = fell.is_some_and(|(first, second)| first > FALLS * second);
            let few = injection::a_few_gained(numbers);
            let strength = match (falls, few) {
                (true, true) => Strength::Strong,
                (true, false) | (false, true) => Strength::Fair,
                (false, false) => {
                    return Suspicion::Open(format!(
                        "{code}: `{name}` reads 1, but errors do not decrease over time, and no \
                         minority of groups gained on others that keep their proportions"
                    ));
                }
            };
            let cause = Cause {
                code: code.to_owned(),
                summary:
                    "suspected: BFQ's low_latency raises the weight of queues that it considers \
                          interactive"
                        .to_owned(),
                evidence: vec![
                    format!(
                        "`{name}` of {} reads 1 (the default); the kernel's document on BFQ says \
                         to unset it where weights are to decide",
                        queue.device
                    ),
                    match fell {
                        Some((first, second)) => format!(
                            "the largest error is {} in the first half of the window and {} in the \
                             second",
                            percent(first),
                            percent(second)
                        ),
                        None => "a few groups gained on all others".to_owned(),
                    },
                ],
                strength: None,
            };
            Suspicion::Fits(cause, strength)
        }
        Some((name, value)) => Suspicion::RuledOut(format!("{code}: `{name}` reads {value}")),
    }
}

/// The largest error of any group in each half of the window.
fn errors_of_halves(grid: &Grid, numbers: &Estimates) -> Option<(f64, f64)> {
    let half = |from: usize, to: usize| {
        let (before, after) = (grid.row(from), grid.row(to));
        let got: Vec<f64> =
            after.iter().zip(before).map(|(after, before)| after - before).collect();
        let all: f64 = got.iter().sum();
        let error = |(got, share): (&f64, f64)| (got / all / share - 1.0).abs();
        let shares = numbers.promised();
        (all > 0.0).then(|| got.iter().zip(shares).map(error).fold(0.0, f64::max))
    };
    let middle = grid.steps / 2;
    Some((half(0, middle)?, half(middle, grid.steps)?))
}

/// Without idling, groups with more requests outstanding get more service.
fn slice_idle(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Suspicion {
    let code = SLICE_IDLE.code;
    match attribute(queue, repeat, &["iosched/slice_idle_us", "iosched/slice_idle"]) {
        None => Suspicion::NotExamined(format!("{code}: `iosched/slice_idle` was not recorded")),
        Some((name, "0")) => {
            let fit = Fit::new(numbers, &first_come_first_served(subject, numbers));
            let Some(strength) = fit.and_then(Fit::strength) else {
                return Suspicion::Open(format!(
                    "{code}: `{name}` reads 0, but shares do not follow the requests \
                     outstanding"
                ));
            };
            let cause = Cause {
                code: code.to_owned(),
                summary: "suspected: without idling BFQ cannot hold the disk for a group whose \
                          next request is still on its way"
                    .to_owned(),
                evidence: vec![format!("`{name}` of {} reads 0", queue.device)],
                strength: None,
            };
            Suspicion::Fits(cause, strength)
        }
        Some((name, value)) => Suspicion::RuledOut(format!("{code}: `{name}` reads {value}")),
    }
}
