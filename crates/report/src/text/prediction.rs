//! A prediction and its score, for a terminal.

use assay_verdict::{Basis, Prediction, PromisePrediction, PromiseScore, Score, TrialPrediction};

use super::layout::{Table, wrap};
use super::paint::Paint;
use crate::number::{self, NONE, Unit};
use crate::wording;

/// Up to this many groups are shown one by one; more are aggregated by promised share.
const MAX_SINGLE_GROUPS: usize = 16;

/// A prediction for a study, for a terminal of `width` columns.
#[must_use]
pub fn render(prediction: &Prediction, width: usize) -> String {
    let mut lines = vec![format!("prediction of {}", prediction.study)];
    let basis = match &prediction.calibration {
        Basis::Measured(when) => format!("  rests on measurements of this disk ({when})"),
        Basis::Assumed(why) => format!("  rests on assumptions: {why}"),
    };
    lines.extend(wrap(&basis, width, "  "));
    for trial in &prediction.trials {
        lines.push(String::new());
        lines.extend(trial_lines(trial, width));
    }
    if !prediction.knees.is_empty() {
        lines.push(String::new());
    }
    for knee in &prediction.knees {
        let result = match knee.breaks_at {
            Some(groups) => format!("breaks from {groups} groups on"),
            None => format!("holds up to {} groups", knee.searched_to),
        };
        let held = wording::factors(&knee.held);
        let held = if held.is_empty() { String::new() } else { format!(" ({held})") };
        let within = number::percent(knee.within, 0);
        lines.extend(wrap(
            &format!("{}{held}, within {within} %: {result}", knee.measure),
            width,
            "  ",
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn trial_lines(trial: &TrialPrediction, width: usize) -> Vec<String> {
    let name = wording::factors(&trial.factors);
    let mut lines = vec![if name.is_empty() { "the trial".to_owned() } else { name }];
    for why in &trial.outside {
        lines.extend(wrap(&format!("  outside the validated range: {why}"), width, "    "));
    }
    if trial.promises.is_empty() {
        let text = "  not available: the trial has no promise of its own, and promises across trials are not modelled";
        lines.extend(wrap(text, width, "    "));
    }
    for promise in &trial.promises {
        lines.extend(promise_lines(promise, width));
    }
    lines
}

fn promise_lines(promise: &PromisePrediction, width: usize) -> Vec<String> {
    if let Some(why) = &promise.not_available {
        return wrap(&format!("  {}: not available: {why}", promise.measure), width, "    ");
    }
    let verdict = promise.verdict.map_or("none", wording::verdict);
    let text = format!("  {}: {verdict}: {}", promise.measure, promise.reason);
    let mut lines = wrap(&text, width, "    ");
    let mut facts = Vec::new();
    if let Some(error) = promise.worst_error {
        facts.push(format!("worst error {} %", number::percent(error, 1)));
    }
    if let Some(rate) = promise.total_rate {
        facts.push(format!("total {}", Unit::for_rate(&promise.measure, rate).with_label(rate)));
    }
    if let Some(idle) = promise.idle {
        facts.push(format!("CPUs idle {} %", number::percent(idle, 1)));
    }
    if let Some(queue) = promise.queue {
        facts.push(format!("mean queue {}", number::fixed(queue, 1)));
    }
    if !facts.is_empty() {
        lines.extend(wrap(&format!("  {}", facts.join("; ")), width, "    "));
    }
    if !promise.groups.is_empty() {
        lines.extend(shares(promise, width));
    }
    lines
}

/// One group or several alike: name, promised share, sum of expected shares, count.
type Row = (String, f64, f64, f64);

/// The table of promised and expected shares: of each group, or of groups with equal promises.
fn shares(promise: &PromisePrediction, width: usize) -> Vec<String> {
    let mut rows: Vec<Row> = Vec::new();
    let singly = promise.groups.len() <= MAX_SINGLE_GROUPS;
    for group in &promise.groups {
        let same = |row: &&mut Row| (row.1 - group.expected_share).abs() < 1e-9;
        match rows.iter_mut().find(same).filter(|_| !singly) {
            Some(row) => {
                row.2 += group.share;
                row.3 += 1.0;
            }
            None => rows.push((group.name.clone(), group.expected_share, group.share, 1.0)),
        }
    }
    let smallest = rows.iter().map(|row| row.1).fold(f64::INFINITY, f64::min);
    let decimals = number::percent_decimals(smallest);
    let name = |row: &Row| match row.3 > 1.0 {
        true => format!("{} and {} like it", row.0, row.3 - 1.0),
        false => row.0.clone(),
    };
    let error = |row: &Row| match row.1 > 0.0 {
        true => number::signed_percent(row.2 / row.3 / row.1 - 1.0),
        false => NONE.to_owned(),
    };
    Table::new(&rows)
        .left("group", 0, name)
        .right("promised %", 0, |row| number::percent(row.1, decimals))
        .right("expected %", 0, |row| number::percent(row.2 / row.3, decimals))
        .right("error %", 0, error)
        .lines(width, Paint { color: false })
}

/// The accuracy of a prediction, for a terminal of `width` columns.
#[must_use]
pub fn score(score: &Score, width: usize) -> String {
    let all: Vec<&PromiseScore> = score.trials.iter().flat_map(|trial| &trial.promises).collect();
    let Some((mean, points)) = score.mean_error.zip(score.mean_points) else {
        return "prediction: no part of it can be compared with a measurement\n".to_owned();
    };
    let outside = all.iter().filter(|one| !one.outside.is_empty()).count();
    let mut text = format!(
        "prediction: mean error of shares {} % of the measured value ({} points); {} of {} \
         verdicts as predicted",
        number::percent(mean, 1),
        number::percent(points, 2),
        score.right,
        score.verdicts
    );
    if outside > 0 {
        text.push_str(&format!("; {outside} of {} outside the validated range", all.len()));
    }
    let mut lines = wrap(&text, width, "  ");
    lines.push(String::new());
    lines.join("\n")
}
