//! Observed values of each group over time.

use std::collections::BTreeMap;

use assay_record::terms::Measure;
use assay_sys::escape::quoted;
use serde_json::{Value, json};

use super::spec::{
    base, colour_by_weight, csv_number, only_chosen, phases, seconds, steps, warm_up,
};
use super::{Column, Drawing, Rows};
use crate::counters::{Bins, curves};
use crate::measure_style;
use crate::number::Unit;
use crate::trial::Trial;

/// Maximum points of one figure, all curves and repeats together.
const POINTS_OF_FIGURE: usize = 6_000;

/// So many letters of a name are shown at the end of a curve.
const LONGEST: usize = 16;

/// One point of a figure over time.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    /// Repeat number, from 1.
    repeat: usize,
    /// Middle of the bin, seconds after the release of the first workload.
    seconds: f64,
    /// Group, or weight if groups are aggregated.
    series: String,
    /// The weight as shown in the legend.
    class: String,
    /// The rate, or the mean over the groups of one weight.
    value: f64,
    /// Tenth and ninetieth percentile over the groups of one weight.
    spread: Option<(f64, f64)>,
}

/// Curves of one measure.
pub(super) fn over_time(trial: &Trial<'_>, measure: Measure) -> Drawing {
    let points = rates(trial, measure);
    let mut reading = match trial.subjects.aggregated() {
        true => {
            "One curve for each weight: the mean over its groups, with the middle 80 % of the groups \
             shaded."
        }
        false => "One curve for each group.",
    }
    .to_owned();
    if trial.record.repeats.iter().any(|repeat| trial.lead_s(repeat) >= 0.05) {
        reading.push_str(" The grey part at the beginning is warm-up and not judged.");
    }
    let highest = points.iter().map(|point| point.value).fold(0.0, f64::max);
    let unit = Unit::for_rate(measure.name(), highest);
    let description =
        format!("{} of each group over time, trial {}", measure.info().title, trial.number);
    let mut spec = base(&description, 240, steps(&trial.subjects));
    let ends = ends(&points, highest);
    let longest = ends.iter().map(|(point, _)| point.series.chars().count()).max().unwrap_or(0);
    spec["padding"] =
        json!({"left": 5, "top": 5, "bottom": 5, "right": 12 + 7 * longest.min(LONGEST)});
    let rows = rows(&points, trial.subjects.aggregated());
    let spec = rows.into_spec(trial, measure.source(), spec, |repeats| {
        layers(trial, measure, unit, repeats, &ends)
    });
    Drawing {
        part: measure.info().anchors.1,
        title: format!("{} over time", measure.info().title),
        reading,
        wide: trial.record.disks.is_empty(),
        spec,
    }
}

/// The rate (for a gauge, the mean) of a measure for every measured group, or for every weight if
/// there are many groups.
fn rates(trial: &Trial<'_>, measure: Measure) -> Vec<Point> {
    let tables = trial.tables(measure.source());
    let series = if trial.subjects.aggregated() {
        trial.subjects.classes().len()
    } else {
        trial.subjects.0.len()
    };
    let at_most = POINTS_OF_FIGURE / (series * tables.len()).max(1);
    let mut points = Vec::new();
    for (number, repeat, table) in tables {
        let curves = curves(table, measure.columns());
        let longest =
            curves.values().max_by_key(|c| c.count(repeat.released_ns, repeat.stopped_ns));
        let Some(bins) = longest.and_then(|curve| Bins::new(repeat, curve, at_most)) else {
            continue;
        };
        for (seconds, from, to) in bins.iter() {
            let values = trial.subjects.0.iter().filter_map(|subject| {
                let rate = measure_style::value(measure, curves.get(&subject.name)?, from, to)?;
                Some((subject.name.clone(), subject.class(), rate * measure.scale()))
            });
            let at = Point {
                repeat: number,
                seconds,
                series: String::new(),
                class: String::new(),
                value: 0.0,
                spread: None,
            };
            if trial.subjects.aggregated() {
                points.extend(aggregated(&at, values));
            } else {
                points.extend(values.map(|(series, class, value)| Point {
                    series,
                    class,
                    value,
                    ..at.clone()
                }));
            }
        }
    }
    points
}

fn aggregated(at: &Point, values: impl Iterator<Item = (String, String, f64)>) -> Vec<Point> {
    let mut classes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (_, class, rate) in values {
        classes.entry(class).or_default().push(rate);
    }
    let of_class = |(class, mut rates): (String, Vec<f64>)| {
        rates.sort_by(f64::total_cmp);
        Point {
            series: class.clone(),
            class,
            value: rates.iter().sum::<f64>() / rates.len() as f64,
            spread: Some((quantile(&rates, 0.1), quantile(&rates, 0.9))),
            ..at.clone()
        }
    };
    classes.into_iter().map(of_class).collect()
}

/// The nearest-rank quantile of sorted, non-empty values.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// The last point of each curve, and where its name stands: apart from the others, `highest` being the top.
fn ends(points: &[Point], highest: f64) -> Vec<(Point, f64)> {
    const APART: f64 = 0.06;
    let mut last: BTreeMap<(usize, &str), &Point> = BTreeMap::new();
    for point in points {
        last.insert((point.repeat, &point.series), point);
    }
    let mut ends: Vec<&Point> = last.into_values().collect();
    ends.sort_by(|a, b| a.repeat.cmp(&b.repeat).then(a.value.total_cmp(&b.value)));
    let mut placed = Vec::new();
    for repeat in ends.chunk_by(|a, b| a.repeat == b.repeat) {
        let mut free = 0.0;
        let up = repeat.iter().map(|point| {
            let at = point.value.max(free);
            free = at + APART * highest;
            at
        });
        let mut free = highest;
        let mut down: Vec<(Point, f64)> = Vec::new();
        for (point, at) in repeat.iter().zip(up.collect::<Vec<_>>()).rev() {
            let at = at.min(free);
            free = at - APART * highest;
            down.push(((*point).clone(), at));
        }
        placed.extend(down.into_iter().rev());
    }
    placed
}

/// With the spread of the groups where a curve stands for several.
fn rows(points: &[Point], aggregated: bool) -> Rows {
    const COLUMNS: [Column; 6] = [
        ("seconds", "number"),
        ("group", "string"),
        ("weight", "string"),
        ("rate", "number"),
        ("low", "number"),
        ("high", "number"),
    ];
    let mut rows = Rows::new(if aggregated { &COLUMNS } else { &COLUMNS[..4] });
    for point in points {
        let (group, weight) = (quoted(&point.series), quoted(&point.class));
        let mut cells =
            format!("{:.2},{group},{weight},{}", point.seconds, csv_number(point.value));
        if let Some((low, high)) = point.spread {
            cells.push_str(&format!(",{},{}", csv_number(low), csv_number(high)));
        }
        rows.add(point.repeat, &cells);
    }
    rows
}

fn layers(
    trial: &Trial<'_>,
    measure: Measure,
    unit: Unit,
    repeats: &[usize],
    ends: &[(Point, f64)],
) -> Vec<Value> {
    let aggregated = trial.subjects.aggregated();
    let mut transform = match only_chosen(repeats) {
        Value::Array(steps) => steps,
        _ => vec![],
    };
    let fields: &[&str] = if aggregated { &["rate", "low", "high"] } else { &["rate"] };
    transform.extend(fields.iter().map(|field| {
        json!({"calculate": format!("datum.{field} / {}", unit.scale), "as": format!("{field}_shown")})
    }));
    let title =
        measure_style::axis_title(measure, if aggregated { " of a group" } else { "" }, unit);
    let y = |field: &str| json!({"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 5}});
    let mut colour = colour_by_weight(trial);
    colour["legend"] = Value::Null;
    let mut layers = vec![warm_up(trial, measure.source(), repeats)];
    layers.extend(phases(trial, repeats));
    if aggregated {
        layers.push(json!({
            "transform": transform,
            "mark": {"type": "area", "opacity": 0.22},
            "encoding": {"x": seconds(), "y": y("low_shown"), "y2": {"field": "high_shown"},
                "color": colour},
        }));
    }
    layers.push(json!({
        "transform": transform,
        "mark": {"type": "line", "strokeWidth": 1.6, "strokeJoin": "round", "tooltip": true},
        "encoding": {
            "x": seconds(),
            "y": y("rate_shown"),
            "detail": {"field": "group", "type": "nominal"},
            "color": colour,
            "tooltip": [
                {"field": "group", "title": if aggregated { "weight" } else { "group" }},
                {"field": "seconds", "type": "quantitative", "format": ".1f", "title": "seconds"},
                {"field": "rate_shown", "type": "quantitative",
                    "format": format!(".{}f", unit.decimals), "title": unit.label},
            ],
        },
    }));
    let names = ends.iter().map(|(point, at)| {
        json!({"repeat": point.repeat, "group": point.series, "rate_shown": at / unit.scale})
    });
    layers.push(json!({
        "data": {"values": names.collect::<Vec<_>>()},
        "transform": only_chosen(repeats),
        "mark": {"type": "text", "style": "error", "align": "left", "dx": 6, "fontSize": 11,
            "limit": 7 * LONGEST},
        "encoding": {"x": {"value": "width"}, "y": y("rate_shown"), "text": {"field": "group"}},
    }));
    layers
}
