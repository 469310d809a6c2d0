//! The one sentence that says why a promise has its verdict.

use assay_record::{PromiseRecord, RelationRecord};

use crate::gates::Gate;
use crate::judgement::Verdict;
use crate::measure::Measure;
use crate::promise::Numbers;
use crate::wording::{count, margin, percent, rate};

/// Void: every gate that failed, with its evidence.
pub(crate) fn of_gates(failed: &[&Gate]) -> String {
    let each = failed.iter().map(|gate| format!("`{}`: {}", gate.check.check, gate.check.evidence));
    each.collect::<Vec<_>>().join("; ")
}

/// Undecided, whatever the interval says.
pub(crate) fn too_few_blocks(numbers: &Numbers, needed: f64) -> String {
    format!(
        "the window of {:.1} s holds only {:.1} independent blocks of time, and a verdict needs \
         {needed}",
        numbers.window_s, numbers.blocks
    )
}

/// Void: a limit that nobody reached was not tested.
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

/// Kept, broken or undecided: the group that decides and its numbers.
pub(crate) fn of_numbers(
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
    verdict: Verdict,
) -> String {
    let Some(decisive) = decisive(numbers, promise.within, verdict) else {
        return "no group is measured".to_owned();
    };
    let offence = &numbers.offences[decisive];
    let (sure, within) = (percent(promise.confidence), margin(promise.within));
    let what = seen(promise, measure, numbers, decisive);
    let groups = count(numbers.names.len(), "group");
    match verdict {
        Verdict::Kept => format!(
            "all of {groups} are within {within} of what was promised: {what}, off by {} and at \
             most {} with {sure} confidence",
            percent(offence.value),
            percent(offence.high)
        ),
        Verdict::Broken => format!(
            "{what}, off by {} and at least {} with {sure} confidence over all of {groups}, where \
             {within} was promised",
            percent(offence.value),
            percent(offence.low)
        ),
        Verdict::Undecided | Verdict::Void => format!(
            "{what}, off by {} and anything from {} to {} with {sure} confidence, which leaves \
             open whether it is within {within}",
            percent(offence.value),
            percent(offence.low),
            percent(offence.high)
        ),
    }
}

/// The group on which the verdict rests: the surest offender of a broken promise, else the one
/// whose interval reaches furthest.
fn decisive(numbers: &Numbers, within: f64, verdict: Verdict) -> Option<usize> {
    let reach = |index: &usize| {
        let offence = &numbers.offences[*index];
        if verdict == Verdict::Broken { offence.low } else { offence.high }
    };
    let open = |index: &usize| {
        verdict != Verdict::Undecided
            || numbers.offences[*index].verdict(within) == Verdict::Undecided
    };
    (0..numbers.offences.len()).filter(open).max_by(|a, b| reach(a).total_cmp(&reach(b)))
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
        // Has sentences of its own.
        | RelationRecord::Placed => {
            format!("`{name}` got {}, promised {}", rate(measure, seen), rate(measure, expected))
        }
    }
}

/// A share with as many digits as the smallest of 128 groups needs.
fn share(value: f64) -> String {
    if value < 0.01 { format!("{:.3} %", 100.0 * value) } else { format!("{:.2} %", 100.0 * value) }
}
