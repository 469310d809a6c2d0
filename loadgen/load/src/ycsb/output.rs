//! The final output: YCSB's lines, or its two forms of JSON, and our own document.

mod json;

pub(super) use json::json;

use serde_json::json;

use super::java_text::double;
use super::measure::{Number, Presentation, Series};
use super::outcome::Outcome;
use super::settings::{Exporter, Measuring};

/// One line: metric, measurement, value.
type Entry = (String, String, Number);

/// All lines in YCSB's order. There is no garbage collector here, so its counts are 0.
fn entries(outcome: &Outcome, measuring: &Measuring) -> Vec<Entry> {
    let entry = |metric: &str, name: &str, value| (metric.to_owned(), name.to_owned(), value);
    let mut all = vec![
        entry("OVERALL", "RunTime(ms)", outcome.runtime_ms.into()),
        entry("OVERALL", "Throughput(ops/sec)", Number::Double(outcome.throughput())),
        entry("TOTAL_GCs", "Count", Number::Whole(0)),
        entry("TOTAL_GC_TIME", "Time(ms)", Number::Whole(0)),
        entry("TOTAL_GC_TIME_%", "Time(%)", Number::Double(0.0)),
    ];
    for metric in outcome.measurements.metrics(&measuring.rules) {
        let empty = Series::empty(&measuring.rules.kind);
        let series = metric.series.unwrap_or(&empty);
        for (index, (prefix, part)) in series.parts().into_iter().enumerate() {
            let name = format!("{prefix}{}", metric.name);
            let (before, behind) = part.lines(&measuring.presentation);
            all.extend(before.into_iter().map(|(line, value)| (name.clone(), line, value)));
            if index == 0 {
                all.extend(metric.returns.iter().map(|(status, count)| {
                    (name.clone(), format!("Return={}", status.name()), (*count).into())
                }));
            }
            all.extend(behind.into_iter().map(|(line, value)| (name.clone(), line, value)));
        }
    }
    all
}

/// The text of the exporter.
pub(super) fn exported(outcome: &Outcome, measuring: &Measuring) -> String {
    let entries = entries(outcome, measuring);
    if measuring.exporter == Exporter::Text {
        return entries
            .iter()
            .map(|(metric, name, value)| format!("[{metric}], {name}, {}\n", format_number(*value)))
            .collect();
    }
    let objects: Vec<String> = entries
        .iter()
        .map(|(metric, name, value)| {
            let (metric, name) = (json!(metric), json!(name));
            let value = format_number(*value);
            let value = if value.parse::<f64>().is_ok_and(f64::is_finite) {
                value
            } else {
                format!("\"{value}\"")
            };
            format!("{{\n  \"metric\" : {metric},\n  \"measurement\" : {name},\n  \"value\" : {value}\n}}")
        })
        .collect();
    // Jackson's pretty printer puts a space between objects, both in an array and at the top.
    match measuring.exporter {
        Exporter::JsonArray => format!("[ {} ]", objects.join(", ")),
        _ => objects.join(" "),
    }
}

fn format_number(value: Number) -> String {
    match value {
        Number::Whole(value) => value.to_string(),
        Number::Double(value) => double(value),
    }
}

/// The individual latencies of `measurementtype=raw`, with times in milliseconds since 1970.
pub(super) fn raw(outcome: &Outcome, measuring: &Measuring, epoch_ms: u64) -> String {
    let mut text = String::new();
    for metric in outcome.measurements.metrics(&measuring.rules) {
        for (prefix, part) in metric.series.iter().flat_map(|series| series.parts()) {
            let Some(points) = part.points() else { continue };
            let name = format!("{prefix}{}", metric.name);
            text += &format!("{name} latency raw data: op, timestamp(ms), latency(us)\n");
            for (end, latency) in points {
                let at = epoch_ms + end.saturating_sub(outcome.began) / 1_000_000;
                text += &format!("{name},{at},{latency}\n");
            }
        }
    }
    text
}

/// Percentiles of the JSON document, independent of the text.
const ALL_PERCENTILES: [(&str, f64); 6] = [
    ("p50", 50.0),
    ("p90", 90.0),
    ("p95", 95.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
];

/// Default presentation, for the JSON document.
fn plain() -> Presentation {
    Presentation { percentiles: Vec::new(), verbose: false, no_summary: false }
}

#[cfg(test)]
mod tests;
