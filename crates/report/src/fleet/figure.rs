//! The worst error of a promise on each host.

use assay_verdict::FleetPromise;
use serde_json::{Value, json};

use crate::error::Error;
use crate::figure::Figure;
use crate::wording;

/// One point per host, with the margin and the interval of the mean over hosts.
pub(super) fn errors(id: String, promise: &FleetPromise) -> Result<Figure, Error> {
    let rows: Vec<Value> = promise
        .hosts
        .iter()
        .filter_map(|host| {
            let error = host.worst_error?;
            Some(json!({"host": host.node, "error": error,
                "verdict": wording::verdict(host.verdict)}))
        })
        .collect();
    let reading = "The group that is farthest from its promise, on each host. The dashed line is \
                   the margin; the band is the interval of the mean over hosts.";
    let spec = match rows.is_empty() {
        true => Err("no host has an error for this promise".to_owned()),
        false => Ok(spec(&rows, promise)),
    };
    let title = format!("Worst error of {} on each host", promise.measure);
    Figure::from_spec(id, title, reading.to_owned(), spec)
}

fn spec(rows: &[Value], promise: &FleetPromise) -> Value {
    let y = |field: &str| {
        json!({"field": field, "type": "quantitative", "title": "worst relative error",
            "axis": {"format": "%", "tickCount": 5}, "scale": {"zero": true}})
    };
    let verdicts = json!(["kept", "broken", "undecided", "void"]);
    let legend = json!({"title": "verdict", "orient": "top"});
    let mut layers = vec![json!({"data": {"values": [{"margin": promise.within}]},
        "encoding": {"x": null, "y": y("margin")},
        "mark": {"type": "rule", "style": "interval", "strokeDash": [5, 4]}})];
    if let Some((low, high)) =
        promise.worst_error.value().and_then(|spread| Some((spread.low?, spread.high?)))
    {
        layers.push(json!({"data": {"values": [{"low": low, "high": high}]},
            "encoding": {"x": null, "y": y("low"), "y2": {"field": "high"}},
            "mark": {"type": "rect", "color": "#8a8f98", "opacity": 0.16}}));
    }
    layers.push(json!({"mark": {"type": "point", "filled": true, "size": 90, "opacity": 1},
        "encoding": {
            "y": y("error"),
            "color": {"field": "verdict", "type": "nominal", "scale": {"domain": verdicts,
                "range": ["#1f9e83", "#d8572a", "#b8890b", "#8a8f98"]}, "legend": legend},
            "shape": {"field": "verdict", "type": "nominal", "scale": {"domain": verdicts,
                "range": ["circle", "triangle-down", "diamond", "square"]}, "legend": legend},
            "tooltip": [{"field": "host"}, {"field": "verdict"},
                {"field": "error", "type": "quantitative", "format": ".1%"}]}}));
    json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": "The worst relative error on each host against the margin",
        "width": "container",
        "height": 220,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "usermeta": {"weights": 1},
        "data": {"values": rows},
        "encoding": {"x": {"field": "host", "type": "nominal", "sort": null, "title": null,
            "axis": {"labelAngle": 0, "labelLimit": 120, "labelOverlap": true}}},
        "layer": layers,
    })
}
