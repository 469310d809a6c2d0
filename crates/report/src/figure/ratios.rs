//! Ratios of two runs with their intervals and the margin.

use assay_judge::verdict::{MeasureComparison, TrialComparison};
use serde_json::{Value, json};

use super::spec::base;
use super::{Figure, drawn};
use crate::compare_runs;

/// Maximum number of rows.
const ROWS: usize = 40;

/// Height of one row.
const ROW: u32 = 22;

/// The figure of one trial.
pub(crate) fn ratios(number: usize, trial: &TrialComparison, within: f64) -> Figure {
    let (shown, _) = compare_runs::listed(trial, ROWS);
    let rows: Vec<Value> = shown.iter().filter_map(|one| row(one)).collect();
    let reading = "Points are ratios, lines their intervals, the shaded band is the margin. An interval inside the \
                   band is equal, one outside it is different, one that crosses its edge is undecided. Filled points \
                   decide.";
    let nothing = || "no measure has a number on both sides".to_owned();
    let spec = match rows.is_empty() {
        true => Err(trial.not_comparable.clone().unwrap_or_else(nothing)),
        false => Ok(spec(&rows, within)),
    };
    drawn(format!("trial-{number}-ratios"), "B divided by A", reading, spec)
}

fn row(one: &MeasureComparison) -> Option<Value> {
    let ratio = one.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?;
    Some(json!({
        "name": format!("{}, {}", compare_runs::measure(one), compare_runs::group(one)),
        "ratio": ratio,
        "low": one.low,
        "high": one.high,
        "decides": one.decides,
        "verdict": compare_runs::word(one.verdict),
        "a": compare_runs::value(one, &one.a),
        "b": compare_runs::value(one, &one.b),
    }))
}

fn spec(rows: &[Value], within: f64) -> Value {
    let height = ROW * u32::try_from(rows.len()).unwrap_or(1) + 20;
    let mut spec = base("Ratios of two runs with their intervals", height.max(70), 1);
    let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
    spec["data"] = json!({"values": rows});
    let x = |field: &str| {
        json!({"field": field, "type": "quantitative", "title": "B / A",
            "scale": {"type": "log", "nice": false, "padding": 12},
            "axis": {"format": ".3~r", "tickCount": 7}})
    };
    let y = json!({"field": "name", "type": "nominal", "sort": names, "title": null,
        "axis": {"labelLimit": 280}});
    let colour = json!({"field": "verdict", "type": "nominal", "scale": {
        "domain": ["equal", "better", "worse", "different", "undecided"],
        "range": ["#009e73", "#0072b2", "#d55e00", "#d55e00", "#8a8f98"]},
        "legend": {"title": null, "orient": "top"}});
    let tooltip = json!([
        {"field": "name"}, {"field": "a", "title": "A"}, {"field": "b", "title": "B"},
        {"field": "ratio", "type": "quantitative", "format": ".4"},
        {"field": "low", "type": "quantitative", "format": ".4"},
        {"field": "high", "type": "quantitative", "format": ".4"},
        {"field": "verdict"},
    ]);
    let margin = json!([{"from": 1.0 / (1.0 + within), "to": 1.0 + within, "one": 1.0}]);
    let mut layers = vec![
        json!({"data": {"values": margin},
            "mark": {"type": "rect", "color": "#8a8f98", "opacity": 0.16},
            "encoding": {"x": x("from"), "x2": {"field": "to"}}}),
        json!({"data": {"values": margin}, "mark": {"type": "rule", "color": "#8a8f98"},
            "encoding": {"x": x("one")}}),
    ];
    // A layer without rows has no extent, which causes a browser warning.
    if rows.iter().any(|row| row["low"].is_number() && row["high"].is_number()) {
        layers.push(json!({"transform": [{"filter": "datum.low != null && datum.high != null"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": x("low"), "x2": {"field": "high"}, "color": colour}}));
    }
    for (decides, size) in [(true, 70), (false, 60)] {
        if rows.iter().any(|row| row["decides"] == decides) {
            layers.push(json!({"transform": [{"filter": format!("datum.decides === {decides}")}],
                "mark": {"type": "point", "filled": decides, "size": size, "opacity": 1},
                "encoding": {"y": y, "x": x("ratio"), "color": colour, "tooltip": tooltip}}));
        }
    }
    spec["layer"] = json!(layers);
    spec
}
