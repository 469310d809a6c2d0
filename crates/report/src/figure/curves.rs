//! Curves reported by workloads, such as latency over working set, with the positions they mark.

use assay_record::run_folder::Curve;
use serde_json::{Value, json};

use super::Drawing;
use super::spec::base;
use crate::trial::Trial;

/// Ids of the figures, one for each pair of axes; more are not drawn.
const PARTS: [&str; 3] = ["curves", "curves-2", "curves-3"];

/// A curve with its workload and the repeat, from 1.
type Drawn<'r> = (&'r str, usize, &'r Curve);

/// A figure for each pair of axes; empty if no workload has curves.
pub(super) fn curves(trial: &Trial<'_>) -> Vec<Drawing> {
    let results = trial.record.repeats.iter().enumerate().flat_map(|(index, repeat)| {
        repeat.workloads.iter().map(move |workload| (index + 1, workload))
    });
    let all: Vec<Drawn<'_>> = results
        .flat_map(|(number, result)| {
            result.curves.iter().map(move |curve| (result.workload.as_str(), number, curve))
        })
        .collect();
    let mut axes: Vec<(&str, &str)> = Vec::new();
    for (_, _, curve) in &all {
        let pair = (curve.x.as_str(), curve.y.as_str());
        if !axes.contains(&pair) {
            axes.push(pair);
        }
    }
    let of_axes = |(x, y): &(&str, &str)| -> Vec<Drawn<'_>> {
        all.iter().copied().filter(|(_, _, curve)| curve.x == *x && curve.y == *y).collect()
    };
    PARTS.iter().zip(&axes).map(|(part, pair)| drawing(trial, part, &of_axes(pair))).collect()
}

fn drawing(trial: &Trial<'_>, part: &'static str, curves: &[Drawn<'_>]) -> Drawing {
    let first = curves[0].2;
    let mut reading = "Each line was measured by one workload in one repeat.".to_owned();
    if curves.iter().any(|(_, _, curve)| !curve.marks.is_empty()) {
        reading.push_str(" Dashed lines are positions marked by the workload.");
    }
    if first.logarithmic {
        reading.push_str(" Logarithmic axes.");
    }
    Drawing {
        part,
        title: format!("{} over {}", first.y, first.x),
        reading,
        wide: true,
        spec: Ok(spec(trial, curves)),
    }
}

fn spec(trial: &Trial<'_>, curves: &[Drawn<'_>]) -> Value {
    let first = curves[0].2;
    let mut spec = base(&format!("{} over {}, trial {}", first.y, first.x, trial.number), 300, 1);
    let scale = |logarithmic: bool| match logarithmic {
        // Working sets grow by doubling, latencies do not.
        true => json!({"type": "log", "nice": false}),
        false => json!({"zero": false}),
    };
    let axis = |name: &str, title: &str| {
        json!({
            "field": name,
            "type": "quantitative",
            "title": title,
            "scale": scale(first.logarithmic),
            "axis": {"format": "~s"},
        })
    };
    let lines = json!({
        "data": {"values": rows(curves)},
        "mark": {"type": "line", "point": {"size": 24}, "strokeWidth": 1.4, "tooltip": true},
        "encoding": {
            "x": axis("x", &first.x),
            "y": axis("y", &first.y),
            "color": {"field": "curve", "type": "nominal", "legend": {"orient": "top", "title": null}},
            "detail": {"field": "repeat", "type": "nominal"},
        },
    });
    let mut layers = vec![lines];
    let marks = marks(curves);
    if !marks.is_empty() {
        let x = json!({"field": "x", "type": "quantitative"});
        layers.push(json!({
            "data": {"values": marks},
            "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#8a8f98", "tooltip": true},
            "encoding": {"x": x},
        }));
        layers.push(json!({
            "data": {"values": marks},
            "mark": {"type": "text", "align": "left", "dx": 4, "baseline": "top", "color": "#8a8f98"},
            "encoding": {"x": x, "y": {"value": 2}, "text": {"field": "label"}},
        }));
    }
    spec["layer"] = Value::Array(layers);
    spec
}

fn rows(curves: &[Drawn<'_>]) -> Vec<Value> {
    let row = |workload: &str, repeat: usize, name: &str, [x, y]: [f64; 2]| json!({"x": x, "y": y, "curve": format!("{workload}: {name}"), "repeat": repeat});
    curves
        .iter()
        .flat_map(|(workload, repeat, curve)| {
            curve.points.iter().map(|point| row(workload, *repeat, &curve.name, *point))
        })
        .collect()
}

/// Each marked position with its label once, although every repeat marks it.
fn marks(curves: &[Drawn<'_>]) -> Vec<Value> {
    let mut marks: Vec<Value> = Vec::new();
    for mark in curves.iter().flat_map(|(_, _, curve)| &curve.marks) {
        let mark = json!({"x": mark.x, "label": mark.label});
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}
