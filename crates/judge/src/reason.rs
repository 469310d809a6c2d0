//! The sentence that explains the verdict of a promise.

use crate::verdict::wording::{count, margin, number, percent, rate};
use crate::verdict::{GroupJudgement, Interval, SpansJudgement, Verdict};
use assay_record::run_folder::{EveryRecord, PromiseRecord};
use assay_record::terms::{Measure, Side};
use assay_stats::rule::{FEWEST, Starts};
use assay_stats::spans;

use crate::checks::ValidityCheck;
use crate::decide::Deviation;
use crate::estimates::Estimates;

/// Void: every failed check with its evidence.
pub(crate) fn failed_checks(failed: &[&ValidityCheck]) -> String {
    let each = failed
        .iter()
        .map(|validity| format!("`{}`: {}", validity.check.check, validity.check.evidence));
    each.collect::<Vec<_>>().join("; ")
}

/// Kept, broken or undecided: the deciding group and its numbers, then the starts. `found` is the
/// verdict by the means.
pub(crate) fn of_means(promise: &PromiseRecord, numbers: &Estimates, found: Verdict) -> String {
    let Some((group, deviation)) = decisive(numbers, promise.within, found) else {
        return "no group is measured".to_owned();
    };
    let what = seen(promise, group);
    let (within, off) = (margin(promise.within), percent(deviation.value));
    let groups = count(numbers.groups.len(), "group");
    let mut parts = vec![match found {
        Verdict::Kept => format!(
            "all of {groups} are within {within} of their promise: {what}, off by {off} and at \
             most {}",
            percent(deviation.high)
        ),
        Verdict::Broken => format!(
            "{what}, off by {off} and at least {}; the margin is {within}",
            percent(deviation.low)
        ),
        _ if deviation.high.is_infinite() => format!("{what}, off by {off}"),
        _ => format!(
            "{what}, off by {off} and at most {}, which leaves open whether it is within {within}",
            percent(deviation.high)
        ),
    }];
    parts.extend(numbers.spans.as_ref().map(|spans| of_spans(spans, promise.every)));
    if let Some(was) = &numbers.was {
        parts.push(of_starts(was.starts()));
        if found == Verdict::Kept && was.verdict == Verdict::Broken {
            let off = percent(was.error.value);
            parts.push(format!(
                "but with what was cut as warm-up, `{}` was off by {off}",
                was.group
            ));
        }
    }
    parts.join("; ")
}

/// `7 of 8 starts were inside, chance of another: at least 53 %`; if most were not, how large it is at most.
pub(crate) fn of_starts(starts: Starts) -> String {
    let were = if starts.of == 1 { "was" } else { "were" };
    let inside = format!("{} of {} {were} inside", starts.inside, count(starts.of, "start"));
    match starts.of < FEWEST {
        true => format!("{inside}, and a verdict takes {FEWEST} or more"),
        false if 2 * starts.inside < starts.of => {
            let most = starts.another_at_most();
            format!("{inside}, chance of another: at most {:.0} %", (100.0 * most).ceil())
        }
        false => {
            let least = starts.another_at_least();
            format!("{inside}, chance of another: at least {:.0} %", (100.0 * least).floor())
        }
    }
}

/// `task1 holds in 85 % of the spans of 1.0 s`.
fn of_spans(spans: &SpansJudgement, every: Option<EveryRecord>) -> String {
    let Interval { value, low, high } = spans.held;
    let held = format!(
        "`{}` was within the margin in {} of its spans of {:.1} s ({} to {} in a start), where {} was \
         promised",
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

/// The group that decides the verdict: the most significant breach of a broken promise, otherwise
/// the group whose bound reaches furthest.
fn decisive(
    numbers: &Estimates,
    within: f64,
    verdict: Verdict,
) -> Option<(&GroupJudgement, &Deviation)> {
    let reach = |one: &Deviation| match verdict {
        Verdict::Broken => (one.low, one.value),
        _ => (one.high, one.value),
    };
    let open = |(_, one): &(&GroupJudgement, &Deviation)| {
        verdict != Verdict::Undecided || one.verdict(within) == Verdict::Undecided
    };
    numbers.groups.iter().zip(&numbers.deviations).filter(open).max_by(|(_, a), (_, b)| {
        let (a, b) = (reach(a), reach(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

/// `task1 got 7.4 % of what all got (promised 3.3 %)`.
fn seen(promise: &PromiseRecord, group: &GroupJudgement) -> String {
    let (name, seen, expected) = (&group.name, group.share, group.expected_share);
    if promise.is.kind().divides() {
        return format!("`{name}` got {} of the total, promised {}", share(seen), share(expected));
    }
    let measure = Measure::parse(&promise.measure).unwrap_or(Measure::IoBytes);
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
