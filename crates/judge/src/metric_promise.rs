//! A promise about workload metrics in one trial: of each start one number, which is inside or outside.
//!
//! A percentile is no mean, and the mean of percentiles is that of nothing. So no interval is made of them: the
//! verdict is the fraction of starts in which every group was inside.

use assay_run_folder::{PromiseRecord, Reference};
use assay_stats::rule::{FEWEST, Starts};
use assay_verdict::wording::{count, margin, number, percent, some_of};
use assay_verdict::{Cause, GroupJudgement, Interval, Observation, PromiseJudgement, Verdict};

use crate::checks::{Scope, ValidityCheck};
use crate::estimates::of_fraction;
use crate::metric::{Metric, Values};
use crate::repeat::Repeat;
use crate::statement::Statement;
use crate::subject::Subject;
use crate::{causes, document, placement, reason};

/// Reason for a void verdict on records of older studies that combined `every` with a metric.
const NO_SPANS: &str = "`every` asks for spans, and a workload reports one number a repeat";

/// One group over all starts.
struct Group {
    name: String,
    /// Its numbers.
    numbers: Vec<f64>,
    /// What they should have been: the bound, or the mean of all groups.
    expected: Vec<f64>,
    /// How far they were off.
    errors: Vec<f64>,
}

impl Group {
    fn starts(&self, within: f64) -> Starts {
        Starts::count(self.errors.iter().map(|error| *error <= within))
    }

    fn mean(numbers: &[f64]) -> f64 {
        numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
    }

    fn worst(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }
}

/// Judges a promise on `metric`.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    metric: Metric<'_>,
) -> PromiseJudgement {
    let failed = subject.failed(|scope| scope == Scope::All);
    let values = metric.observed(subject.trial, subject.repeats, |_| true);
    let groups = values.as_ref().map_err(Clone::clone).and_then(|values| groups(promise, values));
    let void = match &groups {
        _ if !failed.is_empty() => Some(reason::failed_checks(&failed)),
        _ if promise.every.is_some() => Some(NO_SPANS.to_owned()),
        Err(why) => Some(format!("there is no number to judge: {why}")),
        Ok(_) => None,
    };
    let groups = groups.unwrap_or_default();
    let left_out = values.map(|values| values.left_out).unwrap_or_default();
    let causes = |verdict| causes_of(subject, promise, &failed, verdict);
    let starts = starts(&groups, promise.within);
    let (verdict, reason, is_open) = match void {
        Some(why) => (Verdict::Void, why, false),
        None => {
            let objection = subject.objection(|repeat| broken(subject, promise, metric, repeat));
            // In a start without the number a group may have got nothing at all.
            let is_open = objection.is_some() || !left_out.is_empty();
            let found = match of_fraction(starts, subject.part) {
                Verdict::Kept if is_open => Verdict::Undecided,
                found => found,
            };
            let mut reason = sentence(promise, &groups, starts);
            if !left_out.is_empty() {
                reason = format!("{reason}; left out: {}", some_of(&left_out, "; "));
            }
            reason.extend(objection.map(|why| format!("; {why}")));
            (found, reason, is_open)
        }
    };
    let off = |group: &Group| Group::mean(&group.errors);
    let errors: Vec<f64> = (0..starts.of).map(|start| largest(&groups, start)).collect();
    // If a repeat lacks a value, errors cannot be assigned to repeats.
    let complete = left_out.is_empty();
    PromiseJudgement {
        worst_error: groups.iter().max_by(|a, b| off(a).total_cmp(&off(b))).map(|worst| Interval {
            value: off(worst),
            low: worst.errors.iter().copied().fold(f64::INFINITY, f64::min),
            high: worst.worst(),
        }),
        was: was(subject.repeats, &groups, promise.within, starts),
        errors: if complete { errors } else { Vec::new() },
        needs_repeats: (verdict == Verdict::Undecided && starts.of < FEWEST).then_some(FEWEST),
        groups: groups
            .iter()
            .map(|group| row(group, promise, (verdict, is_open, subject.part)))
            .collect(),
        causes: causes(verdict),
        ..document::document(promise, None, Statement { verdict, reason, is_open })
    }
}

/// The largest error of any group in one start.
fn largest(groups: &[Group], start: usize) -> f64 {
    groups.iter().map(|group| group.errors[start]).fold(0.0, f64::max)
}

/// The starts in which every group was inside.
fn starts(groups: &[Group], within: f64) -> Starts {
    let of = groups.iter().map(|group| group.errors.len()).min().unwrap_or(0);
    Starts::count((0..of).map(|start| largest(groups, start) <= within))
}

/// The numbers of each group and their distance from the promise, start by start.
fn groups(promise: &PromiseRecord, values: &Values) -> Result<Vec<Group>, String> {
    let side = promise.is.kind().side();
    let bound = match promise.is.to() {
        Reference::Value(bound) if !bound.is_finite() || bound <= 0.0 => {
            return Err("a bound must be a positive number".to_owned());
        }
        Reference::Value(bound) => Some(bound),
        Reference::Nothing if values.groups.len() < 2 => {
            return Err(format!("`{}` alone is equal to itself", values.groups[0]));
        }
        Reference::Nothing => None,
        Reference::Knob(_) => {
            return Err("no knob divides or bounds a workload metric".to_owned());
        }
    };
    let of = |(index, name): (usize, &String)| {
        let numbers: Vec<f64> = values.rows.iter().map(|(_, row)| row[index]).collect();
        let expected: Vec<f64> =
            values.rows.iter().map(|(_, row)| bound.unwrap_or_else(|| Group::mean(row))).collect();
        let error = |(number, expected): (&f64, &f64)| match *expected > 0.0 {
            true => side.error(*number, *expected),
            // Nobody got anything: that is equal.
            false => 0.0,
        };
        let errors = numbers.iter().zip(&expected).map(error).collect();
        Group { name: name.clone(), numbers, expected, errors }
    };
    Ok(values.groups.iter().enumerate().map(of).collect())
}

/// How far one repeat was outside the promise, if it was.
fn broken(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    metric: Metric<'_>,
    repeat: &Repeat<'_>,
) -> Option<String> {
    let values = metric.observed(subject.trial, std::slice::from_ref(repeat), |_| true).ok()?;
    let groups = groups(promise, &values).ok()?;
    let worst = groups.iter().max_by(|a, b| a.worst().total_cmp(&b.worst()))?;
    (worst.worst() > promise.within)
        .then(|| format!("`{}` was off by {}", worst.name, percent(worst.worst())))
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

fn was(
    repeats: &[Repeat<'_>],
    groups: &[Group],
    within: f64,
    starts: Starts,
) -> Option<Observation> {
    let worst = groups.iter().max_by(|a, b| a.worst().total_cmp(&b.worst()))?;
    let seconds = repeats.iter().map(Repeat::window_s).sum();
    Some(Observation::new(&worst.name, worst.worst(), within, seconds, starts))
}

/// `13 of 14 starts were inside, ...: reader.read_p99_ns of a is 8.1e6 to 9.2e6, ...`.
fn sentence(promise: &PromiseRecord, groups: &[Group], starts: Starts) -> String {
    let mut each = groups.iter();
    let Some(first) = each.next() else { return "no group has a number".to_owned() };
    let worst =
        each.fold(first, |worst, one| if one.worst() > worst.worst() { one } else { worst });
    let expected = number(Group::mean(&worst.expected));
    let promised = match promise.is.kind() {
        kind if kind.divides() => format!("the mean of all is {expected}"),
        kind => format!("{} was promised", kind.in_words(Some(&expected))),
    };
    let least = worst.numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = worst.numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let values = if least == most {
        number(least)
    } else {
        format!("{} to {}", number(least), number(most))
    };
    format!(
        "{}: `{}` of `{}` is {values}, {promised}, within {}{}",
        reason::of_starts(starts),
        promise.measure,
        worst.name,
        margin(promise.within),
        if groups.len() > 1 {
            format!(", and it was furthest off of {}", count(groups.len(), "group"))
        } else {
            String::new()
        }
    )
}

/// `low` and `high` are the least and the largest of the starts.
fn row(
    group: &Group,
    promise: &PromiseRecord,
    (verdict, is_open, part): (Verdict, bool, f64),
) -> GroupJudgement {
    let value = Group::mean(&group.numbers);
    GroupJudgement {
        name: group.name.clone(),
        knob: None,
        expected_share: Group::mean(&group.expected),
        share_by_weight: None,
        share: value,
        low: group.numbers.iter().copied().fold(f64::INFINITY, f64::min),
        high: group.numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        rate: value,
        verdict: match (verdict, of_fraction(group.starts(promise.within), part)) {
            (Verdict::Void, _) => Verdict::Void,
            (_, Verdict::Kept) if is_open => Verdict::Undecided,
            (_, own) => own,
        },
        was: None,
        worst_span: None,
    }
}
