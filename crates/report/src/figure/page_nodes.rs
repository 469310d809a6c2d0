//! The nodes of the followed processes' pages over time.

use std::collections::BTreeMap;

use assay_record::run_folder::{RepeatRecord, Table};
use serde_json::{Value, json};

use super::spec::{base, csv_number, only_chosen, phases};
use super::threads::same_width;
use super::{Drawing, Rows};
use crate::trial::Trial;

/// The share of each node in the pages of all followed processes.
pub(super) fn page_nodes(trial: &Trial<'_>) -> Drawing {
    let mut rows = Rows::new(&[
        ("seconds", "number"),
        ("node", "string"),
        ("percent", "number"),
        ("gib", "number"),
    ]);
    let mut length = 0.0_f64;
    for (number, repeat, table) in trial.tables("pages") {
        length = length.max(repeat.stopped_ns.saturating_sub(repeat.released_ns) as f64 / 1e9);
        for (seconds, nodes) in held(repeat, table) {
            let all: f64 = nodes.values().sum();
            for (node, bytes) in nodes.iter().filter(|_| all > 0.0) {
                let percent = csv_number(bytes / all * 100.0);
                let gib = csv_number(bytes / f64::from(1 << 30));
                rows.add(number, &format!("{seconds:.2},{node},{percent},{gib}"));
            }
        }
    }
    let spec = base(&format!("Pages on nodes over time, trial {}", trial.number), 130, 1);
    let spec = rows.into_spec(trial, "pages", spec, |repeats| layers(trial, repeats, length));
    Drawing {
        part: "page-nodes",
        title: "Pages on nodes".to_owned(),
        reading: "The share of each NUMA node in the resident pages of all followed \
                  processes; estimated within 2 percentage points each, with exact counts now and then."
            .to_owned(),
        wide: true,
        spec,
    }
}

/// The nodes that have columns in a table, with the column indices.
pub(crate) fn node_columns(table: &Table) -> Vec<(u16, usize)> {
    let columns = table.columns.iter().enumerate();
    columns
        .filter_map(|(at, column)| {
            let number = column.name.strip_prefix("node")?.strip_suffix("_bytes")?;
            Some((number.parse().ok()?, at))
        })
        .collect()
}

/// Seconds, and bytes by node.
type Held = Vec<(f64, BTreeMap<u16, f64>)>;

/// Bytes on each node whenever some process was sampled: the sum of the latest rows of all
/// processes.
fn held(repeat: &RepeatRecord, table: &Table) -> Held {
    let columns = node_columns(table);
    let mut latest: BTreeMap<u32, BTreeMap<u16, f64>> = BTreeMap::new();
    let mut points: Held = Vec::new();
    for (row, time) in table.time_ns.iter().enumerate() {
        let nodes: BTreeMap<u16, f64> = columns
            .iter()
            .filter_map(|(node, at)| Some((*node, table.columns[*at].values[row]? as f64)))
            .collect();
        if nodes.is_empty() {
            continue;
        }
        latest.insert(table.subject[row], nodes);
        let seconds = time.saturating_sub(repeat.released_ns) as f64 / 1e9;
        let mut sums: BTreeMap<u16, f64> = BTreeMap::new();
        for (node, bytes) in latest.values().flatten() {
            *sums.entry(*node).or_default() += bytes;
        }
        // Processes sampled in one round share a point.
        match points.last_mut() {
            Some((last, nodes)) if seconds - *last < 0.3 => *nodes = sums,
            _ => points.push((seconds, sums)),
        }
    }
    points
}

fn layers(trial: &Trial<'_>, repeats: &[usize], length: f64) -> Vec<Value> {
    let encoding = json!({
        "x": {"field": "seconds", "type": "quantitative", "title": "seconds after the start",
            "scale": {"domain": [0, length], "nice": false}, "axis": {"grid": false}},
        "y": {"field": "percent", "type": "quantitative", "stack": "zero", "title": "pages, %",
            "scale": {"domain": [0, 100]}, "axis": same_width()},
        "color": {"field": "node", "type": "nominal", "legend": {"title": "node", "orient": "top"}},
        "tooltip": [
            {"field": "node"},
            {"field": "seconds", "type": "quantitative", "format": ".1f"},
            {"field": "percent", "type": "quantitative", "format": ".1f", "title": "share, %"},
            {"field": "gib", "type": "quantitative", "format": ".3f", "title": "GiB"},
        ],
    });
    let mut layers = vec![json!({
        "transform": only_chosen(repeats),
        "mark": {"type": "area", "tooltip": true, "opacity": 0.9, "interpolate": "step-after"},
        "encoding": encoding,
    })];
    layers.extend(phases(trial, repeats));
    layers
}
