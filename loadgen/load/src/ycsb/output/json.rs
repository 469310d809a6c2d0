//! The result for scripts.

use serde_json::{Map, Value, json};

use super::{ALL_PERCENTILES, plain};
use crate::ycsb::measure::{Metric, Number, Series};
use crate::ycsb::outcome::Outcome;
use crate::ycsb::settings::Settings;

/// The object described in docs/load/storage.md.
pub(in crate::ycsb) fn json(outcome: &Outcome, settings: &Settings) -> Value {
    let measurements: Map<String, Value> = outcome
        .measurements
        .metrics(&settings.measuring.rules)
        .iter()
        .map(|metric| (metric.name.clone(), metric_json(metric)))
        .collect();
    let cpu_per_operation = match outcome.cpu_ns {
        Some(cpu) if outcome.done > 0 => json!(cpu as f64 / outcome.done as f64 / 1000.0),
        Some(_) => json!({ "not_available": "no operation was done" }),
        None => json!({ "not_available": "the process has no CPU clock" }),
    };
    let mut document = json!({
        "phase": if settings.loading { "load" } else { "run" },
        "threads": settings.threads,
        "records": settings.workload.records,
        "operations": outcome.done,
        "failed": outcome.failed(),
        "opening_ms": outcome.opening_ns as f64 / 1e6,
        "cpu_us_per_operation": cpu_per_operation,
        "measurements": measurements,
        "metrics": flat(outcome, settings),
    });
    if let Some(signal) = outcome.ended_by {
        document["ended_by"] = signal.into();
    }
    document
}

/// Flat metrics: names with units, and numbers.
fn flat(outcome: &Outcome, settings: &Settings) -> Map<String, Value> {
    let mut metrics = Map::new();
    metrics.insert("runtime_ms".to_owned(), json!(outcome.runtime_ms));
    metrics.insert("throughput_ops_s".to_owned(), json!(outcome.throughput()));
    if let Some(cpu) = outcome.cpu_ns {
        metrics.insert("cpu_s".to_owned(), json!(cpu as f64 / 1e9));
    }
    for metric in outcome.measurements.metrics(&settings.measuring.rules) {
        let Some(hdr) = metric.series.and_then(Series::hdr) else { continue };
        let name = metric.name.to_ascii_lowercase().replace('-', "_");
        metrics.insert(format!("{name}_operations"), json!(hdr.count()));
        metrics.insert(format!("{name}_mean_us"), json!(hdr.mean()));
        for (percentile, at) in ALL_PERCENTILES {
            let value = hdr.percentile(at);
            metrics.insert(format!("{name}_{percentile}_us"), json!(value));
        }
    }
    metrics
}

fn metric_json(metric: &Metric<'_>) -> Value {
    let mut object = Map::new();
    if let Some(hdr) = metric.series.and_then(Series::hdr) {
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
        // The other kinds have their own lines, which are copied.
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
