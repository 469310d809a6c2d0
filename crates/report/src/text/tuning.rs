//! A search for the best setting, for a terminal.

use assay_intervention::{Measured, SettingResult, Tuning};

use super::layout::{Table, wrap};
use super::paint::Paint;
use crate::number::{self, Unit};
use crate::wording;

/// The result of a search for the best setting, for a terminal of `width` columns: the settings,
/// those not tried, the conclusion, and the lines to paste.
#[must_use]
pub fn render(tuning: &Tuning, width: usize) -> String {
    let width = width.max(40);
    let rates = tuning.settings.iter().filter_map(|one| one.best_data()?.rate);
    let unit = Unit::for_rate(&tuning.measure, rates.fold(0.0, f64::max));
    let mut lines = settings(tuning, unit, width);
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

fn settings(tuning: &Tuning, unit: Unit, width: usize) -> Vec<String> {
    let error = |data: Option<&Measured>| {
        number::or_none(data.and_then(|data| data.error), wording::error_interval)
    };
    let mark = |one: &SettingResult| match tuning.chosen.as_deref() == Some(&one.name) {
        true => format!("* {}", one.name),
        false => format!("  {}", one.name),
    };
    let total = if unit.label.is_empty() { "total" } else { unit.label };
    Table::new(&tuning.settings)
        .left("  setting", 0, mark)
        .right("error, search", 2, |one| error(one.search.as_ref()))
        .right("error, fresh", 0, |one| error(one.confirmation.as_ref()))
        .right(total, 1, |one| {
            number::or_none(one.best_data().and_then(|data| data.rate), |rate| unit.number(rate))
        })
        .right("vs unchanged", 3, |one| {
            number::or_none(one.rate_ratio, |ratio| number::three(ratio.value))
        })
        .left("verdict", 0, |one| {
            let verdict = one.best_data().map_or(assay_verdict::Verdict::Void, |data| data.verdict);
            wording::verdict(verdict).to_owned()
        })
        .lines(width, Paint { color: false })
}
