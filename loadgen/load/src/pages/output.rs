//! The phases as a table and as JSON.

use serde_json::{Map, Value, json};

use super::kernel_counters::{self, growth};
use super::phase::{Measurement, Record};
use super::transfer::Transfer;
use crate::footprint::format_bytes;
use crate::generator::Report;

/// The report described in docs/load/storage.md.
pub(super) fn report(transfer: &Transfer, records: &[Record], ended_by: Option<&str>) -> Report {
    let mut text = format!(
        "file of {}, blocks of {}, threads {}\n{}",
        format_bytes(transfer.size),
        format_bytes(transfer.block),
        transfer.threads,
        row(["phase", "s", "MB/s", "system s", "from disk", "in memory", "dirty"])
    );
    let (mut phases, mut metrics) = (Vec::new(), Map::new());
    for record in records {
        let name = record.phase.name();
        match &record.outcome {
            Ok(measurement) => {
                let json = phase_json(name, measurement);
                text.push_str(&line(name, measurement, &json));
                note(&mut metrics, record, measurement);
                phases.push(json);
            }
            Err(reason) => {
                text.push_str(&format!("{name:<15} not available: {reason}\n"));
                phases.push(json!({ "name": name, "not_available": reason }));
            }
        }
    }
    let mut json = json!({
        "file_bytes": transfer.size,
        "block_bytes": transfer.block,
        "threads": transfer.threads,
        "phases": phases,
        "validated": true,
        "metrics": metrics,
    });
    if let Some(signal) = ended_by {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

fn row(cells: [&str; 7]) -> String {
    let [first, rest @ ..] = cells;
    let rest: String = rest.iter().map(|cell| format!(" {cell:>10}")).collect();
    format!("{first:<15}{rest}\n")
}

fn seconds(measurement: &Measurement) -> f64 {
    // Avoids dividing by zero if the clock did not advance.
    measurement.end_ns.saturating_sub(measurement.begin_ns).max(1) as f64 * 1e-9
}

fn line(name: &str, measurement: &Measurement, json: &Value) -> String {
    let amount = |pointer: &str| {
        json.pointer(pointer).and_then(Value::as_u64).map_or_else(|| "-".to_owned(), format_bytes)
    };
    let rate = match measurement.bytes {
        0 => "-".to_owned(),
        bytes => format!("{:.1}", bytes as f64 / seconds(measurement) * 1e-6),
    };
    row([
        name,
        &format!("{:.3}", seconds(measurement)),
        &rate,
        &format!("{:.3}", json["system_s"].as_f64().unwrap_or(f64::NAN)),
        &amount("/disk/read_bytes"),
        &amount("/file/resident_bytes"),
        &amount("/file/dirty_bytes"),
    ])
}

fn phase_json(name: &str, measurement: &Measurement) -> Value {
    let mut json = json!({
        "name": name,
        "way": measurement.access,
        "begin_ns": measurement.begin_ns,
        "end_ns": measurement.end_ns,
        "seconds": seconds(measurement),
        "bytes": measurement.bytes,
        "bytes_per_s": measurement.bytes as f64 / seconds(measurement),
    });
    if let (Some(json), Value::Object(counters)) =
        (json.as_object_mut(), kernel_counters::to_json(&measurement.before, &measurement.after))
    {
        json.extend(counters);
    }
    json
}

/// Flat metrics of a phase. For a repeated phase the last one counts.
fn note(metrics: &mut Map<String, Value>, record: &Record, measurement: &Measurement) {
    let name = record.phase.name();
    let mut put = |what: &str, value: f64| metrics.insert(format!("{name}_{what}"), json!(value));
    put("s", seconds(measurement));
    if measurement.bytes > 0 {
        put("bytes_per_s", measurement.bytes as f64 / seconds(measurement));
    }
    if !record.phase.reads() {
        return;
    }
    let in_kernel = measurement.after.system_ns.saturating_sub(measurement.before.system_ns);
    put("kernel_part", in_kernel as f64 * 1e-9 / seconds(measurement));
    // Fractions of the bytes read from a disk and from memory: 1 and 0 for the first read, 0 and 1
    // for the second.
    if let Ok(read) = growth(&measurement.before.own_read, &measurement.after.own_read) {
        put("disk_bytes", read as f64);
        let part = read as f64 / measurement.bytes.max(1) as f64;
        put("disk_part", part);
        put("memory_part", (1.0 - part).max(0.0));
    }
    if let Ok(file) = &measurement.before.file {
        put("resident_before_bytes", file.resident as f64);
    }
}

#[cfg(test)]
mod tests {
    use assay_sys::kernel::Root;

    use super::*;
    use crate::pages::phase::{self, Phase};
    use crate::pages::test_file::TestFile;

    #[test]
    fn a_phase_that_failed_has_a_reason_and_no_metric() {
        let directory = tempfile::tempdir().unwrap();
        let test_file = TestFile::in_directory(directory.path()).unwrap();
        let transfer = Transfer { size: 1 << 16, block: 1 << 14, threads: 1, seed: 1 };
        let create =
            phase::run(Phase::Create, &transfer, &test_file, &mut 0, &Root::real()).unwrap();
        let read =
            phase::run(Phase::SecondRead, &transfer, &test_file, &mut 0, &Root::real()).unwrap();
        let missing = Record { phase: Phase::WriteDirect, outcome: Err("no O_DIRECT".to_owned()) };
        let report = report(&transfer, &[create, read, missing], Some("SIGINT"));
        assert!(
            report.text.contains("write_direct    not available: no O_DIRECT"),
            "{}",
            report.text
        );
        let (phases, metrics) = (&report.json["phases"], &report.json["metrics"]);
        assert_eq!(phases[2]["not_available"], "no O_DIRECT");
        assert!(metrics.get("write_direct_s").is_none());
        assert!(metrics["create_bytes_per_s"].as_f64().unwrap() > 0.0);
        assert_eq!(phases[1]["bytes"], 1 << 16);
        assert!(phases[1]["begin_ns"].as_u64() >= phases[0]["end_ns"].as_u64());
        assert!(metrics["second_read_disk_part"].is_number(), "{metrics}");
        assert!(metrics["second_read_kernel_part"].is_number(), "{metrics}");
        assert_eq!(report.json["ended_by"], "SIGINT");
    }
}
