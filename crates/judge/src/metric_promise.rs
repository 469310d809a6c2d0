//! A promise about workload metrics in one trial: of each start one number, which is inside or outside.
//!
//! A percentile is no mean, and the mean of percentiles is that of nothing. So no interval is made of them: the
//! verdict is the fraction of starts in which every group was inside.

use assay_record::run_folder::{PromiseRecord, Reference};
use assay_stats::rule::Starts;

use crate::by_starts::{self, Row, mean};
use crate::found::{Found, without_numbers};
use crate::judged::Judged;
use crate::metric::{Metric, Values};
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::verdict::wording::{count, margin, number, percent, some_of};
use crate::verdict::{Cause, Interval, Observation, PromiseJudgement};
use crate::{placement, reason};

/// Reason for a void verdict on records of older studies that combined `every` with a metric.
const NO_SPANS: &str = "`every` asks for spans, and a workload reports one number a repeat";

/// The numbers of a promise on `metric`.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    metric: Metric<'_>,
    of: Judged<'_, '_>,
) -> Found {
    let values = metric.values(subject.trial, of.repeats, |_| true);
    let found = values
        .and_then(Values::if_any)
        .and_then(|values| Ok((rows(promise, &values)?, values.left_out)));
    let no_spans = promise.every.is_some().then(|| NO_SPANS.to_owned());
    let (rows, left_out) = match found {
        Ok(found) => found,
        Err(why) => {
            let why = format!("there is no number to judge: {why}");
            return Found::nothing(promise, no_spans.unwrap_or(why));
        }
    };
    let starts = by_starts::starts(|| rows.iter());
    let (verdict, needs) = by_starts::decide(starts, subject.part);
    let all_known = of.starts(starts);
    let mut reason = sentence(promise, &rows, all_known);
    if !left_out.is_empty() {
        reason = format!("{reason}; left out: {}", some_of(&left_out, "; "));
    }
    let largest = |start: usize| rows.iter().map(|row| row.errors[start]).fold(0.0, f64::max);
    let off = |row: &&Row| mean(&row.errors);
    let worst = rows.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    let judged = PromiseJudgement {
        verdict,
        reason,
        worst_error: worst.map(Row::error),
        was: was(of.repeats, &rows, promise.within, all_known),
        // If a repeat lacks a value, errors cannot be assigned to repeats.
        errors: if left_out.is_empty() {
            (0..starts.of).map(largest).collect()
        } else {
            Vec::new()
        },
        groups: rows.iter().map(|row| row.judged(subject.part)).collect(),
        causes: match by_starts::is_off(starts, verdict) {
            true => causes_of(subject, promise),
            false => Vec::new(),
        },
        ..without_numbers(promise)
    };
    Found {
        void: no_spans,
        // In a start without the number a group may have got nothing at all.
        is_open: !left_out.is_empty(),
        names_objection: true,
        needs: (needs, None),
        ..Found::new(judged)
    }
}

/// The numbers of each group and their distance from the promise, start by start.
fn rows(promise: &PromiseRecord, values: &Values) -> Result<Vec<Row>, String> {
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
            values.rows.iter().map(|(_, row)| bound.unwrap_or_else(|| mean(row))).collect();
        let error = |(number, expected): (&f64, &f64)| match *expected > 0.0 {
            true => side.error(*number, *expected),
            // Nobody got anything: that is equal.
            false => 0.0,
        };
        let errors: Vec<f64> = numbers.iter().zip(&expected).map(error).collect();
        let inside = errors.iter().map(|error| *error <= promise.within).collect();
        Row { name: name.clone(), numbers, expected: mean(&expected), errors, inside }
    };
    Ok(values.groups.iter().enumerate().map(of).collect())
}

/// How far these repeats were outside the promise, if they were.
pub(crate) fn broken(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    metric: Metric<'_>,
    repeats: &[Repeat<'_>],
) -> Result<Option<String>, String> {
    let values = metric.values(subject.trial, repeats, |_| true).and_then(Values::if_any)?;
    let rows = rows(promise, &values)?;
    let worst = rows.iter().max_by(|a, b| a.worst().total_cmp(&b.worst()));
    let outside = worst.filter(|worst| worst.worst() > promise.within);
    Ok(outside.map(|one| format!("`{}` was off by {}", one.name, percent(one.worst()))))
}

/// Causes of a broken promise: a known one in the placement makes the search for others unnecessary.
fn causes_of(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Cause> {
    match placement::blind(subject, &promise.measure) {
        Some(blind) => vec![blind],
        None => subject.causes.of_metric(subject, promise),
    }
}

fn was(repeats: &[Repeat<'_>], rows: &[Row], within: f64, starts: Starts) -> Option<Observation> {
    let worst = rows.iter().max_by(|a, b| a.worst().total_cmp(&b.worst()))?;
    let seconds = repeats.iter().map(Repeat::window_s).sum();
    Some(Observation::new(&worst.name, worst.worst(), within, seconds, starts))
}

/// `13 of 14 starts were inside, ...: reader.read_p99_ns of a is 8.1e6 to 9.2e6, ...`.
fn sentence(promise: &PromiseRecord, rows: &[Row], starts: Starts) -> String {
    // Of those that are equally far off the first.
    let worst = rows.iter().rev().max_by(|a, b| a.worst().total_cmp(&b.worst()));
    let Some(worst) = worst else { return "no group has a number".to_owned() };
    let expected = number(worst.expected);
    let promised = match promise.is.kind() {
        kind if kind.divides() => format!("the mean of all is {expected}"),
        kind => format!("{} was promised", kind.in_words(Some(&expected))),
    };
    let Interval { low, high, .. } = worst.seen();
    let values =
        if low == high { number(low) } else { format!("{} to {}", number(low), number(high)) };
    format!(
        "{}: `{}` of `{}` is {values}, {promised}, within {}{}",
        reason::of_starts(starts),
        promise.measure,
        worst.name,
        margin(promise.within),
        if rows.len() > 1 {
            format!(", and it was furthest off of {}", count(rows.len(), "group"))
        } else {
            String::new()
        }
    )
}
