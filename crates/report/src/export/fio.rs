//! Export in the format of `fio --output-format=json`.
//!
//! One job per measured group, repeat and trial. Bytes, requests and rates are the kernel's
//! counters of the group over the common window, not the tool's own report, so the format fits any
//! workload that does I/O; latencies are present where the workload reports them.

use assay_record::run_folder::{Manifest, RepeatRecord, Table};
use serde_json::{Map, Value, json};

use crate::export::error::Error;

/// Builds the document; an error if the run has no I/O to show.
pub fn fio(manifest: &Manifest, samples: &[Vec<Vec<Table>>]) -> Result<Value, Error> {
    let mut jobs = Vec::new();
    for (trial, record) in manifest.trials.iter().enumerate() {
        let measured = || record.groups.iter().filter(|group| group.measured);
        for (repeat, repeat_record) in record.repeats.iter().enumerate() {
            let tables = samples.get(trial).and_then(|repeats| repeats.get(repeat));
            let tables = tables.map_or(&[][..], Vec::as_slice);
            let Some(io) = tables.iter().find(|table| table.source == "io") else { continue };
            for group in measured() {
                let name = format!("trial-{trial:02}-repeat-{repeat:02}/{}", group.name);
                jobs.extend(job(&name, &group.name, repeat_record, io));
            }
        }
    }
    if jobs.iter().all(|job| job["read"]["io_bytes"] == 0 && job["write"]["io_bytes"] == 0) {
        return Err(Error::NotApplicable(
            "fio's format describes I/O, but no measured group of this run did any\n  \
             hint: `--as parquet` exports everything that was measured"
                .to_owned(),
        ));
    }
    Ok(json!({
        "fio version": format!("assay-{}", manifest.assay),
        "time": manifest.started_at,
        "global options": { "study": manifest.study, "host": manifest.host.host_name,
            "kernel": manifest.host.kernel },
        "jobs": jobs,
    }))
}

fn job(name: &str, group: &str, repeat: &RepeatRecord, io: &Table) -> Option<Value> {
    let (from, to) = (repeat.all_released_ns, repeat.stopped_ns);
    let seconds = to.checked_sub(from).filter(|length| *length > 0)? as f64 * 1e-9;
    let direction = |name: &str| {
        let bytes = growth(io, group, &format!("{name}_bytes"), from, to);
        let requests = growth(io, group, &format!("{name}_ios"), from, to);
        let mut part = json!({
            "io_bytes": bytes.map(|bytes| bytes.round() as u64),
            "io_kbytes": bytes.map(|bytes| (bytes / 1024.0).round() as u64),
            "bw_bytes": bytes.map(|bytes| (bytes / seconds).round() as u64),
            "bw": bytes.map(|bytes| (bytes / seconds / 1024.0).round() as u64),
            "iops": requests.map(|requests| requests / seconds),
            "total_ios": requests.map(|requests| requests.round() as u64),
            "runtime": (seconds * 1e3).round() as u64,
        });
        part["clat_ns"] = latency(repeat, group, name);
        part
    };
    Some(json!({
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "elapsed": seconds.ceil() as u64,
        "read": direction("read"),
        "write": direction("write"),
    }))
}

/// Latency reported by the only workload of a group; null for several workloads, whose percentiles
/// cannot be combined.
fn latency(repeat: &RepeatRecord, group: &str, direction: &str) -> Value {
    let mut own = repeat.workloads.iter().filter(|result| result.group == group);
    let (Some(result), None) = (own.next(), own.next()) else { return Value::Null };
    let Some(latency) = result.latency.get(direction) else { return Value::Null };
    let percentiles: Map<String, Value> = latency
        .percentiles_ns
        .iter()
        .filter_map(|(name, value)| {
            Some((format!("{:.6}", name.parse::<f64>().ok()?), json!(value)))
        })
        .collect();
    json!({ "mean": latency.mean_ns, "percentile": percentiles })
}

/// Growth of a counter between two times, linearly interpolated between readings.
fn growth(table: &Table, subject: &str, column: &str, from: u64, to: u64) -> Option<f64> {
    let series: Vec<(u64, u64)> = table.series(subject, column).collect();
    Some(at(&series, to)? - at(&series, from)?)
}

fn at(series: &[(u64, u64)], time: u64) -> Option<f64> {
    let next = series.partition_point(|(at, _)| *at < time);
    let Some(&(t1, v1)) = series.get(next) else { return series.last().map(|last| last.1 as f64) };
    let Some(&(t0, v0)) = next.checked_sub(1).and_then(|before| series.get(before)) else {
        return Some(v1 as f64);
    };
    let part = (time - t0) as f64 / (t1 - t0).max(1) as f64;
    Some(v0 as f64 + (v1 as f64 - v0 as f64) * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_interpolated_between_readings() {
        let series = [(100, 10), (200, 30)];
        assert_eq!(at(&series, 150), Some(20.0));
        assert_eq!(at(&series, 50), Some(10.0));
        assert_eq!(at(&series, 250), Some(30.0));
        assert_eq!(at(&[], 1), None);
    }
}
