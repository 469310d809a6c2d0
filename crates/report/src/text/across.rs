//! Promises across trials and references, as text.

use assay_verdict::{ComparisonJudgement, Judgement, ReferenceJudgement};

use super::layout::{Table, wrap};
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
        let word = wording::marked(one.verdict);
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
    Table::new(&one.levels)
        .left("level", 0, |level| wording::factors(&level.factors))
        .right(format!("mean {}", unit.label).trim_end(), 0, |level| cell(unit, level.value))
        .right("interval", 2, |level| {
            interval(level.low, level.high, " .. ", |value| unit.number(value))
        })
        .right("repeats", 1, |level| level.repeats.to_string())
        .lines(width, paint)
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
    let table = Table::new(&one.pairs)
        .left("pair", 0, across::pair)
        .right("ratio", 0, |pair| number::or_none(pair.ratio, number::three))
        .right("interval", 1, |pair| interval(pair.low, pair.high, " .. ", number::three))
        .left("verdict", 0, |pair| wording::verdict(pair.verdict).to_owned());
    std::iter::once(String::new()).chain(table.lines(width, paint)).collect()
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
