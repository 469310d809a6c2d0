//! A search for the best setting, as template data.

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
    eliminated: String,
    verdict: &'static str,
    mark: &'static str,
}

/// Results of one stage.
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
    pub(super) fn new(tuning: &Tuning) -> Self {
        let rates = tuning.settings.iter().filter_map(|one| one.best_data()?.rate);
        let unit = Unit::for_rate(&tuning.measure, rates.fold(0.0, f64::max));
        let (figure, not_available) = match figure::frontier(tuning) {
            Ok(figure) => (Some(figure), None),
            Err(why) => (None, Some(why)),
        };
        let (verdict, outcome) = match tuning.outcome {
            Outcome::Found => (assay_verdict::Verdict::Kept, "a setting was found"),
            Outcome::NoneKeeps => (assay_verdict::Verdict::Broken, "no setting keeps the promise"),
            Outcome::Undecided => (assay_verdict::Verdict::Undecided, "undecided"),
        };
        Self {
            verdict: wording::verdict(verdict),
            mark: wording::mark(verdict),
            outcome,
            sentence: wording::unbroken(&tuning.sentence),
            figure,
            not_available,
            lines: tuning.lines.join("\n"),
            unit: unit.label,
            settings: tuning.settings.iter().map(|one| row(tuning, one, unit)).collect(),
            not_tried: tuning
                .not_tried
                .iter()
                .map(|one| NotTriedRow { name: one.name.clone(), why: one.why.clone() })
                .collect(),
        }
    }
}

fn row(tuning: &Tuning, setting: &SettingResult, unit: Unit) -> SettingRow {
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
        chosen: tuning.chosen.as_deref() == Some(&setting.name),
        searched: cells(setting.search.as_ref(), unit),
        confirmed: cells(setting.confirmation.as_ref(), unit),
        rate_ratio: ratio(setting.rate_ratio),
        error_ratio: ratio(setting.error_ratio),
        eliminated: setting
            .left_out_after
            .map_or_else(String::new, |rung| format!("eliminated after rung {rung}")),
        verdict: wording::verdict(verdict),
        mark: wording::mark(verdict),
    }
}

fn cells(data: Option<&Measured>, unit: Unit) -> Cells {
    let none = || NONE.to_owned();
    Cells {
        repeats: data.map_or_else(none, |data| data.repeats.to_string()),
        error: data
            .and_then(|data| Some(wording::error_of(data.error?, data.repeats)))
            .unwrap_or_else(none),
        rate: data.and_then(|data| data.rate).map_or_else(none, |rate| unit.number(rate)),
    }
}
