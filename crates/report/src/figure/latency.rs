//! Latency percentiles of each group, as measured by its workload.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Drawing;
use super::spec::{base, colour_by_weight, steps};
use crate::number::{Unit, fixed};
use crate::trial::Trial;

/// Percentiles drawn, if reported by the workload.
const DRAWN: [&str; 6] = ["50", "90", "95", "99", "99.9", "99.99"];

/// Group, direction and percentile index, with one value for each repeat.
type Values = BTreeMap<(String, String, usize), Vec<f64>>;

/// Curves of latency over percentile.
pub(super) fn latency(trial: &Trial<'_>) -> Drawing {
    let values = values(trial);
    let spec = if values.is_empty() { Err(why_missing(trial)) } else { Ok(spec(trial, &values)) };
    Drawing {
        part: "latency",
        title: "Completion latency per group".to_owned(),
        reading: "Percentiles as the workloads measured them over their whole run, the median of \
                  the repeats. Logarithmic axis."
            .to_owned(),
        wide: false,
        spec,
    }
}

fn why_missing(trial: &Trial<'_>) -> String {
    if trial.record.repeats.is_empty() {
        "no repeat of this trial took place".to_owned()
    } else {
        "no workload of a measured group reported latency percentiles".to_owned()
    }
}

fn values(trial: &Trial<'_>) -> Values {
    let mut values = Values::new();
    let results = trial.record.repeats.iter().flat_map(|repeat| &repeat.workloads);
    for result in results.filter(|r| trial.subjects.0.iter().any(|s| s.name == r.group)) {
        for (direction, latency) in &result.latency {
            for (name, value) in &latency.percentiles_ns {
                let index = DRAWN.iter().position(|drawn| same_number(drawn, name));
                if let Some(index) = index.filter(|_| *value > 0.0) {
                    let key = (result.group.clone(), direction.clone(), index);
                    values.entry(key).or_default().push(*value);
                }
            }
        }
    }
    values
}

/// fio writes `99.000000`, other tools `99`.
fn same_number(a: &str, b: &str) -> bool {
    matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if (a - b).abs() < 1e-9)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) && middle > 0 {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

fn spec(trial: &Trial<'_>, values: &Values) -> Value {
    let unit = Unit::for_latency(values.values().map(|values| median(values)).fold(0.0, f64::max));
    let classes: BTreeMap<&str, String> =
        trial.subjects.0.iter().map(|s| (s.name.as_str(), s.class())).collect();
    let rows: Vec<Value> = values
        .iter()
        .map(|((group, direction, index), values)| {
            let value = median(values);
            json!({
                "group": group,
                "weight": classes.get(group.as_str()),
                "direction": direction,
                "percentile": DRAWN[*index],
                "latency_ns": value.round(),
                "label": format!("{} {}", fixed(value / unit.scale, unit.decimals), unit.label),
            })
        })
        .collect();
    let mut directions: Vec<&str> = values.keys().map(|(_, direction, _)| &**direction).collect();
    directions.sort_unstable();
    directions.dedup();
    let mut spec = base(
        &format!("Latency percentiles of each group, trial {}", trial.number),
        260,
        steps(&trial.subjects),
    );
    spec["data"] = json!({"values": rows});
    spec["transform"] =
        json!([{"calculate": format!("datum.latency_ns / {}", unit.scale), "as": "latency_shown"}]);
    let thin = trial.subjects.aggregated();
    spec["mark"] = json!({
        "type": "line",
        "point": if thin { Value::Bool(false) } else { json!({"size": 34}) },
        "strokeWidth": if thin { 0.9 } else { 1.6 },
        "opacity": if thin { 0.55 } else { 1.0 },
        "tooltip": true,
    });
    spec["encoding"] = encoding(trial, unit, domain(values, unit), &directions);
    spec
}

/// The range of the values with some padding, in the unit of the axis.
fn domain(values: &Values, unit: Unit) -> [f64; 2] {
    let shown = || values.values().map(|values| median(values) / unit.scale);
    [shown().fold(f64::INFINITY, f64::min) / 1.3, shown().fold(0.0, f64::max) * 1.3]
}

/// 1, 2 and 5 of every decade; by default a logarithmic axis has a line for every digit.
fn ticks([low, high]: [f64; 2]) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let steps = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade)));
    steps.filter(|tick| (low..=high).contains(tick)).collect()
}

fn encoding(trial: &Trial<'_>, unit: Unit, domain: [f64; 2], directions: &[&str]) -> Value {
    let mut encoding = json!({
        "x": {"field": "percentile", "type": "ordinal", "sort": DRAWN, "title": "percentile",
            "axis": {"labelAngle": 0}},
        "y": {"field": "latency_shown", "type": "quantitative",
            "scale": {"type": "log", "domain": domain, "nice": false},
            "title": format!("completion latency, {}", unit.label),
            "axis": {"values": ticks(domain), "format": "~r"}},
        "detail": {"field": "group", "type": "nominal"},
        "color": colour_by_weight(trial),
        "tooltip": [
            {"field": "group"}, {"field": "weight"}, {"field": "direction"},
            {"field": "percentile"}, {"field": "label", "title": "latency"},
        ],
    });
    if directions.len() > 1 {
        encoding["strokeDash"] = json!({"field": "direction", "type": "nominal",
            "legend": {"title": "direction", "orient": "top"}});
    }
    encoding
}
