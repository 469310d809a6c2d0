//! The sentence that explains the verdict of a promise.

use assay_run_folder::{EveryRecord, PromiseRecord, RelationRecord};
use assay_stats::spans;
use assay_verdict::wording::{count, margin, number, percent, rate};
use assay_verdict::{Interval, Measure, Observation, SpansJudgement, Verdict};

use crate::checks::ValidityCheck;
use crate::estimates::Numbers;

/// Void: every failed check with its evidence.
pub(crate) fn failed_checks(failed: &[&ValidityCheck]) -> String {
    let each = failed
        .iter()
        .map(|validity| format!("`{}`: {}", validity.check.check, validity.check.evidence));
    each.collect::<Vec<_>>().join("; ")
}

/// Void: a limit that no group reached was not tested.
pub(crate) fn never_bound(
    numbers: &Numbers,
    measure: Measure,
    bound: f64,
    within: f64,
) -> Option<String> {
    let near = bound * (1.0 - within.max(0.1));
    let highest = numbers.seen.iter().max_by(|a, b| a.high.total_cmp(&b.high))?;
    (highest.high < near).then(|| {
        format!(
            "the limit of {} never bound: no group used more than {}",
            rate(measure, bound),
            rate(measure, highest.high)
        )
    })
}

/// Void: the limit of one group was not tested.
pub(crate) fn never_bound_group(
    measure: Measure,
    group: &str,
    knob: &str,
    limit: f64,
    used: f64,
    throttled_periods: Option<f64>,
) -> String {
    let periods = match throttled_periods {
        Some(periods) if periods <= 0.0 => ", and was throttled in no period",
        _ => "",
    };
    format!(
        "the limit of `{group}` never bound: it used {} where `{knob}` allows {}{periods}",
        rate(measure, used),
        rate(measure, limit)
    )
}

/// Kept, broken or undecided: the deciding group and its numbers, then the observation. `found` is
/// the verdict by the intervals of the means, `verdict` the final one.
pub(crate) fn of_numbers(
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
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
    if numbers.repeats < 2 && verdict != Verdict::Broken {
        parts.push(
            "one repeat shows only its own window; three or more show what to expect of others"
                .to_owned(),
        );
    }
    parts.extend(was(promise, numbers));
    if found == Verdict::Kept && !unbounded {
        parts.extend(numbers.unsettled.clone());
        parts.extend(objection.map(str::to_owned));
    }
    parts.join("; ")
}

/// One window with unknown noise: a number without an interval.
fn of_window(numbers: &Numbers, (decisive, what): (usize, String)) -> String {
    format!(
        "{what} {}, off by {}, and its noise is unknown",
        over(numbers),
        percent(numbers.deviations[decisive].value)
    )
}

fn over(numbers: &Numbers) -> String {
    match numbers.repeats {
        0 | 1 => format!("in this window of {:.1} s", numbers.window_s),
        repeats => format!("over {}", count(repeats, "repeat")),
    }
}

fn of_means(
    promise: &PromiseRecord,
    numbers: &Numbers,
    (decisive, what): (usize, String),
    found: Verdict,
) -> String {
    let deviation = &numbers.deviations[decisive];
    let (sure, within) = (percent(promise.confidence), margin(promise.within));
    let groups = count(numbers.names.len(), "group");
    let of = over(numbers);
    match found {
        Verdict::Kept => format!(
            "all of {groups} are within {within} of what was promised {of}: {what}, off by {} and \
             at most {} with {sure} confidence",
            percent(deviation.value),
            percent(deviation.high)
        ),
        Verdict::Broken => format!(
            "{what} {of}, off by {} and at least {} with {sure} confidence over all of {groups}, \
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
                "{what} {of}, off by {} and anything from {} to {high} with {sure} confidence, \
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
    let held = format!(
        "`{}` was within the margin in {} of its spans of {:.1} s ({} to {}), where {} was promised",
        spans.group,
        percent(value),
        spans.every_s,
        percent(low),
        percent(high),
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
    let off = format!("`{}` was off by {}", was.group, percent(was.error.value));
    let said = match was.verdict {
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
fn was(promise: &PromiseRecord, numbers: &Numbers) -> Vec<String> {
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
    if numbers.repeats < 2 && !numbers.has_short_memory() {
        parts.push(format!(
            "shares are correlated over {:.1} s, and the window is too short for that to \
             estimate its own noise",
            numbers.memory_s
        ));
    }
    parts
}

/// The group that decides the verdict: the most significant breach of a broken promise, otherwise
/// the group whose interval reaches furthest.
fn decisive(numbers: &Numbers, within: f64, verdict: Verdict) -> Option<usize> {
    let reach = |index: &usize| {
        let deviation = &numbers.deviations[*index];
        if verdict == Verdict::Broken { deviation.low } else { deviation.high }
    };
    let open = |index: &usize| {
        verdict != Verdict::Undecided
            || numbers.deviations[*index].verdict(within) == Verdict::Undecided
    };
    (0..numbers.deviations.len()).filter(open).max_by(|a, b| reach(a).total_cmp(&reach(b)))
}

/// `task1 got 7.4 % of what all got (promised 3.3 %)`.
fn seen(promise: &PromiseRecord, measure: Measure, numbers: &Numbers, index: usize) -> String {
    let name = &numbers.names[index];
    let (seen, expected) = (numbers.seen[index].value, numbers.expected[index].share);
    match &promise.is {
        RelationRecord::Proportional(_) | RelationRecord::Equal => {
            format!("`{name}` got {} of the total, promised {}", share(seen), share(expected))
        }
        RelationRecord::AtMost(_) | RelationRecord::AtMostKnob(_) => {
            format!("`{name}` used {}, limit {}", rate(measure, seen), rate(measure, expected))
        }
        RelationRecord::AtLeast(_)
        | RelationRecord::AtLeastKnob(_)
        // Has its own sentences.
        | RelationRecord::Placed => {
            format!("`{name}` got {}, promised {}", rate(measure, seen), rate(measure, expected))
        }
    }
}

/// A share with enough digits for the smallest of 128 groups.
fn share(value: f64) -> String {
    if value < 0.01 { format!("{:.3} %", 100.0 * value) } else { format!("{:.2} %", 100.0 * value) }
}
