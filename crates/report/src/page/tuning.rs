//! A search for the best setting, as template data.

use assay_intervention::{Measured, NotTried, Outcome, SettingResult, Tuning};
use assay_verdict::Interval;
use serde::Serialize;

use crate::error::Error;
use crate::figure::{self, Figure};
use crate::number::{self, Unit};
use crate::wording;

/// The section of a search.
#[derive(Serialize)]
pub(super) struct TuningView {
    verdict: &'static str,
    mark: &'static str,
    outcome: &'static str,
    sentence: String,
    figure: Figure,
    lines: String,
    unit: &'static str,
    settings: Vec<SettingRow>,
    not_tried: Vec<NotTried>,
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

impl TuningView {
    pub(super) fn new(tuning: &Tuning) -> Result<Self, Error> {
        let rates = tuning.settings.iter().filter_map(|one| one.best_data()?.rate);
        let unit = Unit::for_rate(&tuning.measure, rates.fold(0.0, f64::max));
        let (verdict, outcome) = match tuning.outcome {
            Outcome::Found => (assay_verdict::Verdict::Kept, "a setting was found"),
            Outcome::NoneKeeps => (assay_verdict::Verdict::Broken, "no setting keeps the promise"),
            Outcome::Undecided => (assay_verdict::Verdict::Undecided, "undecided"),
        };
        Ok(Self {
            verdict: wording::verdict(verdict),
            mark: wording::mark(verdict),
            outcome,
            sentence: wording::unbroken(&tuning.sentence),
            figure: figure::frontier(tuning)?,
            lines: tuning.lines.join("\n"),
            unit: unit.label,
            settings: tuning.settings.iter().map(|one| row(tuning, one, unit)).collect(),
            not_tried: tuning.not_tried.clone(),
        })
    }
}

fn row(tuning: &Tuning, setting: &SettingResult, unit: Unit) -> SettingRow {
    let verdict = setting.best_data().map_or(assay_verdict::Verdict::Void, |data| data.verdict);
    let ratio = |ratio: Option<Interval>| {
        number::or_none(ratio, |one| {
            let [value, low, high] = [one.value, one.low, one.high].map(number::three);
            format!("{value} ({low} to {high})")
        })
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
    Cells {
        repeats: number::or_none(data, |data| data.repeats.to_string()),
        error: number::or_none(data.and_then(|data| data.error), wording::error_interval),
        rate: number::or_none(data.and_then(|data| data.rate), |rate| unit.number(rate)),
    }
}
