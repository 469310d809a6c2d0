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
        reading: "The group that is farthest from its promise, with the interval of that error. \
                  The dashed line is the margin: a promise is kept when the whole interval lies \
                  below it. Of a trial with one repeat the interval is the noise within its window, \
                  and nothing is kept."
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

fn spec(rows: &[Value]) -> Value {
    let mut measures: Vec<&Value> = rows.iter().map(|row| &row["measure"]).collect();
    measures.dedup();
    let mut margins: Vec<Value> = rows.iter().map(|row| json!({"margin": row["margin"]})).collect();
    margins.dedup();
    let mut spec = base("Worst relative error of each trial against the margin", 240, 1);
    spec["data"] = json!({"values": rows});
    let y = |field: &str| {
        json!({"field": field, "type": "quantitative", "title": "worst relative error",
            "axis": {"format": "%", "tickCount": 5}, "scale": {"zero": true}})
    };
    spec["encoding"] = json!({
        "x": {"field": "trial", "type": "nominal", "sort": null, "title": null,
            "axis": {"labelAngle": 0, "labelLimit": 160, "labelOverlap": true}},
    });
    if measures.len() > 1 {
        spec["encoding"]["xOffset"] = json!({"field": "measure", "type": "nominal"});
    }
    let colour = json!({"field": "verdict", "type": "nominal",
        "scale": {"domain": ["kept", "broken", "undecided", "void"],
            "range": ["#1f9e83", "#d8572a", "#b8890b", "#8a8f98"]},
        "legend": {"title": "verdict", "orient": "top"}});
    let tooltip = json!([
        {"field": "factors"}, {"field": "measure"}, {"field": "verdict"},
        {"field": "error", "type": "quantitative", "format": ".1%"},
        {"field": "low", "type": "quantitative", "format": ".1%"},
        {"field": "high", "type": "quantitative", "format": ".1%"},
    ]);
    spec["layer"] = json!([
        {"data": {"values": margins}, "encoding": {"x": null, "y": y("margin")},
            "mark": {"type": "rule", "style": "interval", "strokeDash": [5, 4]}},
        {"mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y("low"), "y2": {"field": "high"}, "color": colour}},
        {"mark": {"type": "point", "filled": true, "size": 90, "opacity": 1},
            "encoding": {"y": y("error"), "color": colour,
                "shape": {"field": "verdict", "type": "nominal",
                    "scale": {"domain": ["kept", "broken", "undecided", "void"],
                        "range": ["circle", "triangle-down", "diamond", "square"]},
                    "legend": {"title": "verdict", "orient": "top"}},
                "tooltip": tooltip}},
    ]);
    spec
}
