//! A promise about workload metrics in one trial.

mod estimate;

use assay_run_folder::{PromiseRecord, Reference};
use assay_stats::over_repeats::needed_of_all;
use assay_stats::pooled::Estimate;
use assay_terms::Side;
use assay_verdict::wording::{count, few, margin as margin_text, number, percent, some_of};
use assay_verdict::{Cause, GroupJudgement, PromiseJudgement, Verdict};

use crate::checks::{Scope, ValidityCheck};
use crate::decide::{self, Deviation};
use crate::metric::{Metric, Values};
use crate::repeat::Repeat;
use crate::statement::Statement;
use crate::subject::Subject;
use crate::{causes, document, placement, reason};
use estimate::{GroupEstimate, seen};

/// Reason for a void verdict on records of older studies that combined `every` with a metric.
const NO_SPANS: &str = "`every` asks for spans, and a workload reports one number a repeat";

/// Judges a promise on `metric`. The interval of a group is Student's t over its repeats.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    metric: Metric<'_>,
) -> PromiseJudgement {
    let failed = subject.failed(|scope| scope == Scope::All);
    // Zeros are compared with a bound; their ratio to other groups is unknown.
    let values = match promise.is.to() {
        Reference::Nothing => metric.values(subject.trial, subject.repeats, |_| true),
        _ => metric.observed(subject.trial, subject.repeats, |_| true),
    };
    let seen = values.as_ref().map_err(Clone::clone).and_then(|values| seen(promise, values));
    let (verdict, reason) = match (&seen, &values) {
        _ if !failed.is_empty() => (Verdict::Void, reason::failed_checks(&failed)),
        _ if promise.every.is_some() => (Verdict::Void, NO_SPANS.to_owned()),
        (Err(why), _) => (Verdict::Void, format!("there is no number to judge: {why}")),
        (Ok(seen), Ok(values)) => decide(promise, seen, values),
        (Ok(_), Err(why)) => (Verdict::Void, why.clone()),
    };
    let objection = subject.objection(|repeat| broken(subject, promise, metric, repeat));
    // What concerns all groups forbids the same of each that it forbids of the promise.
    let found = values.as_ref().ok();
    let allows = Allows {
        kept: objection.is_none() && found.is_some_and(|values| values.left_out.is_empty()),
        broken: found.is_none_or(may_break),
    };
    let (will_be, verdict, reason) = match (verdict, objection) {
        (Verdict::Void, _) => (None, verdict, reason),
        (Verdict::Kept, Some(why)) => {
            (Some(verdict), Verdict::Undecided, format!("{reason}; {why}"))
        }
        _ => (Some(verdict), verdict, reason),
    };
    let seen = seen.unwrap_or_default();
    // If a repeat lacks a value, errors cannot be assigned to repeats.
    let complete = values.is_ok_and(|values| values.left_out.is_empty());
    let deviations: Vec<Deviation> = seen.iter().map(|group| group.deviation).collect();
    PromiseJudgement {
        worst_error: decide::worst(&deviations),
        errors: if complete { largest_errors(&seen) } else { Vec::new() },
        needs_repeats: (verdict == Verdict::Undecided).then(|| needed(promise, &seen)).flatten(),
        groups: seen.iter().map(|group| document(group, promise, (verdict, allows))).collect(),
        causes: causes_of(subject, promise, &failed, verdict),
        proofs: Vec::new(),
        ..document::document(promise, None, Statement { verdict, will_be, reason, is_open: false })
    }
}

/// Which verdicts the repeats that are left out allow.
#[derive(Clone, Copy)]
struct Allows {
    kept: bool,
    broken: bool,
}

/// Whether repeats that are left out as zero allow broken: it is unknown to which side they would move
/// the mean of equal groups.
fn may_break(values: &Values) -> bool {
    values.zeros.is_empty()
}

/// How far one repeat was outside the promise, if it was. A group without anything is outside of one
/// of equal groups, unless none got anything.
fn broken(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    metric: Metric<'_>,
    repeat: &Repeat<'_>,
) -> Option<String> {
    let values = metric.observed(subject.trial, std::slice::from_ref(repeat), |_| true).ok()?;
    let (_, row) = values.rows.first()?;
    let zero = row.iter().position(|value| *value <= 0.0);
    let (name, off) = match zero.filter(|_| promise.is.to() == Reference::Nothing) {
        Some(zero) => {
            (&values.groups[zero], if row.iter().any(|one| *one > 0.0) { 1.0 } else { 0.0 })
        }
        None => {
            let seen = seen(promise, &values).ok()?;
            let worst =
                seen.iter().max_by(|a, b| a.deviation.value.total_cmp(&b.deviation.value))?;
            (values.groups.iter().find(|name| **name == worst.name)?, worst.deviation.value)
        }
    };
    (off > promise.within).then(|| format!("`{name}` was off by {}", percent(off)))
}

/// The largest error of any group in each repeat.
fn largest_errors(seen: &[GroupEstimate]) -> Vec<f64> {
    let repeats = seen.iter().map(|group| group.errors.len()).min().unwrap_or(0);
    let largest = |repeat: usize| seen.iter().map(|group| group.errors[repeat]).fold(0.0, f64::max);
    (0..repeats).map(largest).collect()
}

/// Causes proven by failed checks; for a broken promise also those of placement and the host.
fn causes_of(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    failed: &[&ValidityCheck],
    verdict: Verdict,
) -> Vec<Cause> {
    let proven = failed.iter().filter_map(|validity| validity.cause());
    if verdict != Verdict::Broken {
        return proven.collect();
    }
    // A known cause in the placement makes the search for others unnecessary.
    match placement::blind(subject, &promise.measure) {
        Some(blind) => proven.chain([blind]).collect(),
        None => proven.chain(causes::of_metric(subject)).collect(),
    }
}

fn decide(promise: &PromiseRecord, seen: &[GroupEstimate], values: &Values) -> (Verdict, String) {
    let found = Verdict::worst(seen.iter().map(|group| group.verdict(promise)));
    // In a repeat without the number a group may have got nothing at all.
    let verdict = match found {
        Verdict::Kept if !values.left_out.is_empty() => Verdict::Undecided,
        Verdict::Broken if !may_break(values) => Verdict::Undecided,
        found => found,
    };
    let reach = |group: &&GroupEstimate| match verdict {
        Verdict::Broken => group.deviation.low,
        _ => group.deviation.high,
    };
    let Some(decisive) = seen.iter().max_by(|a, b| reach(a).total_cmp(&reach(b))) else {
        return (Verdict::Void, "no group has a number".to_owned());
    };
    let mut reason = sentence(promise, decisive, seen.len(), verdict);
    if !values.left_out.is_empty() {
        reason = format!("{reason}; left out: {}", some_of(&values.left_out, "; "));
    }
    (verdict, reason)
}

fn sentence(
    promise: &PromiseRecord,
    group: &GroupEstimate,
    groups: usize,
    verdict: Verdict,
) -> String {
    let repeats = group.spread.count;
    let Estimate { value, low, high, .. } = group.estimate;
    let expected = number(group.expected);
    let promised = match promise.is.kind() {
        kind if kind.divides() => format!("the mean of all is {expected}"),
        kind => format!("{} was promised", kind.in_words(Some(&expected))),
    };
    let what = format!("`{}` of `{}` is {}", promise.measure, group.name, number(value));
    if !group.spread.is_known() {
        let few = few(repeats);
        return format!(
            "{what}, {promised}: {few} nothing about the scatter; set `repeats` to \
             3 or more under [design]"
        );
    }
    let interval = format!(
        "{} to {} with {} confidence over {}",
        number(low),
        number(high),
        percent(promise.confidence),
        count(repeats, "repeat")
    );
    let within = margin_text(promise.within);
    let all =
        if groups > 1 { format!("all of {}: ", count(groups, "group")) } else { String::new() };
    match verdict {
        Verdict::Kept => format!("{all}{what} ({interval}), {promised}, within {within}"),
        Verdict::Broken => {
            format!("{what} ({interval}), {promised}, and it is off by more than {within}")
        }
        Verdict::Undecided | Verdict::Void => format!(
            "{what} ({interval}), {promised}, which leaves open whether it is within {within}"
        ),
    }
}

/// The repeats that would probably decide.
fn needed(promise: &PromiseRecord, seen: &[GroupEstimate]) -> Option<usize> {
    let open =
        seen.iter().filter(|group| group.deviation.verdict(promise.within) == Verdict::Undecided);
    needed_of_all(open.map(|group| (group.spread, room(promise, group))), promise.confidence)
}

/// Distance of the estimate from the edge of the margin, on the scale of the spread; negative outside.
fn room(promise: &PromiseRecord, group: &GroupEstimate) -> f64 {
    let edge = |factor: f64| {
        let edge = group.expected * factor;
        if group.has_zeros { edge } else { edge.ln() }
    };
    let own = if group.has_zeros { group.estimate.value } else { group.spread.mean };
    let above = edge(1.0 + promise.within) - own;
    let below = own - edge(1.0 - promise.within);
    match promise.is.kind().side() {
        Side::Above => above,
        Side::Below => below,
        Side::Both => above.min(below),
    }
}

fn document(
    group: &GroupEstimate,
    promise: &PromiseRecord,
    (verdict, allows): (Verdict, Allows),
) -> GroupJudgement {
    GroupJudgement {
        name: group.name.clone(),
        knob: None,
        expected_share: group.expected,
        share_by_weight: None,
        share: group.estimate.value,
        low: group.estimate.low,
        high: group.estimate.high,
        rate: group.estimate.value,
        verdict: match verdict {
            Verdict::Void => Verdict::Void,
            _ => match group.verdict(promise) {
                Verdict::Kept if !allows.kept => Verdict::Undecided,
                Verdict::Broken if !allows.broken => Verdict::Undecided,
                own => own,
            },
        },
        was: None,
        worst_span: None,
    }
}
