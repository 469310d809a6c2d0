//! The table of a promise's groups.

use assay_verdict::{GroupJudgement, PromiseJudgement};

use super::layout::Table;
use super::paint::Paint;
use crate::number::{self, NONE, Unit};
use crate::subjects::{self, MAX_SINGLE_GROUPS};
use crate::wording;

/// All groups, or the worst ones and one line for each weight.
pub(super) fn lines(promise: &PromiseJudgement, width: usize, paint: Paint) -> Vec<String> {
    let groups = subjects::ordered(promise);
    if groups.is_empty() {
        return vec![];
    }
    if groups.len() <= MAX_SINGLE_GROUPS {
        return painted(promise, &groups, width, paint);
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
    lines.extend(painted(promise, &worst, width, paint));
    lines.push(String::new());
    lines.push("  all groups by weight:".to_owned());
    lines.extend(classes(promise, &groups, width, paint));
    lines
}

/// The table with the last word of each row, its verdict, coloured after padding, since colours
/// take no columns.
fn painted(
    promise: &PromiseJudgement,
    groups: &[&GroupJudgement],
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let mut rows = table(promise, groups).lines(width, paint);
    for (row, group) in rows.iter_mut().skip(1).zip(groups) {
        let word = wording::verdict(group.verdict);
        if let Some((before, after)) = row.rsplit_once(word) {
            *row = format!("{before}{}{after}", paint.verdict(group.verdict, word));
        }
    }
    rows
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

fn table<'g>(
    promise: &PromiseJudgement,
    groups: &'g [&'g GroupJudgement],
) -> Table<'g, &'g GroupJudgement> {
    let scale = Scale::new(promise);
    let unit = scale.unit();
    let mut table = Table::new(groups).left("group", 0, |g| g.name.clone());
    // The knob of a limit is already the column of promised values.
    if scale.is_share && groups.iter().any(|group| group.knob.is_some()) {
        let knob = promise.to.as_deref().unwrap_or("knob");
        table = table.right(knob, 1, |g| number::or_none(g.knob, number::plain));
    }
    table = table
        .right(headed("promised", unit), 0, |g| scale.number(g.expected_share))
        .right(headed(scale.word(), unit), 0, |g| scale.number(g.share))
        .right(wording::BOUNDS, 3, |g| match g.high.is_finite() {
            true => format!("{} .. {}", scale.number(g.low), scale.number(g.high)),
            false => NONE.to_owned(),
        })
        .right("error %", 2, |g| number::signed_percent(subjects::error(g)));
    if scale.is_share {
        table = table.right(scale.rate.label, 4, |g| scale.rate.number(g.rate));
    }
    table.left("verdict", 0, |g| wording::verdict(g.verdict).to_owned())
}

/// A line for each weight. Groups are already sorted by weight.
fn classes(
    promise: &PromiseJudgement,
    groups: &[&GroupJudgement],
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let scale = Scale::new(promise);
    let unit = scale.unit();
    let classes: Vec<&[&GroupJudgement]> = groups.chunk_by(|a, b| a.knob == b.knob).collect();
    let sum = |class: &[&GroupJudgement], of: fn(&GroupJudgement) -> f64| {
        scale.number(class.iter().map(|group| of(group)).sum())
    };
    Table::new(&classes)
        .right("weight", 0, |class| number::or_none(class[0].knob, number::plain))
        .right("groups", 1, |class| class.len().to_string())
        .right(headed("promised", unit), 0, |class| sum(class, |group| group.expected_share))
        .right(headed(scale.word(), unit), 0, |class| sum(class, |group| group.share))
        .right("worst error %", 0, |class| {
            let worst = subjects::worst(promise, class).map(subjects::error);
            worst.map_or_else(String::new, number::signed_percent)
        })
        .left("verdicts", 2, |class| wording::tally(class))
        .lines(width, paint)
}
