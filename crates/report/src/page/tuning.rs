//! A search for the best setting, as templates need it.

use assay_intervention::{Measured, Outcome, SettingResult, Tuning};
use minijinja::Value as Markup;
use serde::Serialize;

use crate::figure;
use crate::number::{self, NONE, Unit};
use crate::wording;

/// The section of a search.
#[derive(Serialize)]
pub(super) struct TuningView {
    verdict: &'static str,
    mark: &'static str,
    outcome: &'static str,
    sentence: String,
    figure: Option<Markup>,
    not_available: Option<String>,
    lines: String,
    unit: &'static str,
    settings: Vec<SettingRow>,
    not_tried: Vec<NotTriedRow>,
}

#[derive(Serialize)]
struct SettingRow {
    name: String,
    chosen: bool,
    searched: Cells,
    confirmed: Cells,
    rate_ratio: String,
    error_ratio: String,
    left_out: String,
    verdict: &'static str,
    mark: &'static str,
}

/// What repeats of one stage showed.
#[derive(Serialize)]
struct Cells {
    repeats: String,
    error: String,
    rate: String,
}

#[derive(Serialize)]
struct NotTriedRow {
    name: String,
    why: String,
}

impl TuningView {
    pub(super) fn of(found: &Tuning) -> Self {
        let rates = found.settings.iter().filter_map(|one| one.best_data()?.rate);
        let unit = Unit::of_rate(&found.measure, rates.fold(0.0, f64::max));
        let (figure, not_available) = match figure::frontier(found) {
            Ok(figure) => (Some(figure), None),
            Err(why) => (None, Some(why)),
        };
        let (verdict, outcome) = match found.outcome {
            Outcome::Found => (assay_verdict::Verdict::Kept, "a setting was found"),
            Outcome::NoneKeeps => (assay_verdict::Verdict::Broken, "no setting keeps it"),
            Outcome::Undecided => (assay_verdict::Verdict::Undecided, "undecided"),
        };
        Self {
            verdict: wording::verdict(verdict),
            mark: wording::mark(verdict),
            outcome,
            sentence: wording::unbroken(&found.sentence),
            figure,
            not_available,
            lines: found.lines.join("\n"),
            unit: unit.label,
            settings: found.settings.iter().map(|one| row(found, one, unit)).collect(),
            not_tried: found
                .not_tried
                .iter()
                .map(|one| NotTriedRow { name: one.name.clone(), why: one.why.clone() })
                .collect(),
        }
    }
}

fn row(found: &Tuning, setting: &SettingResult, unit: Unit) -> SettingRow {
    let verdict = setting.best_data().map_or(assay_verdict::Verdict::Void, |data| data.verdict);
    let ratio = |ratio: Option<assay_verdict::Interval>| {
        ratio.map_or_else(
            || NONE.to_owned(),
            |one| {
                format!(
                    "{} ({} to {})",
                    number::three(one.value),
                    number::three(one.low),
                    number::three(one.high)
                )
            },
        )
    };
    SettingRow {
        name: setting.name.clone(),
        chosen: found.chosen.as_deref() == Some(&setting.name),
        searched: cells(setting.search.as_ref(), unit),
        confirmed: cells(setting.confirmation.as_ref(), unit),
        rate_ratio: ratio(setting.rate_ratio),
        error_ratio: ratio(setting.error_ratio),
        left_out: setting
            .left_out_after
            .map_or_else(String::new, |rung| format!("left out after rung {rung}")),
        verdict: wording::verdict(verdict),
        mark: wording::mark(verdict),
    }
}

fn cells(data: Option<&Measured>, unit: Unit) -> Cells {
    let none = || NONE.to_owned();
    Cells {
        repeats: data.map_or_else(none, |data| data.repeats.to_string()),
        error: data.and_then(|data| data.error).map_or_else(none, wording::error_interval),
        rate: data.and_then(|data| data.rate).map_or_else(none, |rate| unit.number(rate)),
    }
}
