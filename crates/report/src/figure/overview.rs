//! The worst error of every trial: where a promise ceases to hold.

use assay_judge::verdict::FleetPromise;
use serde_json::{Value, json};

use super::spec::base;
use super::{Figure, drawn};
use crate::trial::Trial;
use crate::wording;

/// `None` with fewer than two trials to compare.
pub(crate) fn overview(trials: &[Trial<'_>]) -> Option<Figure> {
    let rows: Vec<Value> = trials.iter().flat_map(rows_of).collect();
    if trials.len() < 2 || rows.len() < 2 {
        return None;
    }
    let reading = "The group that is farthest from its promise, with the bounds of that error. The dashed line is \
                   the margin: a promise is kept when both bounds lie below it. A trial with fewer than eight \
                   starts has none.";
    Some(drawn("overview".to_owned(), "Worst error of each trial", reading, Ok(spec(&rows))))
}

fn rows_of(trial: &Trial<'_>) -> Vec<Value> {
    let promises = trial.judgement.map_or(&[][..], |judgement| &judgement.promises);
    let row = |promise: &assay_judge::verdict::PromiseJudgement| {
        let error = promise.worst_error?;
        Some(json!({
            "trial": trial.short,
            "factors": wording::factors(&trial.record.factors),
            "measure": promise.measure,
            "error": error.value,
            "low": error.low,
            "high": error.high,
            "margin": promise.within,
            "verdict": promise.verdict.word(),
        }))
    };
    promises.iter().filter_map(row).collect()
}

/// An axis of relative errors.
fn error_axis(field: &str) -> Value {
    json!({"field": field, "type": "quantitative", "title": "worst relative error",
        "axis": {"format": "%", "tickCount": 5}, "scale": {"zero": true}})
}

/// One axis position for each row, with its labels shortened to `limit` pixels.
fn name_axis(field: &str, limit: u32) -> Value {
    json!({"field": field, "type": "nominal", "sort": null, "title": null,
        "axis": {"labelAngle": 0, "labelLimit": limit, "labelOverlap": true}})
}

/// The margin as a dashed line.
fn margin_line(margins: &[Value]) -> Value {
    json!({"data": {"values": margins}, "encoding": {"x": null, "y": error_axis("margin")},
        "mark": {"type": "rule", "style": "interval", "strokeDash": [5, 4]}})
}

/// The verdict as one of these values of a colour or a shape.
fn by_verdict(values: [&str; 4]) -> Value {
    json!({"field": "verdict", "type": "nominal",
        "scale": {"domain": ["kept", "broken", "undecided", "void"], "range": values},
        "legend": {"title": "verdict", "orient": "top"}})
}

/// The verdict as a colour.
fn verdict_colour() -> Value {
    by_verdict(["#1f9e83", "#d8572a", "#b8890b", "#8a8f98"])
}

/// A point for each error, coloured and shaped by its verdict.
fn error_points(tooltip: &Value) -> Value {
    json!({"mark": {"type": "point", "filled": true, "size": 90, "opacity": 1},
        "encoding": {"y": error_axis("error"), "color": verdict_colour(),
            "shape": by_verdict(["circle", "triangle-down", "diamond", "square"]),
            "tooltip": tooltip}})
}

fn spec(rows: &[Value]) -> Value {
    let mut measures: Vec<&Value> = rows.iter().map(|row| &row["measure"]).collect();
    measures.dedup();
    let mut margins: Vec<Value> = rows.iter().map(|row| json!({"margin": row["margin"]})).collect();
    margins.dedup();
    let mut spec = base("Worst relative error of each trial against the margin", 240, 1);
    spec["data"] = json!({"values": rows});
    spec["encoding"] = json!({"x": name_axis("trial", 160)});
    if measures.len() > 1 {
        spec["encoding"]["xOffset"] = json!({"field": "measure", "type": "nominal"});
    }
    let tooltip = json!([
        {"field": "factors"}, {"field": "measure"}, {"field": "verdict"},
        {"field": "error", "type": "quantitative", "format": ".1%"},
        {"field": "low", "type": "quantitative", "format": ".1%"},
        {"field": "high", "type": "quantitative", "format": ".1%"},
    ]);
    spec["layer"] = json!([
        margin_line(&margins),
        {"mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": error_axis("low"), "y2": {"field": "high"},
                "color": verdict_colour()}},
        error_points(&tooltip),
    ]);
    spec
}

/// The worst error of a promise on each host: one point per host, with the margin and the interval of the mean over hosts.
pub(crate) fn errors_of_hosts(id: String, promise: &FleetPromise) -> Figure {
    let rows: Vec<Value> = promise
        .hosts
        .iter()
        .filter_map(|host| {
            let error = host.worst_error?;
            Some(json!({"host": host.node, "error": error,
                "verdict": host.verdict.word()}))
        })
        .collect();
    let reading = "The group that is farthest from its promise, on each host. The dashed line is \
                   the margin; the band is the interval of the mean over hosts.";
    let spec = match rows.is_empty() {
        true => Err("no host has an error for this promise".to_owned()),
        false => Ok(spec_of_hosts(&rows, promise)),
    };
    drawn(id, format!("Worst error of {} on each host", promise.measure), reading, spec)
}

fn spec_of_hosts(rows: &[Value], promise: &FleetPromise) -> Value {
    let mut layers = vec![margin_line(&[json!({"margin": promise.within})])];
    if let Some((low, high)) =
        promise.worst_error.value().and_then(|spread| Some((spread.low?, spread.high?)))
    {
        layers.push(json!({"data": {"values": [{"low": low, "high": high}]},
            "encoding": {"x": null, "y": error_axis("low"), "y2": {"field": "high"}},
            "mark": {"type": "rect", "color": "#8a8f98", "opacity": 0.16}}));
    }
    layers.push(error_points(&json!([{"field": "host"}, {"field": "verdict"},
        {"field": "error", "type": "quantitative", "format": ".1%"}])));
    let mut spec = base("The worst relative error on each host against the margin", 220, 1);
    spec["data"] = json!({"values": rows});
    spec["encoding"] = json!({"x": name_axis("host", 120)});
    spec["layer"] = Value::Array(layers);
    spec
}
