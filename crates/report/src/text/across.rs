//! Promises across trials and references, as text.

use assay_verdict::{ComparisonJudgement, Judgement, ReferenceJudgement};

use super::layout::{Align, Column, table, wrap};
use super::paint::Paint;
use super::trial::heading;
use crate::across::{self, Across, cell, interval};
use crate::number;
use crate::wording;

/// All lines about promises across trials and references.
pub(super) fn lines(judgement: &Judgement, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for promise in across::promises(&judgement.comparisons) {
        lines.extend(promise_lines(&promise, width, paint));
    }
    lines.extend(references(&judgement.references, width, paint));
    lines
}

fn promise_lines(promise: &Across<'_>, width: usize, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for one in promise.judged {
        let word = format!("{} {}", wording::mark(one.verdict), wording::verdict(one.verdict));
        let painted = paint.verdict(one.verdict, &word);
        lines.push(String::new());
        lines.push(heading(&across::heading(one), &word, &painted, width, paint));
        lines.extend(wrap(&format!("  {}", across::sentence(one)), width, "    "));
        let held = across::held(one);
        if !held.is_empty() {
            lines.extend(wrap(&format!("  held: {held}"), width, "    "));
        }
        lines.extend(wrap(&format!("  {}", wording::sentence(&one.reason)), width, "  "));
        lines.push(String::new());
        lines.extend(levels(one, width, paint));
        lines.extend(missing(one, width));
        lines.extend(pairs(one, width, paint));
        if let Some(needs) = across::needs(one) {
            lines.push(String::new());
            lines.extend(wrap(&format!("  {needs}"), width, "  "));
        }
    }
    lines
}

fn levels(one: &ComparisonJudgement, width: usize, paint: Paint) -> Vec<String> {
    let unit = across::unit(&one.measure, &one.levels);
    let cells = |of: &dyn Fn(&assay_verdict::LevelJudgement) -> String| -> Vec<String> {
        one.levels.iter().map(of).collect()
    };
    let shown = vec![
        Column::new("level", Align::Left, 0, cells(&|level| wording::factors(&level.factors))),
        Column::new(
            format!("mean {}", unit.label).trim_end(),
            Align::Right,
            0,
            cells(&|level| cell(unit, level.value)),
        ),
        Column::new(
            "interval",
            Align::Right,
            2,
            cells(&|level| interval(level.low, level.high, " .. ", |value| unit.number(value))),
        ),
        Column::new("repeats", Align::Right, 1, cells(&|level| level.repeats.to_string())),
    ];
    faint_heading(table(shown, width), paint)
}

fn missing(one: &ComparisonJudgement, width: usize) -> Vec<String> {
    let missing = one.levels.iter().filter_map(|level| {
        let why = level.not_available.as_ref()?;
        Some(format!("  {}: not available: {why}", wording::factors(&level.factors)))
    });
    missing.flat_map(|text| wrap(&text, width, "    ")).collect()
}

fn pairs(one: &ComparisonJudgement, width: usize, paint: Paint) -> Vec<String> {
    if one.pairs.is_empty() {
        return vec![];
    }
    let cells = |of: &dyn Fn(&assay_verdict::PairJudgement) -> String| -> Vec<String> {
        one.pairs.iter().map(of).collect()
    };
    let shown = vec![
        Column::new("pair", Align::Left, 0, cells(&across::pair)),
        Column::new(
            "ratio",
            Align::Right,
            0,
            cells(&|pair| pair.ratio.map_or_else(|| number::NONE.to_owned(), number::three)),
        ),
        Column::new(
            "interval",
            Align::Right,
            1,
            cells(&|pair| interval(pair.low, pair.high, " .. ", number::three)),
        ),
        Column::new(
            "verdict",
            Align::Left,
            0,
            cells(&|pair| wording::verdict(pair.verdict).to_owned()),
        ),
    ];
    std::iter::once(String::new()).chain(faint_heading(table(shown, width), paint)).collect()
}

fn faint_heading(rows: Vec<String>, paint: Paint) -> Vec<String> {
    let mut rows = rows.into_iter();
    let heading = rows.next().map(|heading| paint.faint(&heading));
    heading.into_iter().chain(rows).collect()
}

/// References: the published number, our value, the source.
fn references(references: &[ReferenceJudgement], width: usize, paint: Paint) -> Vec<String> {
    if references.is_empty() {
        return vec![];
    }
    let mut lines = vec![String::new(), paint.bold("References: external numbers, never judged")];
    for reference in references {
        let under = match across::under(reference) {
            under if under.is_empty() => under,
            under => format!(" ({under})"),
        };
        lines.extend(wrap(&format!("  {}{under}", reference.what), width, "    "));
        lines.push(format!("    reference: {}", across::theirs(reference)));
        for ours in across::ours(reference) {
            lines.extend(wrap(&format!("    this run: {ours}"), width, "      "));
        }
        lines.extend(wrap(&format!("    source: {}", reference.source), width, "      "));
    }
    lines
}
