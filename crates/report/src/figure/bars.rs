//! Bars of each group's observed values against its promise.

use std::collections::BTreeMap;

use assay_judge::verdict::{GroupJudgement, PromiseJudgement};
use assay_record::terms::{Measure, Side};
use serde_json::{Value, json};

use super::Drawing;
use super::spec::{base, colour_by_weight, knob_name, steps};
use crate::means;
use crate::measure_style;
use crate::number::{self, Unit};
use crate::subjects;
use crate::trial::Trial;
use crate::wording;

/// Up to this many bars have an error label, and up to four times as many a name.
const LABELLED: usize = 12;

/// Up to this many bars are wide enough for the bounds of their errors.
const BOUNDED: usize = 6;

/// One bar.
struct Bar {
    group: String,
    weight: String,
    rate: f64,
    promised: Option<f64>,
    interval: Option<(f64, f64)>,
    margin: Option<(f64, f64)>,
    verdict: Option<&'static str>,
}

/// Bars of one measure.
pub(super) fn bars(trial: &Trial<'_>, measure: Measure) -> Drawing {
    let judged = trial.promise(measure.name()).filter(|promise| !promise.groups.is_empty());
    let (bars, basis) = match judged {
        Some(promise) => (judged_bars(trial, promise), Basis::Judged),
        None => measured_bars(trial, measure),
    };
    let spec = if bars.is_empty() {
        Err(trial.why_missing(measure.source()))
    } else {
        Ok(spec(trial, measure, &bars, judged))
    };
    Drawing {
        part: measure.info().anchors.0,
        title: format!("{} per group", measure.info().title),
        reading: reading(measure, &basis, if judged.is_some() { THIN_LINES } else { "" }),
        wide: trial.subjects.0.len() > LABELLED,
        spec,
    }
}

/// Origin of the promise and interval of the bars.
enum Basis {
    Judged,
    /// Ticks show the promised share of another measure.
    Borrowed(String),
    Unpromised,
}

fn reading(measure: Measure, basis: &Basis, thin_lines: &str) -> String {
    match basis {
        Basis::Judged => {
            format!("Bars: measured. Ticks: promised. Bands: the margin. Brackets: {thin_lines}.")
        }
        Basis::Borrowed(other) => format!(
            "No promise on {}: bars are measured, the tick is the share promised for {other} \
             applied to the total, for comparison. Interval: none.",
            measure.name()
        ),
        Basis::Unpromised => {
            format!("No promise on {}: bars are measured. Interval: none.", measure.name())
        }
    }
}

/// What the brackets of judged bars are.
const THIN_LINES: &str = "the bounds that decide";

fn judged_bars(trial: &Trial<'_>, promise: &PromiseJudgement) -> Vec<Bar> {
    // Shares are scaled to rates by the total; other relations are already rates.
    let is_share = wording::is_about_shares(promise);
    let scale = if is_share {
        let sum = || promise.groups.iter().map(|group| group.rate).sum();
        promise.total_rate.unwrap_or_else(sum)
    } else {
        1.0
    };
    let weights: BTreeMap<&str, String> =
        trial.subjects.0.iter().map(|s| (s.name.as_str(), s.class())).collect();
    let bar = |group: &GroupJudgement| {
        let promised = group.expected_share * scale;
        let (low, high) = (promised * (1.0 - promise.within), promised * (1.0 + promise.within));
        // Nothing below a limit is wrong, so that a band down to 0 would show nothing.
        let margin = match promise.side() {
            Side::Above => None,
            Side::Below => Some((low, promised)),
            Side::Both => Some((low, high)),
        };
        Bar {
            group: group.name.clone(),
            weight: weights.get(group.name.as_str()).cloned().unwrap_or_default(),
            // Of shares, what was judged is the mean of the starts, and not the part of all that was used.
            rate: if is_share { group.share * scale } else { group.rate },
            promised: Some(promised),
            interval: Some((group.low * scale, group.high * scale)),
            margin,
            verdict: Some(group.verdict.word()),
        }
    };
    subjects::ordered(promise).into_iter().map(bar).collect()
}

fn measured_bars(trial: &Trial<'_>, measure: Measure) -> (Vec<Bar>, Basis) {
    let rates = means::means(trial, measure);
    let total: f64 = trial.subjects.0.iter().filter_map(|s| rates.get(&s.name)).sum();
    let promises = trial.judgement.map_or(&[][..], |judgement| &judgement.promises);
    let io = |p: &&PromiseJudgement| {
        let both = p.measure.starts_with("io.") && measure.is_io();
        both && wording::is_about_shares(p)
    };
    let borrowed = promises.iter().find(io);
    let shares: BTreeMap<&str, f64> = borrowed.map_or_else(BTreeMap::new, |promise| {
        promise.groups.iter().map(|g| (g.name.as_str(), g.expected_share)).collect()
    });
    let bar = |subject: &subjects::MeasuredGroup| {
        Some(Bar {
            group: subject.name.clone(),
            weight: subject.class(),
            rate: *rates.get(&subject.name)?,
            promised: shares.get(subject.name.as_str()).map(|share| share * total),
            interval: None,
            margin: None,
            verdict: None,
        })
    };
    let bars = trial.subjects.0.iter().filter_map(bar).collect();
    let basis = match borrowed {
        Some(promise) if !shares.is_empty() => Basis::Borrowed(promise.measure.clone()),
        _ => Basis::Unpromised,
    };
    (bars, basis)
}

fn row(bar: &Bar) -> Value {
    let mut row = json!({"group": bar.group, "weight": bar.weight, "rate": bar.rate});
    let mut set = |name: &str, value: Option<f64>| {
        if let (Some(value), Value::Object(fields)) = (value, &mut row) {
            fields.insert(name.to_owned(), json!(value));
        }
    };
    set("promised", bar.promised);
    set("low", bar.interval.map(|(low, _)| low));
    set("high", bar.interval.map(|(_, high)| high));
    set("margin_low", bar.margin.map(|(low, _)| low));
    set("margin_high", bar.margin.map(|(_, high)| high));
    if let Some(promised) = bar.promised.filter(|promised| *promised > 0.0) {
        let error = |rate: f64| number::signed_percent(rate / promised - 1.0);
        row["error"] = json!(error_label(bar.rate / promised - 1.0));
        if let Some((low, high)) = bar.interval.filter(|(_, high)| high.is_finite()) {
            row["bounds"] = json!(format!("{} to {}", error(low), error(high)));
        }
    }
    if let Some(verdict) = bar.verdict {
        row["verdict"] = json!(verdict);
    }
    row
}

/// A label short enough for a narrow bar.
fn error_label(error: f64) -> String {
    if error < 1.0 {
        format!("{} %", number::signed_percent(error))
    } else {
        format!("+{} %", number::percent(error, 0))
    }
}

fn spec(
    trial: &Trial<'_>,
    measure: Measure,
    bars: &[Bar],
    judged: Option<&PromiseJudgement>,
) -> Value {
    let highest = |bar: &Bar| {
        let others = [bar.promised, bar.interval.map(|i| i.1)];
        others.into_iter().flatten().fold(bar.rate, f64::max)
    };
    let rate = Unit::for_rate(measure.name(), bars.iter().map(highest).fold(0.0, f64::max));
    // A promise of shares is drawn as shares.
    let total: f64 = bars.iter().map(|bar| bar.rate).sum();
    let (unit, title) = match judged.filter(|promise| wording::is_about_shares(promise)) {
        Some(promise) => (
            Unit { label: "%", scale: promise.total_rate.unwrap_or(total) / 100.0, decimals: 2 },
            format!("share of {}, %", measure_style::uncapitalised(measure.info().title)),
        ),
        None => (rate, measure_style::axis_title(measure, "", rate)),
    };
    let mut spec = base(
        &format!(
            "{} of each group against its promise, trial {}",
            measure.info().title,
            trial.number
        ),
        280,
        steps(&trial.subjects),
    );
    spec["data"] = json!({"values": bars.iter().map(row).collect::<Vec<_>>()});
    spec["transform"] = json!(scaled(unit, bars));
    spec["encoding"] = json!({"x": group_axis(trial, bars.len())});
    spec["layer"] = json!(layers(trial, unit, &title, bars));
    spec
}

/// The data are in base units; only displayed values are in the unit of the axis.
fn scaled(unit: Unit, bars: &[Bar]) -> Vec<Value> {
    let mut fields = vec!["rate"];
    fields.extend(bars.iter().any(|bar| bar.promised.is_some()).then_some("promised"));
    if bars.iter().any(|bar| bar.interval.is_some()) {
        fields.extend(["low", "high"]);
    }
    if bars.iter().any(|bar| bar.margin.is_some()) {
        fields.extend(["margin_low", "margin_high"]);
    }
    let shown = |field| json!({"calculate": format!("datum.{field} / {}", unit.scale), "as": format!("{field}_shown")});
    fields.into_iter().map(shown).collect()
}

fn group_axis(trial: &Trial<'_>, count: usize) -> Value {
    if count > LABELLED * 4 {
        let title = format!("{count} groups, ordered by {}", knob_name(trial));
        return json!({"field": "group", "type": "nominal", "sort": null, "title": title,
            "axis": {"labels": false, "ticks": false}});
    }
    json!({"field": "group", "type": "nominal", "sort": null, "title": null,
        "axis": {"labelAngle": if count > LABELLED { -45 } else { 0 }, "labelOverlap": true,
            "ticks": false}})
}

fn layers(trial: &Trial<'_>, unit: Unit, title: &str, bars: &[Bar]) -> Vec<Value> {
    let axis = json!({"title": title, "tickCount": 5});
    let y = |field: &str| json!({"field": field, "type": "quantitative", "axis": axis, "title": axis["title"]});
    let dense = bars.len() > LABELLED * 4;
    let mut layers = vec![json!({
        "mark": {"type": "bar", "tooltip": true, "width": {"band": if dense { 0.9 } else { 0.66 }}},
        "encoding": {"y": y("rate_shown"), "color": colour_by_weight(trial), "tooltip": tooltip(unit, bars)},
    })];
    if bars.iter().any(|bar| bar.margin.is_some()) {
        layers.push(json!({
            "mark": {"type": "bar", "color": "#8a8f98", "opacity": 0.38, "width": {"band": if dense { 1.0 } else { 0.86 }}},
            "encoding": {"y": y("margin_low_shown"), "y2": {"field": "margin_high_shown"}},
        }));
    }
    if bars.iter().any(|bar| bar.promised.is_some()) {
        layers.push(json!({
            "mark": {"type": "tick", "style": "promise", "thickness": if dense { 2.5 } else { 4.0 },
                "strokeWidth": if dense { 0 } else { 1 }, "width": {"band": if dense { 1.0 } else { 0.86 }}},
            "encoding": {"y": y("promised_shown")},
        }));
    }
    if bars.iter().any(|bar| bar.interval.is_some()) {
        // With ends, so that an interval narrower than a tick is seen.
        let end = |field: &str| {
            json!({"mark": {"type": "tick", "style": "interval", "thickness": 1.5, "width": {"band": 0.18}},
                "encoding": {"y": y(field)}})
        };
        layers.push(json!({
            "mark": {"type": "rule", "style": "interval", "strokeWidth": if dense { 1.0 } else { 2.0 }},
            "encoding": {"y": y("low_shown"), "y2": {"field": "high_shown"}},
        }));
        if !dense {
            layers.extend(["low_shown", "high_shown"].map(end));
        }
    }
    if bars.len() <= LABELLED && bars.iter().any(|bar| bar.promised.is_some()) {
        let top = if bars.iter().any(|bar| bar.interval.is_some()) {
            "max(datum.rate_shown, datum.promised_shown, datum.high_shown, datum.margin_high_shown || 0)"
        } else {
            "max(datum.rate_shown, datum.promised_shown)"
        };
        let label = |field: &str, dy: i32| {
            json!({
                "transform": [{"calculate": top, "as": "top_shown"}],
                "mark": {"type": "text", "style": "error", "dy": dy, "fontSize": 11},
                "encoding": {"y": y("top_shown"), "text": {"field": field}},
            })
        };
        let with_bounds = bars.len() <= BOUNDED && bars.iter().any(|bar| bar.interval.is_some());
        layers.push(label("error", if with_bounds { -21 } else { -8 }));
        layers.extend(with_bounds.then(|| label("bounds", -8)));
    }
    layers
}

fn tooltip(unit: Unit, bars: &[Bar]) -> Vec<Value> {
    let format = format!(".{}f", unit.decimals);
    let number = |field: &str, title: &str| {
        json!({"field": field, "type": "quantitative", "format": format,
            "title": format!("{title}, {}", unit.label)})
    };
    let mut fields = vec![
        json!({"field": "group", "title": "group"}),
        json!({"field": "weight", "title": "weight"}),
        number("rate_shown", "measured"),
    ];
    if bars.iter().any(|bar| bar.promised.is_some()) {
        fields.push(number("promised_shown", "promised"));
        fields.push(json!({"field": "error", "title": "error"}));
    }
    if bars.iter().any(|bar| bar.interval.is_some()) {
        fields.push(number("low_shown", "low"));
        fields.push(number("high_shown", "high"));
        fields.push(json!({"field": "verdict", "title": "verdict"}));
    }
    fields
}
