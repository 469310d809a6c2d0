//! Share error against throughput of every setting of a search.

use assay_judge::verdict::Verdict;
use assay_report::figure::{base, drawn, verdict_colour};
use assay_report::wording;
use assay_sys::escape::page::Figure;
use serde_json::{Value, json};

use crate::{Measured, Tuning, is_work};

/// Smaller errors are drawn at this value: the logarithmic axis has no zero.
const MIN_ERROR: f64 = 0.005;

pub(crate) fn frontier(tuning: &Tuning) -> Figure {
    let rows = rows(tuning);
    let spec = if !is_work(&tuning.measure) {
        Err(format!("more of {} is not more work", tuning.measure))
    } else if rows.len() < 2 {
        Err("fewer than two settings have a usable number".to_owned())
    } else {
        Ok(spec(&rows, tuning.within))
    };
    let reading = "Each point is a setting; lower is more exact, further right is faster. Filled \
                   points with intervals are fresh repeats, hollow ones come from the search \
                   alone. The thin line joins settings that no other beats in both; the ring \
                   marks the chosen one. The dashed line is the margin.";
    drawn("frontier".to_owned(), "Share error against throughput", reading, spec)
}

fn rows(tuning: &Tuning) -> Vec<Value> {
    let rate = |data: Option<&Measured>| data.and_then(|data| data.rate).filter(|rate| *rate > 0.0);
    let first = tuning.settings.first();
    // Each stage has its own unchanged setting, so that repeats of equal length are compared.
    let searched = rate(first.and_then(|one| one.search.as_ref()));
    let confirmed = rate(first.and_then(|one| one.confirmation.as_ref()));
    let row = |setting: &crate::SettingResult| {
        let data = setting.best_data().filter(|data| data.verdict != Verdict::Void)?;
        let fresh = setting.confirmation.is_some();
        let base = if fresh { confirmed } else { searched }.or(searched).or(confirmed)?;
        let error = data.error?;
        Some(json!({
            "setting": setting.name,
            "rate": data.rate? / base,
            "error": error.value.max(MIN_ERROR),
            "low": error.low.max(MIN_ERROR),
            "high": error.high.max(MIN_ERROR),
            "measured": wording::error_interval(error),
            "verdict": wording::verdict(data.verdict),
            "fresh": fresh,
            "on_frontier": setting.on_frontier,
            "chosen": tuning.chosen.as_deref() == Some(&setting.name),
        }))
    };
    tuning.settings.iter().filter_map(row).collect()
}

fn spec(rows: &[Value], within: f64) -> Value {
    let mut spec = base("Share error against throughput of every setting", 320, 1);
    spec["data"] = json!({"values": rows});
    let x = json!({"field": "rate", "type": "quantitative", "axis": {"format": "%"},
        "scale": {"zero": true, "padding": 40}, 
        "title": "throughput relative to the unchanged study"});
    let y = |field: &str| {
        json!({"field": field, "type": "quantitative", "scale": {"type": "log", "nice": false,
            "padding": 16},
            "axis": {"format": "~%", "tickCount": 6}, "title": "largest share error"})
    };
    let colour = verdict_colour();
    let tooltip = json!([
        {"field": "setting"}, {"field": "measured", "title": "error"}, {"field": "verdict"},
        {"field": "rate", "type": "quantitative", "format": ".0%", "title": "throughput"},
    ]);
    let only = |filter: &str| json!([{"filter": filter}]);
    let point = |filter: &str, filled: bool| {
        json!({"transform": only(filter),
            "mark": {"type": "point", "filled": filled, "size": 80, "opacity": 1},
            "encoding": {"x": x, "y": y("error"), "color": colour, "tooltip": tooltip}})
    };
    let mut layers = vec![json!({"data": {"values": [{"margin": within}]},
        "mark": {"type": "rule", "style": "interval", "strokeDash": [5, 4]},
        "encoding": {"y": y("margin")}})];
    // A layer without rows has no extent, which causes a browser warning.
    let any = |field: &str, value: bool| rows.iter().any(|row| row[field] == value);
    if any("on_frontier", true) {
        layers.push(json!({"transform": only("datum.on_frontier"),
            "mark": {"type": "line", "color": "#8a8f98", "strokeWidth": 1},
            "encoding": {"x": x, "y": y("error"), "order": {"field": "rate"}}}));
    }
    if any("fresh", true) {
        layers.push(json!({"transform": only("datum.fresh"),
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour}}));
        layers.push(point("datum.fresh", true));
    }
    if any("fresh", false) {
        layers.push(point("!datum.fresh", false));
    }
    if any("chosen", true) {
        layers.push(json!({"transform": only("datum.chosen"),
            "mark": {"type": "point", "size": 280, "strokeWidth": 2},
            "encoding": {"x": x, "y": y("error"), "color": colour}}));
    }
    if any("fresh", true) || any("on_frontier", true) {
        layers.push(json!({"transform": only("datum.fresh || datum.on_frontier"),
            "mark": {"type": "text", "dy": -12, "fontSize": 11},
            "encoding": {"x": x, "y": y("error"), "text": {"field": "setting"}}}));
    }
    spec["layer"] = json!(layers);
    spec
}
