//! CPU time of the host over time.

use serde_json::{Value, json};

use super::spec::{base, csv_number, only_chosen, phases, seconds};
use super::{Drawing, Rows};
use crate::counters::{Bins, Curve, curves};
use crate::trial::Trial;

/// Maximum points of one state in one repeat.
const POINTS: usize = 150;

/// CPU states from the bottom of the stack up, with the counters they sum. `idle` is the remainder
/// to 100 %.
const STATES: [(&str, &[&str]); 5] = [
    ("user", &["user_ns", "nice_ns"]),
    ("system", &["system_ns"]),
    ("interrupts", &["irq_ns", "softirq_ns"]),
    ("waiting for I/O", &["iowait_ns"]),
    ("stolen by the hypervisor", &["steal_ns"]),
];

const ALL: [&str; 8] =
    ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns"];

/// Shares of CPU time over time.
pub(super) fn cpu(trial: &Trial<'_>) -> Drawing {
    let spec = base(&format!("CPU time of the host, trial {}", trial.number), 180, 1);
    Drawing {
        part: "cpu",
        title: "CPUs of the host".to_owned(),
        reading: reading(trial).to_owned(),
        wide: false,
        spec: rows(trial).into_spec(trial, "host_cpu", spec, |repeats| layers(trial, repeats)),
    }
}

/// The explanation depends on what the groups share.
fn reading(trial: &Trial<'_>) -> &'static str {
    if trial.record.disks.is_empty() {
        return "CPU time of the whole host; the groups' part of it is shown above.";
    }
    "CPU time of the whole host. Weights can divide a disk only while the CPUs keep it busy: near \
     100 %, CPU time is divided instead. Waiting for I/O is idle time."
}

fn rows(trial: &Trial<'_>) -> Rows {
    let mut rows = Rows::new(&[
        ("seconds", "number"),
        ("state", "string"),
        ("order", "number"),
        ("percent", "number"),
    ]);
    for (number, repeat, table) in trial.tables("host_cpu") {
        let Some(total) = host(curves(table, &ALL)) else { continue };
        let Some(bins) = Bins::new(repeat, &total, POINTS) else { continue };
        for (order, (state, columns)) in STATES.iter().enumerate() {
            let Some(curve) = host(curves(table, columns)) else { continue };
            for (seconds, from, to) in bins.iter() {
                let (Some(part), Some(all)) = (curve.rate(from, to), total.rate(from, to)) else {
                    continue;
                };
                if all > 0.0 {
                    let percent = csv_number(part / all * 100.0);
                    rows.add(number, &format!("{seconds:.2},{state},{order},{percent}"));
                }
            }
        }
    }
    rows
}

/// The table has one subject, the host.
fn host(curves: std::collections::BTreeMap<String, Curve>) -> Option<Curve> {
    curves.into_values().next()
}

fn layers(trial: &Trial<'_>, repeats: &[usize]) -> Vec<Value> {
    let names: Vec<&str> = STATES.iter().map(|(name, _)| *name).collect();
    let encoding = json!({
        "x": seconds(),
        "y": {"field": "percent", "type": "quantitative", "stack": "zero",
            "title": "CPU time, %", "scale": {"domain": [0, 100]}, "axis": {"tickCount": 5}},
        "order": {"field": "order", "type": "quantitative"},
        "color": {"field": "state", "type": "nominal", "scale": {"domain": names},
            "legend": {"title": null, "orient": "top", "columns": 3}},
        "tooltip": [
            {"field": "state"},
            {"field": "seconds", "type": "quantitative", "format": ".1f"},
            {"field": "percent", "type": "quantitative", "format": ".1f"},
        ],
    });
    let mut layers = vec![json!({
        "transform": only_chosen(repeats),
        "mark": {"type": "area", "tooltip": true, "opacity": 0.9},
        "encoding": encoding,
    })];
    layers.extend(phases(trial, repeats));
    layers
}
