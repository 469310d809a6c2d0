//! Traffic with memory and hits in the last cache, by node over time, where the machine has counters of them
//! (the founding paper's figure 4).

use serde_json::{Value, json};

use super::spec::{base, csv_number, only_chosen, phases, seconds};
use super::{Drawing, Rows};
use crate::counters::{Bins, curves};
use crate::trial::Trial;

/// Maximum points of one curve in one repeat.
const POINTS: usize = 200;

/// The sources of these figures, with the part and the title of each.
pub(super) const SOURCES: [(&str, &str, &str); 2] =
    [("uncore", BANDWIDTH.0, BANDWIDTH.1), ("perf", HITS.0, HITS.1)];

const BANDWIDTH: (&str, &str) = ("node-bandwidth", "Memory bandwidth of each node");
const HITS: (&str, &str) = ("node-cache", "Hit ratio of the last cache of each node");

/// What the counters of this trial show: bandwidth, hit ratio, both or nothing.
pub(super) fn node_traffic(trial: &Trial<'_>) -> Vec<Drawing> {
    bandwidth(trial).into_iter().chain(hit_ratio(trial)).collect()
}

fn bandwidth(trial: &Trial<'_>) -> Option<Drawing> {
    let mut rows = rows();
    for (number, repeat, table) in trial.tables("uncore") {
        for (subject, curve) in curves(table, &["read_bytes", "write_bytes"]) {
            let Some(node) = number_after(&subject, "node") else { continue };
            let Some(bins) = Bins::new(repeat, &curve, POINTS) else { continue };
            for (at, from, to) in bins.iter() {
                let Some(rate) = curve.rate(from, to) else { continue };
                let value = csv_number(rate / 1e6);
                rows.add(number, &format!("{at:.2},node {node},{value}"));
            }
        }
    }
    let reading =
        "Bytes that the memory controllers of each node read and wrote, of all programs together.";
    drawing(trial, "uncore", BANDWIDTH, ("MB/s", reading), rows)
}

fn hit_ratio(trial: &Trial<'_>) -> Option<Drawing> {
    let mut rows = rows();
    for (number, repeat, table) in trial.tables("perf") {
        let mut misses = curves(table, &["llc_misses"]);
        for (subject, references) in curves(table, &["llc_references"]) {
            let (Some(node), Some(misses)) =
                (number_after(&subject, "host@node"), misses.remove(&subject))
            else {
                continue;
            };
            let Some(bins) = Bins::new(repeat, &references, POINTS) else { continue };
            for (at, from, to) in bins.iter() {
                let rates = references.rate(from, to).zip(misses.rate(from, to));
                // Without references there is no ratio.
                let Some((all, missed)) = rates.filter(|(all, _)| *all > 0.0) else { continue };
                let value = csv_number((1.0 - missed / all).clamp(0.0, 1.0) * 100.0);
                rows.add(number, &format!("{at:.2},node {node},{value}"));
            }
        }
    }
    let reading = "References to the last-level cache that did not miss, of all programs on the CPUs of \
                   each node.";
    drawing(trial, "perf", HITS, ("hits, %", reading), rows)
}

fn rows() -> Rows {
    Rows::new(&[("seconds", "number"), ("node", "string"), ("value", "number")])
}

/// The number in the name of a subject, which is text of a recording.
fn number_after(name: &str, prefix: &str) -> Option<u16> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// A figure with a line for each node; `None` without rows.
fn drawing(
    trial: &Trial<'_>,
    source: &str,
    (part, title): (&'static str, &str),
    (axis, reading): (&str, &str),
    rows: Rows,
) -> Option<Drawing> {
    let spec = base(&format!("{title}, trial {}", trial.number), 180, 1);
    let spec = rows.into_spec(trial, source, spec, |repeats| layers(trial, repeats, axis)).ok()?;
    let (title, reading) = (title.to_owned(), reading.to_owned());
    Some(Drawing { part, title, reading, wide: false, spec: Ok(spec) })
}

fn layers(trial: &Trial<'_>, repeats: &[usize], axis: &str) -> Vec<Value> {
    let mut layers = vec![json!({
        "transform": only_chosen(repeats),
        "mark": {"type": "line", "strokeWidth": 1.6, "tooltip": true},
        "encoding": {
            "x": seconds(),
            "y": {"field": "value", "type": "quantitative", "title": axis,
                "scale": {"domainMin": 0}, "axis": {"tickCount": 5}},
            "color": {"field": "node", "type": "nominal",
                "legend": {"title": null, "orient": "top"}},
        },
    })];
    layers.extend(phases(trial, repeats));
    layers
}
