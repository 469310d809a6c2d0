//! Bars for the groups of the first promise with numbers; one line for each other promise.

use assay_judge::verdict::{GroupJudgement, PromiseJudgement, Verdict};

use super::InterimResult;
use super::bar;
use super::clock_text;
use super::line::{Ink, Line};
use crate::number::{self, Unit};
use crate::subjects;
use crate::wording;

/// Minimum useful length of a bar.
const MIN_BAR: usize = 9;

/// Maximum useful length of a bar.
const MAX_BAR: usize = 41;

/// At most `room` lines of at most `columns` columns.
pub(super) fn lines(interim: &InterimResult<'_>, columns: usize, room: usize) -> Vec<Line> {
    let detailed = interim.promises.iter().position(|promise| !promise.groups.is_empty());
    let mut lines = Vec::new();
    for (index, promise) in interim.promises.iter().enumerate() {
        lines.push(summary(promise, interim));
        if Some(index) == detailed {
            // Keep a line for every other promise.
            let others = interim.promises.len() - index - 1;
            let remaining = room.saturating_sub(lines.len() + others);
            lines.extend(bars(promise, columns, remaining));
        }
    }
    lines.truncate(room);
    lines
}

/// `open after 12 s: io.bytes proportional to io.weight, within 10 %`: the state is first, so that
/// a narrow terminal does not cut it off.
fn summary(promise: &PromiseJudgement, interim: &InterimResult<'_>) -> Line {
    let line = Line::default().then(Ink::Plain, "  ");
    let line = match promise.groups.is_empty() {
        true => line.then(Ink::Faint, &promise.reason),
        false => line
            .then(Ink::Verdict(promise.verdict), word(promise.verdict))
            .then(Ink::Plain, format!(" after {}", clock_text(interim.at))),
    };
    line.then(Ink::Plain, format!(": {}", wording::promise(promise)))
}

/// The interim state in a word; verdict words are for complete trials.
const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Kept => "within",
        Verdict::Broken => "outside",
        Verdict::Undecided => "open",
        Verdict::Void => "no number",
    }
}

/// Groups in the order of the study, as many as fit; if too many, those farthest from their
/// promise.
fn bars(promise: &PromiseJudgement, columns: usize, room: usize) -> Vec<Line> {
    let all = &promise.groups;
    if room == 0 {
        return Vec::new();
    }
    let mut shown: Vec<usize> = (0..all.len()).collect();
    let cut = all.len() > room;
    if cut {
        let violation = |index: &usize| subjects::violation(promise, &all[*index]);
        shown.sort_by(|one, other| violation(other).total_cmp(&violation(one)));
        shown.truncate(room - 1);
        shown.sort_unstable();
    }
    let shown: Vec<&GroupJudgement> = shown.into_iter().map(|index| &all[index]).collect();
    let table = Table::new(promise, &shown, columns);
    let mut lines: Vec<Line> = shown.iter().map(|group| table.row(group)).collect();
    if cut {
        lines.push(rest(all, shown.len()));
    }
    lines
}

/// Summary of groups that do not fit.
fn rest(all: &[GroupJudgement], shown: usize) -> Line {
    let outside = all.iter().filter(|group| group.verdict == Verdict::Broken).count();
    let within = all.iter().filter(|group| group.verdict == Verdict::Kept).count();
    let text = format!(
        "  and {} groups closer to their promise; of all {}: {within} within, {outside} outside",
        all.len() - shown,
        all.len()
    );
    Line::default().then(Ink::Faint, text)
}

/// Common layout of the rows of one promise.
struct Table<'p> {
    promise: &'p PromiseJudgement,
    unit: Option<Unit>,
    decimals: usize,
    name: usize,
    bar: usize,
    value: usize,
    promised: usize,
    error: usize,
}

/// Length of the longest state word.
const WORD: usize = 7;

impl<'p> Table<'p> {
    /// On a narrow terminal the promised value is dropped first, then the interval, then the bar.
    fn new(promise: &'p PromiseJudgement, groups: &[&GroupJudgement], columns: usize) -> Self {
        let largest = groups.iter().map(|group| group.share).fold(0.0, f64::max);
        let smallest = groups.iter().map(|group| group.expected_share).fold(1.0, f64::min);
        let mut table = Self {
            promise,
            unit: (!wording::is_about_shares(promise))
                .then(|| Unit::for_rate(&promise.measure, largest)),
            decimals: number::percent_decimals(smallest).saturating_sub(1),
            name: 0,
            bar: 0,
            value: 0,
            promised: 0,
            error: 0,
        };
        let widest = |text: &dyn Fn(&GroupJudgement) -> String| {
            groups.iter().map(|group| text(group).chars().count()).max().unwrap_or(0)
        };
        table.name = widest(&|group| group.name.clone()).min(columns / 4).max(1);
        table.value = widest(&|group| table.value_text(group.share));
        table.promised = widest(&|group| table.promised_text(group));
        table.error = widest(&|group| error_text(group));
        let fixed = |table: &Self| {
            // Two leading blanks, one after the name, two before each further column.
            let further: usize = [table.value, table.promised, table.error, WORD]
                .iter()
                .filter(|of| **of > 0)
                .map(|of| of + 2)
                .sum();
            2 + table.name + 1 + further
        };
        if columns < fixed(&table) + MIN_BAR {
            table.promised = 0;
        }
        if columns < fixed(&table) + MIN_BAR {
            table.error = 0;
        }
        let available = columns.saturating_sub(fixed(&table)).min(MAX_BAR);
        table.bar = if available < MIN_BAR { 0 } else { available - (available + 1) % 2 };
        table
    }

    fn row(&self, group: &GroupJudgement) -> Line {
        let name: String = group.name.chars().take(self.name).collect();
        let mut line = Line::default().then(Ink::Plain, format!("  {name:<0$} ", self.name));
        if self.bar > 0 {
            let bar = bar::against_promise(group, self.promise.within, self.bar);
            line = line.then(Ink::Verdict(group.verdict), bar);
        }
        line = line.then(Ink::Plain, right(&self.value_text(group.share), self.value));
        if self.promised > 0 {
            line = line.then(Ink::Faint, right(&self.promised_text(group), self.promised));
        }
        if self.error > 0 {
            line = line.then(Ink::Plain, right(&error_text(group), self.error));
        }
        line.then(Ink::Plain, "  ").then(Ink::Verdict(group.verdict), word(group.verdict))
    }

    fn value_text(&self, value: f64) -> String {
        match self.unit {
            Some(unit) => unit.with_label(value),
            None => format!("{} %", number::percent(value, self.decimals)),
        }
    }

    fn promised_text(&self, group: &GroupJudgement) -> String {
        format!("promised {}", self.value_text(group.expected_share))
    }
}

fn right(text: &str, columns: usize) -> String {
    format!("  {}{text}", " ".repeat(columns.saturating_sub(text.chars().count())))
}

/// The interval of the error, `-8 .. +14 %`.
fn error_text(group: &GroupJudgement) -> String {
    let error = |value: f64| {
        let percent = 100.0 * (value / group.expected_share - 1.0);
        let text = number::fixed(percent, 0);
        if percent > 0.0 && text != "0" { format!("+{text}") } else { text }
    };
    format!("{} .. {} %", error(group.low), error(group.high))
}
