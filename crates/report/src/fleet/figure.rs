//! The worst error of a promise on each host.

use assay_verdict::FleetPromise;
use serde_json::{Value, json};

use crate::error::Error;
use crate::figure::{Figure, base, error_axis, error_points, margin_line, name_axis};
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
