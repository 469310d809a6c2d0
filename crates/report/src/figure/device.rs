//! Requests in flight at the scratch disks.

use assay_sys::escape::quoted;
use serde_json::{Value, json};

use super::spec::{base, csv_number, only_chosen, phases, seconds, warm_up};
use super::{Drawing, Rows};
use crate::counters::{Bins, curves};
use crate::trial::Trial;

/// Maximum points of one device in one repeat.
const POINTS: usize = 200;

/// Requests in flight of each device over time.
pub(super) fn in_flight(trial: &Trial<'_>) -> Drawing {
    let spec = base(&format!("Requests in flight over time, trial {}", trial.number), 180, 1);
    Drawing {
        part: "in-flight",
        title: "Requests in flight at the disk".to_owned(),
        reading: "Requests held by the device driver, as counted by the kernel. The dashed line \
                  is nr_requests, the size of the request pool shared by all groups."
            .to_owned(),
        wide: false,
        spec: rows(trial).into_spec(trial, "disk", spec, |repeats| layers(trial, repeats)),
    }
}

fn rows(trial: &Trial<'_>) -> Rows {
    let mut rows =
        Rows::new(&[("seconds", "number"), ("device", "string"), ("in_flight", "number")]);
    for (number, repeat, table) in trial.tables("disk") {
        for (device, curve) in curves(table, &["in_flight"]) {
            let Some(bins) = Bins::new(repeat, &curve, POINTS) else { continue };
            for (seconds, from, to) in bins.iter() {
                if let Some(mean) = curve.mean(from, to) {
                    let (device, mean) = (quoted(&device), csv_number(mean));
                    rows.add(number, &format!("{seconds:.2},{device},{mean}"));
                }
            }
        }
    }
    rows
}

/// The request pool size of every device, where it was read.
fn pools(trial: &Trial<'_>) -> Vec<Value> {
    let queues = trial.record.repeats.iter().flat_map(|repeat| &repeat.queues);
    let mut pools: Vec<Value> = queues
        .filter_map(|queue| {
            let pool: f64 = queue.at_start.get("nr_requests")?.trim().parse().ok()?;
            Some(json!({"device": queue.device, "nr_requests": pool}))
        })
        .collect();
    pools.dedup();
    pools
}

fn layers(trial: &Trial<'_>, repeats: &[usize]) -> Vec<Value> {
    let colour = json!({"field": "device", "type": "nominal",
        "legend": {"title": "device", "orient": "top"}});
    let mut layers = vec![
        warm_up(trial, "disk", repeats),
        json!({
            "transform": only_chosen(repeats),
            "mark": {"type": "line", "strokeWidth": 1.6, "tooltip": true},
            "encoding": {
                "x": seconds(),
                "y": {"field": "in_flight", "type": "quantitative", "title": "requests in flight",
                    "axis": {"tickCount": 5}},
                "color": colour,
            },
        }),
    ];
    layers.extend(phases(trial, repeats));
    let pools = pools(trial);
    if !pools.is_empty() {
        layers.push(json!({
            "data": {"values": pools},
            "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.2, "tooltip": true},
            "encoding": {"y": {"field": "nr_requests", "type": "quantitative"}, "color": colour},
        }));
    }
    layers
}
