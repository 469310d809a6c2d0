//! The table of a promise's groups.

use assay_verdict::{GroupJudgement, PromiseJudgement, TrialJudgement};

use super::layout::{Align, Column, table};
use super::paint::Paint;
use crate::number::{self, NONE, Unit};
use crate::subjects::{self, MAX_SINGLE_GROUPS};
use crate::wording;

/// All groups, or the worst ones and one line for each weight.
pub(super) fn lines(
    judged: &TrialJudgement,
    promise: &PromiseJudgement,
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let groups = subjects::ordered(promise);
    if groups.is_empty() {
        return vec![];
    }
    if groups.len() <= MAX_SINGLE_GROUPS {
        return painted(&groups, table(columns(judged, promise, &groups), width), paint);
    }
    let mut worst = groups.clone();
    worst.sort_by(|a, b| {
        subjects::violation(promise, b).total_cmp(&subjects::violation(promise, a))
    });
    worst.truncate(MAX_SINGLE_GROUPS);
    let mut lines = vec![format!(
        "  the {MAX_SINGLE_GROUPS} groups with the largest errors, of {}:",
        groups.len()
    )];
    lines.extend(painted(&worst, table(columns(judged, promise, &worst), width), paint));
    lines.push(String::new());
    lines.push("  all groups by weight:".to_owned());
    let mut classes = table(class_columns(promise, &groups), width).into_iter();
    lines.extend(classes.next().map(|heading| paint.faint(&heading)));
    lines.extend(classes);
    lines
}

/// Colours the last word of each row, its verdict; padding is done before, since colours take no
/// columns.
fn painted(groups: &[&GroupJudgement], rows: Vec<String>, paint: Paint) -> Vec<String> {
    let mut rows = rows.into_iter();
    let heading = rows.next().map(|heading| paint.faint(&heading));
    let painted = rows.zip(groups).map(|(row, group)| {
        let word = wording::verdict(group.verdict);
        match row.rsplit_once(word) {
            Some((before, after)) => {
                format!("{before}{}{after}", paint.verdict(group.verdict, word))
            }
            None => row,
        }
    });
    heading.into_iter().chain(painted).collect()
}

/// A share as percentage or a rate in the unit of the column.
struct Scale {
    is_share: bool,
    is_metric: bool,
    decimals: usize,
    rate: Unit,
}

impl Scale {
    fn new(promise: &PromiseJudgement) -> Self {
        let groups = &promise.groups;
        let smallest = groups.iter().map(|g| g.expected_share).fold(f64::INFINITY, f64::min);
        let highest = groups.iter().map(|group| group.rate).fold(0.0, f64::max);
        Self {
            is_share: wording::is_about_shares(promise),
            is_metric: wording::is_metric(&promise.measure),
            decimals: number::percent_decimals(smallest),
            rate: Unit::for_rate(&promise.measure, highest),
        }
    }

    fn number(&self, value: f64) -> String {
        if self.is_share { number::percent(value, self.decimals) } else { self.rate.number(value) }
    }

    fn unit(&self) -> &'static str {
        if self.is_share { "%" } else { self.rate.label }
    }

    /// The observed quantity in one word; a workload metric need not be a rate.
    fn word(&self) -> &'static str {
        match (self.is_share, self.is_metric) {
            (true, _) => "share",
            (false, true) => "value",
            (false, false) => "rate",
        }
    }
}

/// A heading with its unit, if any.
fn headed(word: &str, unit: &str) -> String {
    format!("{word} {unit}").trim_end().to_owned()
}

fn columns(
    judged: &TrialJudgement,
    promise: &PromiseJudgement,
    groups: &[&GroupJudgement],
) -> Vec<Column> {
    let scale = Scale::new(promise);
    let unit = scale.unit();
    let cells = |of: &dyn Fn(&GroupJudgement) -> String| -> Vec<String> {
        groups.iter().map(|group| of(group)).collect()
    };
    let mut shown = vec![Column::new("group", Align::Left, 0, cells(&|g| g.name.clone()))];
    // The knob of a limit is already the column of promised values.
    if scale.is_share && groups.iter().any(|group| group.knob.is_some()) {
        let knob = promise.to.clone().unwrap_or_else(|| "knob".to_owned());
        let weight = |g: &GroupJudgement| g.knob.map_or_else(|| NONE.to_owned(), number::plain);
        shown.push(Column::new(knob, Align::Right, 1, cells(&weight)));
    }
    let word = scale.word();
    let right = |heading: String, dispensable, of: &dyn Fn(&GroupJudgement) -> String| {
        Column::new(heading, Align::Right, dispensable, cells(of))
    };
    shown.push(right(headed("promised", unit), 0, &|g| scale.number(g.expected_share)));
    shown.push(right(headed(word, unit), 0, &|g| scale.number(g.share)));
    shown.push(right(
        wording::interval(judged, promise).to_owned(),
        3,
        &|g| match g.high.is_finite() {
            true => format!("{} .. {}", scale.number(g.low), scale.number(g.high)),
            false => NONE.to_owned(),
        },
    ));
    shown.push(right("error %".to_owned(), 2, &|g| number::signed_percent(subjects::error(g))));
    if scale.is_share {
        shown.push(right(scale.rate.label.to_owned(), 4, &|g| scale.rate.number(g.rate)));
    }
    let verdict = |g: &GroupJudgement| wording::verdict(g.verdict).to_owned();
    shown.push(Column::new("verdict", Align::Left, 0, cells(&verdict)));
    shown
}

/// Groups are already sorted by weight.
fn class_columns(promise: &PromiseJudgement, groups: &[&GroupJudgement]) -> Vec<Column> {
    let scale = Scale::new(promise);
    let unit = scale.unit();
    let classes: Vec<&[&GroupJudgement]> = groups.chunk_by(|a, b| a.knob == b.knob).collect();
    let cells = |of: &dyn Fn(&[&GroupJudgement]) -> String| -> Vec<String> {
        classes.iter().map(|class| of(class)).collect()
    };
    let sum = |class: &[&GroupJudgement], of: fn(&GroupJudgement) -> f64| {
        scale.number(class.iter().map(|group| of(group)).sum())
    };
    let worst = |class: &[&GroupJudgement]| {
        let worst = subjects::worst(promise, class).map(subjects::error);
        worst.map_or_else(String::new, number::signed_percent)
    };
    let weight =
        |class: &[&GroupJudgement]| class[0].knob.map_or_else(|| NONE.to_owned(), number::plain);
    vec![
        Column::new("weight", Align::Right, 0, cells(&weight)),
        Column::new("groups", Align::Right, 1, cells(&|class| class.len().to_string())),
        Column::new(
            headed("promised", unit),
            Align::Right,
            0,
            cells(&|class| sum(class, |group| group.expected_share)),
        ),
        Column::new(
            headed(scale.word(), unit),
            Align::Right,
            0,
            cells(&|class| sum(class, |group| group.share)),
        ),
        Column::new("worst error %", Align::Right, 0, cells(&worst)),
        Column::new("verdicts", Align::Left, 2, cells(&|class| wording::tally(class))),
    ]
}
