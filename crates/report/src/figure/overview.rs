//! The worst error of every trial: where a promise ceases to hold.

use serde_json::{Value, json};

use super::spec::base;
use super::{Drawing, Figure};
use crate::error::Error;
use crate::trial::Trial;
use crate::wording;

/// `None` with fewer than two trials to compare.
pub(crate) fn overview(trials: &[Trial<'_>]) -> Result<Option<Figure>, Error> {
    let rows: Vec<Value> = trials.iter().flat_map(rows_of).collect();
    if trials.len() < 2 || rows.len() < 2 {
        return Ok(None);
    }
    let drawing = Drawing {
        part: "overview",
        title: "Worst error of each trial".to_owned(),
        reading: "The group that is farthest from its promise, with the bounds of that error. \
                  The dashed line is the margin: a promise is kept when both bounds lie \
                  below it. A trial with fewer than eight starts has none."
            .to_owned(),
        wide: true,
        spec: Ok(spec(&rows)),
    };
    Figure::new("overview".to_owned(), drawing, false).map(Some)
}

fn rows_of(trial: &Trial<'_>) -> Vec<Value> {
    let promises = trial.judgement.map_or(&[][..], |judgement| &judgement.promises);
    let row = |promise: &assay_verdict::PromiseJudgement| {
        let error = promise.worst_error?;
        Some(json!({
            "trial": trial.short,
            "factors": wording::factors(&trial.record.factors),
            "measure": promise.measure,
            "error": error.value,
            "low": error.low,
            "high": error.high,
            "margin": promise.within,
            "verdict": wording::verdict(promise.verdict),
        }))
    };
    promises.iter().filter_map(row).collect()
}

/// An axis of relative errors.
pub(crate) fn error_axis(field: &str) -> Value {
    json!({"field": field, "type": "quantitative", "title": "worst relative error",
        "axis": {"format": "%", "tickCount": 5}, "scale": {"zero": true}})
}

/// One axis position for each row, with its labels shortened to `limit` pixels.
pub(crate) fn name_axis(field: &str, limit: u32) -> Value {
    json!({"field": field, "type": "nominal", "sort": null, "title": null,
        "axis": {"labelAngle": 0, "labelLimit": limit, "labelOverlap": true}})
}

/// The margin as a dashed line.
pub(crate) fn margin_line(margins: &[Value]) -> Value {
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
pub(super) fn verdict_colour() -> Value {
    by_verdict(["#1f9e83", "#d8572a", "#b8890b", "#8a8f98"])
}

/// A point for each error, coloured and shaped by its verdict.
pub(crate) fn error_points(tooltip: &Value) -> Value {
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
