//! Common parts of all specs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::subjects::Subjects;
use crate::trial::Trial;

/// A spec of this height and the full width of its container.
///
/// `usermeta.weights` is the number of steps of the ordered palette, read by the page; other
/// viewers ignore it and use their own colours.
#[must_use]
pub(super) fn base(description: &str, height: u32, steps: usize) -> Value {
    json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "usermeta": {"weights": steps},
    })
}

/// Colour by weight, an ordered scale; no legend if all weights are equal.
pub(super) fn colour_by_weight(trial: &Trial<'_>) -> Value {
    let classes = trial.subjects.classes();
    let legend = if classes.len() > 1 {
        json!({"title": knob_name(trial), "orient": "top", "direction": "horizontal",
            "symbolOpacity": 1})
    } else {
        Value::Null
    };
    json!({
        "field": "weight",
        "type": "ordinal",
        "scale": {"domain": classes},
        "legend": legend,
    })
}

/// Number of steps of the palette.
pub(super) fn steps(subjects: &Subjects) -> usize {
    subjects.classes().len()
}

/// The name of the knob that sets the weights.
pub(super) fn knob_name(trial: &Trial<'_>) -> String {
    let promises = trial.judgement.map_or(&[][..], |judgement| &judgement.promises);
    let knob = promises.iter().find(|promise| promise.divides_by_knob());
    knob.and_then(|promise| promise.to.clone()).unwrap_or_else(|| "weight".to_owned())
}

/// A transform that filters for the chosen repeat.
pub(super) fn only_chosen(repeats: &[usize]) -> Value {
    if repeats.len() > 1 { json!([{"filter": "datum.repeat == shown_repeat"}]) } else { json!([]) }
}

/// The unjudged part of each repeat, as a layer behind the curves.
pub(super) fn warm_up(trial: &Trial<'_>, source: &str, repeats: &[usize]) -> Value {
    let tables = trial.tables(source);
    let spans: Vec<Value> = tables
        .iter()
        .map(|(number, repeat, _)| {
            json!({"repeat": number, "from": 0, "to": trial.lead_s(repeat), "label": "not judged"})
        })
        .collect();
    json!({
        "data": {"values": spans},
        "transform": only_chosen(repeats),
        "mark": {"type": "rect", "color": "#8a8f98", "opacity": 0.16, "tooltip": true},
        "encoding": {
            "x": {"field": "from", "type": "quantitative"},
            "x2": {"field": "to"},
            "tooltip": [
                {"field": "label", "title": "warm-up"},
                {"field": "to", "type": "quantitative", "title": "until, s", "format": ".1f"},
            ],
        },
    })
}

/// Repeat, start of a phase in hundredths of a second, and its name.
type PhaseStart<'p> = (usize, u64, &'p str);

/// A layer of phases reported by workloads, as a line at each start; `None` if there are none.
/// Phases with the same name that start in the same hundredth of a second of a repeat are one mark,
/// regardless of the number of groups.
pub(super) fn phases(trial: &Trial<'_>, repeats: &[usize]) -> Option<Value> {
    let mut begun: BTreeMap<PhaseStart<'_>, Vec<(&str, u64)>> = BTreeMap::new();
    for (index, repeat) in trial.record.repeats.iter().enumerate() {
        let at = |ns: u64| ns.saturating_sub(repeat.released_ns) / 10_000_000;
        for result in &repeat.workloads {
            let within = |phase: &&assay_record::run_folder::Phase| {
                phase.end_ns > repeat.released_ns && phase.begin_ns < repeat.stopped_ns
            };
            for phase in result.phases.iter().filter(within) {
                let key = (index + 1, at(phase.begin_ns), phase.name.as_str());
                let ends = at(phase.end_ns.min(repeat.stopped_ns));
                begun.entry(key).or_default().push((&result.workload, ends));
            }
        }
    }
    let marks: Vec<Value> = begun
        .into_iter()
        .map(|((repeat, from, phase), of)| {
            let workload = match of.as_slice() {
                [(only, _)] => (*only).to_owned(),
                several => format!("{} workloads", several.len()),
            };
            let to = of.iter().map(|(_, ends)| *ends).max().unwrap_or(from);
            json!({"repeat": repeat, "workload": workload, "phase": phase,
                "from": from as f64 / 100.0, "to": to as f64 / 100.0})
        })
        .collect();
    if marks.is_empty() {
        return None;
    }
    let tooltip = json!([
        {"field": "phase", "title": "phase"},
        {"field": "workload", "title": "workload"},
        {"field": "from", "type": "quantitative", "title": "from, s", "format": ".2f"},
        {"field": "to", "type": "quantitative", "title": "to, s", "format": ".2f"},
    ]);
    Some(json!({
        "data": {"values": marks},
        "transform": only_chosen(repeats),
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": "#8a8f98", "tooltip": true},
                "encoding": {"x": {"field": "from", "type": "quantitative"}, "tooltip": tooltip},
            },
            {
                "mark": {"type": "text", "align": "left", "baseline": "top", "dx": 3, "dy": 2,
                    "fontSize": 10, "color": "#6b7078", "tooltip": true},
                "encoding": {
                    "x": {"field": "from", "type": "quantitative"},
                    "y": {"value": 0},
                    "text": {"field": "phase"},
                    "tooltip": tooltip,
                },
            },
        ],
    }))
}

/// The time axis.
pub(super) fn seconds() -> Value {
    json!({
        "field": "seconds",
        "type": "quantitative",
        "title": "seconds after the start",
        "scale": {"nice": false},
        "axis": {"grid": false},
    })
}

/// A number for CSV, with six significant digits: more than a screen can show.
pub(super) fn csv_number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = 5 - value.abs().log10().floor() as i32;
    if digits <= 0 {
        return format!("{value:.0}");
    }
    let text = format!("{value:.*}", digits.min(12) as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_at_any_magnitude() {
        assert_eq!(csv_number(12_345_678.9), "12345679");
        assert_eq!(csv_number(0.000_123_456_789), "0.000123457");
        assert_eq!(csv_number(1.5), "1.5");
        assert_eq!(csv_number(0.0), "0");
    }
}
