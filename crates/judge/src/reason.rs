//! The sentence that explains the verdict of a promise.

use assay_run_folder::{EveryRecord, PromiseRecord};
use assay_stats::{proportion, spans};
use assay_terms::{Measure, Side};
use assay_verdict::wording::{count, margin, number, percent, rate};
use assay_verdict::{Interval, Observation, SpansJudgement, Verdict};

use crate::checks::ValidityCheck;
use crate::estimates::Estimates;

/// Void: every failed check with its evidence.
pub(crate) fn failed_checks(failed: &[&ValidityCheck]) -> String {
    let each = failed
        .iter()
        .map(|validity| format!("`{}`: {}", validity.check.check, validity.check.evidence));
    each.collect::<Vec<_>>().join("; ")
}

/// Void: a limit that no group reached was not tested.
pub(crate) fn never_bound(
    numbers: &Estimates,
    measure: Measure,
    bound: f64,
    within: f64,
) -> Option<String> {
    let near = bound * (1.0 - within.max(0.1));
    let highest = (0..numbers.seen.len())
        .max_by(|a, b| numbers.seen[*a].high.total_cmp(&numbers.seen[*b].high))?;
    (numbers.seen[highest].high < near).then(|| {
        format!(
            "the limit of {} never bound: no group came near it: `{}` used {}",
            rate(measure, bound),
            numbers.names[highest],
            used(measure, numbers, highest)
        )
    })
}

/// `3.1 MB/s (2.9 MB/s to 3.3 MB/s over 3 repeats)`: what a group used, with its interval.
pub(crate) fn used(measure: Measure, numbers: &Estimates, index: usize) -> String {
    let seen = &numbers.seen[index];
    let of = match numbers.repeats {
        0 | 1 => GIVEN_NOISE.to_owned(),
        repeats => format!("over {}", count(repeats, "repeat")),
    };
    let [value, low, high] = [seen.value, seen.low, seen.high].map(|one| rate(measure, one));
    format!("{value} ({low} to {high} {of})")
}

/// What the interval of a single repeat is: it says nothing about other runs.
const GIVEN_NOISE: &str = "given the noise within the window";

/// Void: the limit of one group was not tested.
pub(crate) fn never_bound_group(
    measure: Measure,
    group: &str,
    knob: &str,
    limit: f64,
    used: &str,
    throttled_periods: Option<f64>,
) -> String {
    let periods = match throttled_periods {
        Some(periods) if periods <= 0.0 => ", and was throttled in no period",
        _ => "",
    };
    format!(
        "the limit of `{group}` never bound: it used {used} where `{knob}` allows {}{periods}",
        rate(measure, limit)
    )
}

/// Kept, broken or undecided: the deciding group and its numbers, then the observation. `found` is
/// the verdict by the intervals of the means, `verdict` the final one.
pub(crate) fn of_numbers(
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
    found: Verdict,
    verdict: Verdict,
    objection: Option<&str>,
) -> String {
    let Some(decisive) = decisive(numbers, promise.within, found) else {
        return "no group is measured".to_owned();
    };
    let what = seen(promise, measure, numbers, decisive);
    let unbounded = numbers.is_unbounded(verdict);
    let means = match unbounded {
        true => of_window(numbers, (decisive, what)),
        false => of_means(promise, numbers, (decisive, what), found),
    };
    let mut parts = vec![means];
    if let Some(spans) = &numbers.spans {
        parts.push(of_spans(spans, promise.every));
    }
    let fewest = if numbers.spans.is_some() { proportion::FEWEST } else { 2 };
    if numbers.repeats < fewest && verdict == Verdict::Undecided {
        parts.push(few_repeats(numbers.repeats).to_owned());
    }
    parts.extend(was(promise, numbers));
    if verdict == Verdict::Undecided {
        parts.extend(numbers.brief_state.clone());
    }
    if found == Verdict::Kept && !unbounded {
        parts.extend(numbers.unsettled.clone());
        parts.extend(objection.map(str::to_owned));
    }
    parts.join("; ")
}

/// Why fewer than three repeats leave open what to expect of others.
pub(crate) fn few_repeats(repeats: usize) -> &'static str {
    match repeats {
        2 => "two repeats may agree by chance; three or more show what to expect of others",
        _ => "one repeat shows only its own window; three or more show what to expect of others",
    }
}

/// One window with unknown noise: a number without an interval.
fn of_window(numbers: &Estimates, (decisive, what): (usize, String)) -> String {
    format!(
        "{what} {}, off by {}, and its noise is unknown",
        over(numbers),
        percent(numbers.deviations[decisive].value)
    )
}

fn over(numbers: &Estimates) -> String {
    match numbers.repeats {
        0 | 1 => format!("in this window of {:.1} s", numbers.window_s),
        repeats => format!("over {}", count(repeats, "repeat")),
    }
}

fn of_means(
    promise: &PromiseRecord,
    numbers: &Estimates,
    (decisive, what): (usize, String),
    found: Verdict,
) -> String {
    let deviation = &numbers.deviations[decisive];
    let within = margin(promise.within);
    let sure = match numbers.repeats {
        0 | 1 => GIVEN_NOISE.to_owned(),
        _ => format!("with {} confidence", percent(promise.confidence)),
    };
    let groups = count(numbers.names.len(), "group");
    let of = over(numbers);
    match found {
        Verdict::Kept => format!(
            "all of {groups} are within {within} of what was promised {of}: {what}, off by {} and \
             at most {} {sure}",
            percent(deviation.value),
            percent(deviation.high)
        ),
        Verdict::Broken => format!(
            "{what} {of}, off by {} and at least {} {sure}, over all of {groups}, \
             where {within} was promised",
            percent(deviation.value),
            percent(deviation.low)
        ),
        Verdict::Undecided | Verdict::Void => {
            let high = match deviation.high {
                high if high < 100.0 => percent(high),
                _ => "any amount".to_owned(),
            };
            format!(
                "{what} {of}, off by {} and anything from {} to {high} {sure}, \
                 which leaves open whether it is within {within}",
                percent(deviation.value),
                percent(deviation.low),
            )
        }
    }
}

/// `task1 holds in 85 % of the spans of 1.0 s`.
fn of_spans(spans: &SpansJudgement, every: Option<EveryRecord>) -> String {
    let Interval { value, low, high } = spans.held;
    // One repeat has none.
    let interval = match (low, high) {
        (0.0, 1.0) => String::new(),
        (low, high) => format!(" ({} to {})", percent(low), percent(high)),
    };
    let held = format!(
        "`{}` was within the margin in {} of its spans of {:.1} s{interval}, where {} was promised",
        spans.group,
        percent(value),
        spans.every_s,
        percent(spans.promised)
    );
    match every.filter(|every| !spans::fits(spans.every_s, every.span_s)) {
        None => held,
        Some(every) => {
            format!("{held}; the samples are too far apart for spans of {} s", number(every.span_s))
        }
    }
}

/// The observation over all seconds.
pub(crate) fn of_fact(was: &Observation, within: f64) -> String {
    let Interval { value, low, high } = was.error;
    let [value, low, high] = [value, low, high].map(percent);
    // Of what is counted one by one there is none.
    let grain = match low == high {
        true => String::new(),
        false => format!(" ({low} to {high} by the counters' grain)"),
    };
    let off = format!("`{}` was off by {value}{grain}", was.group);
    let said = match was.verdict {
        Verdict::Kept if was.repeats < 2 => format!("was kept: {off}"),
        Verdict::Kept => "was kept".to_owned(),
        Verdict::Broken => format!("was broken: {off}"),
        _ => format!("was too close to {} to tell: {off}", margin(within)),
    };
    let of = match was.repeats {
        0 | 1 => String::new(),
        repeats => format!(" ({} of {} kept)", was.repeats_kept, count(repeats, "repeat")),
    };
    format!("{said} over all {:.1} s observed{of}", was.seconds)
}

/// The observation, and what a mean hides.
fn was(promise: &PromiseRecord, numbers: &Estimates) -> Vec<String> {
    let Some(was) = &numbers.was else { return Vec::new() };
    let mut parts = vec![of_fact(was, promise.within)];
    parts.extend(was.in_warm_up.clone());
    if let Some(states) = &was.states {
        parts.push(format!(
            "it moved between two states: `{}` had {:.2} times its promise for {:.1} s and \
             {:.2} times for {:.1} s",
            states.group, states.times[0], states.seconds[0], states.times[1], states.seconds[1]
        ));
    }
    if numbers.repeats < 2 && !numbers.is_long_enough() {
        parts.push(format!(
            "shares are correlated over {:.1} s, and the window is too short for that to \
             estimate its own noise",
            numbers.correlation_time_s
        ));
    }
    parts
}

/// The group that decides the verdict: the most significant breach of a broken promise, otherwise
/// the group whose interval reaches furthest.
fn decisive(numbers: &Estimates, within: f64, verdict: Verdict) -> Option<usize> {
    let reach = |index: &usize| {
        let deviation = &numbers.deviations[*index];
        match verdict {
            Verdict::Broken if numbers.repeats < 2 => {
                (numbers.is_broken_in_fact(*index, within), deviation.low)
            }
            Verdict::Broken => (true, deviation.low),
            _ => (true, deviation.high),
        }
    };
    let open = |index: &usize| {
        verdict != Verdict::Undecided
            || numbers.deviations[*index].verdict(within) == Verdict::Undecided
    };
    (0..numbers.deviations.len()).filter(open).max_by(|a, b| {
        let (a, b) = (reach(a), reach(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

/// `task1 got 7.4 % of what all got (promised 3.3 %)`.
fn seen(promise: &PromiseRecord, measure: Measure, numbers: &Estimates, index: usize) -> String {
    let name = &numbers.names[index];
    let (seen, expected) = (numbers.seen[index].value, numbers.expected[index].share);
    if promise.is.kind().divides() {
        return format!("`{name}` got {} of the total, promised {}", share(seen), share(expected));
    }
    let (seen, expected) = (rate(measure, seen), rate(measure, expected));
    match promise.is.kind().side() {
        Side::Above => format!("`{name}` used {seen}, limit {expected}"),
        Side::Below | Side::Both => format!("`{name}` got {seen}, promised {expected}"),
    }
}

/// A share with enough digits for the smallest of 128 groups.
fn share(value: f64) -> String {
    if value < 0.01 { format!("{:.3} %", 100.0 * value) } else { format!("{:.2} %", 100.0 * value) }
}
