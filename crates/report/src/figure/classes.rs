//! Results of the groups of each weight in every trial, which show where weights cease to count as
//! groups multiply: one figure of shares against promises, and one of rates.

use std::collections::BTreeMap;

use assay_judge::verdict::{PromiseJudgement, Verdict};
use serde_json::{Value, json};

use super::spec::base;
use super::{Drawing, Figure};
use crate::number::{self, Unit};
use crate::trial::Trial;

/// One weight in one trial.
struct Class {
    trial: String,
    weight: String,
    groups: usize,
    /// Shares of the total, all groups of the weight together.
    share: f64,
    promised: f64,
    /// Lower end of the lowest group's interval and upper end of the highest group's, relative to
    /// the promise of each.
    low: f64,
    high: f64,
    /// Mean rate of a group, observed and promised.
    rate: f64,
    promised_rate: f64,
    verdict: &'static str,
}

/// Both figures; empty unless at least two trials divide something by different weights.
pub(crate) fn classes(trials: &[Trial<'_>]) -> Vec<Figure> {
    let Some(measure) = trials.iter().find_map(|trial| Some(divided(trial)?.measure.clone()))
    else {
        return Vec::new();
    };
    let judged = |trial: &Trial<'_>| {
        let promise = divided(trial).filter(|promise| promise.measure == measure)?;
        Some(of_trial(trial, promise))
    };
    let by_trial: Vec<Vec<Class>> = trials.iter().filter_map(judged).collect();
    let several = by_trial.iter().flatten().any(|class| class.weight != by_trial[0][0].weight);
    if by_trial.len() < 2 || !several {
        return Vec::new();
    }
    let within = trials.iter().find_map(|trial| Some(divided(trial)?.within)).unwrap_or(0.0);
    let classes: Vec<Class> = by_trial.into_iter().flatten().collect();
    let drawings = [shares(&measure, within, &classes), rates(&measure, &classes)];
    let placed = drawings.into_iter().map(|drawing| {
        let id = drawing.part.to_owned();
        drawing.figure(id, false)
    });
    placed.collect()
}

/// The first promise of shares by a knob.
fn divided<'a>(trial: &Trial<'a>) -> Option<&'a PromiseJudgement> {
    let promises = &trial.judgement?.promises;
    promises.iter().find(|promise| promise.divides_by_knob() && !promise.groups.is_empty())
}

fn of_trial(trial: &Trial<'_>, promise: &PromiseJudgement) -> Vec<Class> {
    let mut by_weight: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for group in &promise.groups {
        let weight = group.knob.unwrap_or(0.0).max(0.0);
        // Positive floats sort like their bits.
        by_weight.entry(weight.to_bits()).or_default().push(group);
    }
    let total = promise.total_rate.unwrap_or(0.0);
    let class = |(weight, groups): (u64, Vec<&assay_judge::verdict::GroupJudgement>)| {
        let sum = |part: &dyn Fn(&assay_judge::verdict::GroupJudgement) -> f64| -> f64 {
            groups.iter().map(|group| part(group)).sum()
        };
        let each = |end: &dyn Fn(&assay_judge::verdict::GroupJudgement) -> f64| {
            let ends = groups.iter().filter(|group| group.expected_share > 0.0);
            ends.map(|group| end(group) / group.expected_share).collect::<Vec<f64>>()
        };
        let count = groups.len() as f64;
        let promised = sum(&|group| group.expected_share);
        Class {
            trial: trial.short.clone(),
            weight: number::plain(f64::from_bits(weight)),
            groups: groups.len(),
            share: sum(&|group| group.share),
            promised,
            low: each(&|group| group.low).into_iter().fold(f64::INFINITY, f64::min),
            high: each(&|group| group.high).into_iter().fold(0.0, f64::max),
            rate: sum(&|group| group.rate) / count,
            promised_rate: promised * total / count,
            verdict: Verdict::worst(groups.iter().map(|group| group.verdict)).word(),
        }
    };
    by_weight.into_iter().map(class).collect()
}

fn weights(classes: &[Class]) -> Vec<&str> {
    let mut weights: Vec<&str> = Vec::new();
    for class in classes {
        if !weights.contains(&class.weight.as_str()) {
            weights.push(&class.weight);
        }
    }
    weights
}

/// The axis of trials, with the weights side by side in colours.
fn across(spec: &mut Value, classes: &[Class]) {
    spec["encoding"] = json!({
        "x": {"field": "trial", "type": "nominal", "sort": null, "title": null,
            "axis": {"labelAngle": 0, "labelLimit": 160, "labelOverlap": true}},
        "xOffset": {"field": "weight", "type": "nominal", "sort": null},
        "color": {"field": "weight", "type": "ordinal", "scale": {"domain": weights(classes)},
            "legend": {"title": "weight", "orient": "top", "direction": "horizontal",
                "symbolOpacity": 1}},
    });
}

fn shares(measure: &str, within: f64, classes: &[Class]) -> Drawing {
    let rows: Vec<Value> = classes
        .iter()
        .filter(|class| class.promised > 0.0)
        .map(|class| {
            json!({
                "trial": class.trial,
                "weight": class.weight,
                "groups": class.groups,
                "part": class.share / class.promised,
                "low": class.low,
                "high": class.high.min(CUT),
                "share": class.share,
                "promised": class.promised,
                "verdict": class.verdict,
            })
        })
        .collect();
    let highest = rows.iter().filter_map(|row| row["high"].as_f64()).fold(1.0 + within, f64::max);
    let mut spec = base(
        "Share of each weight against its promise in every trial",
        260,
        weights(classes).len(),
    );
    spec["data"] = json!({"values": rows});
    across(&mut spec, classes);
    let y = |field: &str| {
        json!({"field": field, "type": "quantitative", "title": "observed share / promised share",
            "axis": {"tickCount": 5}, "scale": {"domain": [0, highest.min(CUT)], "clamp": true}})
    };
    let tooltip = json!([
        {"field": "trial"}, {"field": "weight"}, {"field": "groups"}, {"field": "verdict"},
        {"field": "share", "type": "quantitative", "format": ".2%", "title": "share"},
        {"field": "promised", "type": "quantitative", "format": ".2%"},
        {"field": "part", "type": "quantitative", "format": ".3", "title": "observed / promised"},
        {"field": "low", "type": "quantitative", "format": ".3", "title": "lowest group, low"},
        {"field": "high", "type": "quantitative", "format": ".3", "title": "highest group, high"},
    ]);
    let margins = [1.0 - within, 1.0, 1.0 + within].map(|part| json!({"margin": part}));
    spec["layer"] = json!([
        {"data": {"values": margins},
            "encoding": {"x": null, "xOffset": null, "color": null, "y": y("margin")},
            "mark": {"type": "rule", "style": "interval", "strokeDash": [5, 4]}},
        {"mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y("low"), "y2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": true, "size": 80, "opacity": 1},
            "encoding": {"y": y("part"), "tooltip": tooltip}},
    ]);
    Drawing {
        part: "classes",
        title: format!("Share of {measure} of each weight"),
        reading: "Total share of all groups of a weight, divided by their promised share: 1 is \
                  exact, the dashed lines are the margin. Lines reach from the lower end of the \
                  lowest group's interval to the upper end of the highest one's."
            .to_owned(),
        wide: true,
        spec: Ok(spec),
    }
}

/// Values above this are clipped: one interval without an upper end would flatten all others.
const CUT: f64 = 4.0;

fn rates(measure: &str, classes: &[Class]) -> Drawing {
    let largest = classes.iter().map(|class| class.rate.max(class.promised_rate));
    let unit = Unit::for_rate(measure, largest.fold(0.0, f64::max));
    let rows: Vec<Value> = classes
        .iter()
        .map(|class| {
            json!({
                "trial": class.trial,
                "weight": class.weight,
                "groups": class.groups,
                "rate": class.rate / unit.scale,
                "promised": class.promised_rate / unit.scale,
            })
        })
        .collect();
    let mut spec =
        base("Rate of a group of each weight in every trial", 240, weights(classes).len());
    spec["data"] = json!({"values": rows});
    across(&mut spec, classes);
    let title = format!("{measure} of one group, {}", unit.label);
    let y = |field: &str| {
        json!({"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 5},
            "scale": {"zero": true}})
    };
    let tooltip = json!([
        {"field": "trial"}, {"field": "weight"}, {"field": "groups"},
        {"field": "rate", "type": "quantitative", "format": ".4", "title": unit.label},
        {"field": "promised", "type": "quantitative", "format": ".4"},
    ]);
    spec["layer"] = json!([
        {"mark": {"type": "bar"}, "encoding": {"y": y("rate"), "tooltip": tooltip}},
        {"mark": {"type": "tick", "style": "promise", "thickness": 3},
            "encoding": {"y": y("promised"), "color": null}},
    ]);
    Drawing {
        part: "rates",
        title: format!("{measure} of one group of each weight"),
        reading: "Bars are the mean over the groups of a weight, ticks the promise of the weights \
                  for the same total."
            .to_owned(),
        wide: true,
        spec: Ok(spec),
    }
}
