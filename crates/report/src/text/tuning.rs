//! A search for the best setting, for a terminal.

use assay_intervention::{Measured, SettingResult, Tuning};

use super::layout::{Align, Column, table, wrap};
use crate::number::{self, NONE, Unit};
use crate::wording;

/// The settings, those not tried, the conclusion, and the lines to paste.
pub(crate) fn render(tuning: &Tuning, width: usize) -> String {
    let width = width.max(40);
    let rates = tuning.settings.iter().filter_map(|one| one.best_data()?.rate);
    let unit = Unit::for_rate(&tuning.measure, rates.fold(0.0, f64::max));
    let mut lines = table(columns(tuning, unit), width);
    let skipped = tuning.not_tried.iter().filter(|one| one.for_time).count();
    for one in tuning.not_tried.iter().filter(|one| !one.for_time) {
        lines.extend(wrap(&format!("  not tried: {}: {}", one.name, one.why), width, "    "));
    }
    if skipped > 0 {
        let names = tuning.not_tried.iter().filter(|one| one.for_time);
        let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
        let line = format!("  no time for {}", names.join(", "));
        lines.extend(wrap(&line, width, "    "));
    }
    lines.push(String::new());
    lines.extend(wrap(&tuning.sentence, width, ""));
    if !tuning.lines.is_empty() {
        lines.push(String::new());
        lines.push("To use it, add to the study:".to_owned());
        lines.extend(tuning.lines.iter().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn columns(tuning: &Tuning, unit: Unit) -> Vec<Column> {
    let of = |cell: &dyn Fn(&SettingResult) -> String| -> Vec<String> {
        tuning.settings.iter().map(cell).collect()
    };
    let error = |data: Option<&Measured>| {
        let error = data.and_then(|data| Some(wording::error_of(data.error?, data.repeats)));
        error.unwrap_or_else(|| NONE.to_owned())
    };
    let rate = |data: Option<&Measured>| {
        data.and_then(|data| data.rate).map_or_else(|| NONE.to_owned(), |rate| unit.number(rate))
    };
    let mark = |one: &SettingResult| match tuning.chosen.as_deref() == Some(&one.name) {
        true => format!("* {}", one.name),
        false => format!("  {}", one.name),
    };
    let verdict = |one: &SettingResult| {
        let verdict = one.best_data().map_or(assay_verdict::Verdict::Void, |data| data.verdict);
        wording::verdict(verdict).to_owned()
    };
    let ratio = |one: &SettingResult| {
        one.rate_ratio.map_or_else(|| NONE.to_owned(), |ratio| number::three(ratio.value))
    };
    let total = if unit.label.is_empty() { "total".to_owned() } else { unit.label.to_owned() };
    vec![
        Column::new("  setting", Align::Left, 0, of(&mark)),
        Column::new("error, search", Align::Right, 2, of(&|one| error(one.search.as_ref()))),
        Column::new("error, fresh", Align::Right, 0, of(&|one| error(one.confirmation.as_ref()))),
        Column::new(&total, Align::Right, 1, of(&|one| rate(one.best_data()))),
        Column::new("vs unchanged", Align::Right, 3, of(&ratio)),
        Column::new("verdict", Align::Left, 0, of(&verdict)),
    ]
}
