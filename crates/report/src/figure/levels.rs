//! A measure under each level of the compared factor.

use assay_judge::verdict::{ComparisonJudgement, ReferenceJudgement};
use serde_json::{Value, json};

use super::spec::base;
use super::{Figure, drawn};
use crate::across::{self, Across};
use crate::number::Unit;
use crate::wording;

/// The figure of one promise across trials.
pub(crate) fn levels(promise: &Across<'_>, references: &[ReferenceJudgement]) -> Figure {
    let first = &promise.judged[0];
    let all: Vec<_> = promise.judged.iter().flat_map(|one| one.levels.iter().cloned()).collect();
    let unit = across::unit(&first.measure, &all);
    let rows: Vec<Value> = promise.judged.iter().flat_map(|one| rows(one, unit)).collect();
    let theirs: Vec<Value> =
        references.iter().filter_map(|reference| theirs(reference, first, unit)).collect();
    let mut reading = "Points are geometric means over the repeats under each level, lines their \
                       intervals. Differences between levels are judged repeat by repeat, which is \
                       more precise than the lines suggest."
        .to_owned();
    if !theirs.is_empty() {
        reading.push_str(" Hollow diamonds are references, which are never judged.");
    }
    let title = format!("{} under each level of {}", first.measure, first.over.join(", "));
    let spec = match rows.is_empty() {
        true => Err(wording::sentence(&first.reason)),
        false => Ok(spec(promise, unit, &rows, &theirs)),
    };
    drawn(format!("comparison-{}-levels", promise.number), title, reading, spec)
}

fn rows(one: &ComparisonJudgement, unit: Unit) -> Vec<Value> {
    let held = across::held(one);
    let row = |level: &assay_judge::verdict::LevelJudgement| {
        let value = level.value?;
        Some(json!({
            "level": across::level(&level.factors),
            "held": held,
            "value": value / unit.scale,
            "low": level.low.map(|low| low / unit.scale),
            "high": level.high.map(|high| high / unit.scale),
            "repeats": level.repeats,
        }))
    };
    one.levels.iter().filter_map(row).collect()
}

/// A reference that belongs to one level of this figure.
fn theirs(reference: &ReferenceJudgement, one: &ComparisonJudgement, unit: Unit) -> Option<Value> {
    // A reference with `to` is a ratio, whose unit differs from that of the levels.
    let is_ratio = !reference.to.is_empty();
    if is_ratio || reference.measure.as_ref() != Some(&one.measure) || reference.group != one.group
    {
        return None;
    }
    let level = one.levels.iter().find(|level| {
        level.factors.iter().all(|(name, value)| reference.under.get(name) == Some(value))
    })?;
    Some(json!({
        "level": across::level(&level.factors),
        "value": reference.value / unit.scale,
        "what": reference.what,
        "source": reference.source,
    }))
}

fn spec(promise: &Across<'_>, unit: Unit, rows: &[Value], theirs: &[Value]) -> Value {
    let first = &promise.judged[0];
    let order: Vec<String> =
        first.levels.iter().map(|level| across::level(&level.factors)).collect();
    let mut spec = base("A measure under each level of a factor", 260, 1);
    let title = format!("{} {}", first.measure, unit.label);
    let y = |field: &str| {
        json!({"field": field, "type": "quantitative", "title": title.trim_end(),
            "scale": {"zero": true}, "axis": {"tickCount": 5}})
    };
    spec["data"] = json!({"values": rows});
    spec["encoding"] = json!({
        "x": {"field": "level", "type": "nominal", "sort": order, "title": first.over.join(", "),
            "axis": {"labelAngle": 0, "labelLimit": 160}},
    });
    let several = promise.judged.len() > 1;
    if several {
        spec["encoding"]["xOffset"] = json!({"field": "held", "type": "nominal"});
    }
    let colour = match several {
        true => json!({"field": "held", "type": "nominal",
            "legend": {"title": null, "orient": "top"}}),
        false => json!({"value": "#1f7fb8"}),
    };
    let tooltip = json!([
        {"field": "level"}, {"field": "held"},
        {"field": "value", "type": "quantitative", "format": ".4"},
        {"field": "low", "type": "quantitative", "format": ".4"},
        {"field": "high", "type": "quantitative", "format": ".4"},
        {"field": "repeats", "type": "quantitative"},
    ]);
    let mut layers = vec![
        json!({"transform": [{"filter": "datum.low != null"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y("low"), "y2": {"field": "high"}, "color": colour}}),
        json!({"mark": {"type": "point", "filled": true, "size": 90, "opacity": 1},
            "encoding": {"y": y("value"), "color": colour, "tooltip": tooltip}}),
    ];
    if !theirs.is_empty() {
        layers.push(json!({"data": {"values": theirs},
            "mark": {"type": "point", "filled": false, "shape": "diamond", "size": 110,
                "strokeWidth": 2, "color": "#8a8f98"},
            "encoding": {"xOffset": null, "y": y("value"), "tooltip": [
                {"field": "what", "title": "theirs"}, {"field": "source"},
                {"field": "value", "type": "quantitative", "format": ".4"}]}}));
    }
    spec["layer"] = Value::Array(layers);
    spec
}
