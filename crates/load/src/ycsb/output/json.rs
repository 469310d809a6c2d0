//! The result for scripts.

use serde_json::{Map, Value, json};

use super::{ALL_PERCENTILES, plain};
use crate::ycsb::measure::{Metric, Number};
use crate::ycsb::outcome::Outcome;
use crate::ycsb::settings::Settings;

/// The object of docs/load/ycsb.md.
pub(in crate::ycsb) fn json(outcome: &Outcome, settings: &Settings) -> Value {
    let metrics: Map<String, Value> = outcome
        .book
        .metrics(&settings.measuring.rules)
        .iter()
        .map(|metric| (metric.name.clone(), of_metric(metric)))
        .collect();
    let cpu_per_operation = match outcome.cpu_ns {
        Some(cpu) if outcome.done > 0 => json!(cpu as f64 / outcome.done as f64 / 1000.0),
        Some(_) => json!({ "not_available": "no operation was done" }),
        None => json!({ "not_available": "the process has no CPU clock" }),
    };
    json!({
        "phase": if settings.loading { "load" } else { "run" },
        "threads": settings.threads,
        "records": settings.workload.records,
        "operations": outcome.done,
        "failed": outcome.failed(),
        "runtime_ms": outcome.runtime_ms,
        "opening_ms": outcome.opening_ns as f64 / 1e6,
        "throughput_ops_s": outcome.throughput(),
        "cpu_s": outcome.cpu_ns.map(|cpu| cpu as f64 / 1e9),
        "cpu_us_per_operation": cpu_per_operation,
        "metrics": metrics,
    })
}

fn of_metric(metric: &Metric<'_>) -> Value {
    let mut object = Map::new();
    if let Some(hdr) = metric.series.and_then(|series| series.hdr()) {
        object.insert("operations".to_owned(), json!(hdr.count()));
        let latencies = [("min", hdr.min()), ("max", hdr.max())];
        let percentiles = ALL_PERCENTILES.map(|(name, at)| (name, hdr.percentile(at)));
        let mut latency: Map<String, Value> = latencies
            .into_iter()
            .chain(percentiles)
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        latency.insert("mean".to_owned(), json!(hdr.mean()));
        object.insert("latency_us".to_owned(), Value::Object(latency));
    } else if let Some(series) = metric.series {
        // The other kinds have their own lines, which are taken as they are.
        let (lines, spans) = series.lines(&plain());
        for (name, value) in lines.into_iter().chain(spans) {
            let value = match value {
                Number::Whole(value) => json!(value),
                Number::Double(value) => json!(value),
            };
            object.insert(name, value);
        }
    }
    let returns: Map<String, Value> = metric
        .returns
        .iter()
        .map(|(status, count)| (status.name().to_owned(), json!(count)))
        .collect();
    if !returns.is_empty() {
        object.insert("returns".to_owned(), Value::Object(returns));
    }
    Value::Object(object)
}
