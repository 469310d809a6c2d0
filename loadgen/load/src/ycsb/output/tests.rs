//! The output of a run with known measurements, line by line.

use super::*;
use crate::ycsb::measure::{Measurements, Operation, Times};
use crate::ycsb::properties::Properties;
use crate::ycsb::settings::Settings;
use crate::ycsb::store::Status;
use crate::ycsb::{Binding, Phase};

fn settings(text: &str) -> Settings {
    let mut properties = Properties::default();
    properties.load("file", format!("recordcount=10\n{text}").as_bytes()).unwrap();
    Settings::read(&properties, Phase::Run, Binding::Basic).unwrap()
}

/// A cleanup, reads that took 1, 2, 3 and 4 us, and an update that found no record.
fn outcome(settings: &Settings) -> Outcome {
    let rules = &settings.measuring.rules;
    let mut measurements = Measurements::new();
    let times = |latency: u64| Times { intended: 0, start: 1000, end: 1000 + latency * 1000 };
    measurements.add(rules, Operation::Cleanup, None, times(29_190));
    for latency in 1..=4 {
        measurements.add(rules, Operation::Read, Some(Status::Ok), times(latency));
    }
    measurements.add(rules, Operation::Update, Some(Status::NotFound), times(7));
    Outcome {
        began: 0,
        opening_ns: 0,
        runtime_ms: 611,
        done: 1000,
        cpu_ns: Some(5_000_000),
        measurements,
        first_error: None,
        ended_by: None,
        status_lines: Vec::new(),
    }
}

fn text(extra: &str) -> String {
    let settings = settings(extra);
    exported(&outcome(&settings), &settings.measuring)
}

#[test]
fn lines_match_ycsb_exactly() {
    let expected = "\
[OVERALL], RunTime(ms), 611
[OVERALL], Throughput(ops/sec), 1636.6612111292961
[TOTAL_GCs], Count, 0
[TOTAL_GC_TIME], Time(ms), 0
[TOTAL_GC_TIME_%], Time(%), 0.0
[READ], Operations, 4
[READ], AverageLatency(us), 2.5
[READ], MinLatency(us), 1
[READ], MaxLatency(us), 4
[READ], 50thPercentileLatency(us), 2
[READ], 95thPercentileLatency(us), 4
[READ], 99thPercentileLatency(us), 4
[READ], Return=OK, 4
[UPDATE-FAILED], Operations, 1
[UPDATE-FAILED], AverageLatency(us), 7.0
[UPDATE-FAILED], MinLatency(us), 7
[UPDATE-FAILED], MaxLatency(us), 7
[UPDATE-FAILED], 50thPercentileLatency(us), 7
[UPDATE-FAILED], 95thPercentileLatency(us), 7
[UPDATE-FAILED], 99thPercentileLatency(us), 7
[CLEANUP], Operations, 1
[CLEANUP], AverageLatency(us), 29192.0
[CLEANUP], MinLatency(us), 29184
[CLEANUP], MaxLatency(us), 29199
[CLEANUP], 50thPercentileLatency(us), 29199
[CLEANUP], 95thPercentileLatency(us), 29199
[CLEANUP], 99thPercentileLatency(us), 29199
[UPDATE], Operations, 0
[UPDATE], AverageLatency(us), 0.0
[UPDATE], MinLatency(us), 0
[UPDATE], MaxLatency(us), 0
[UPDATE], 50thPercentileLatency(us), 0
[UPDATE], 95thPercentileLatency(us), 0
[UPDATE], 99thPercentileLatency(us), 0
[UPDATE], Return=NOT_FOUND, 1
";
    assert_eq!(text(""), expected);
}

#[test]
fn percentiles_and_cells_are_shown_on_request() {
    let text = text("hdrhistogram.percentiles=1,99.99\nmeasurement.histogram.verbose=true");
    assert!(text.contains("[READ], 1stPercentileLatency(us), 1\n"), "{text}");
    assert!(
        text.contains("[READ], 99.99PercentileLatency(us), 4\n[READ], Return=OK, 4\n"),
        "{text}"
    );
    assert!(text.contains("Return=OK, 4\n[READ], 1, 1.0\n[READ], 2, 1.0\n"), "{text}");
}

#[test]
fn both_intervals_are_printed() {
    let text = text("measurement.interval=both");
    assert!(text.contains("[Intended-READ], MaxLatency(us), 5\n"), "{text}");
    assert!(!text.contains("[Intended-READ], Return"), "{text}");
}

#[test]
fn json_exporters_write_json() {
    let array = text("exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter");
    let array: serde_json::Value = serde_json::from_str(&array).unwrap();
    assert_eq!(array[0]["measurement"], "RunTime(ms)");
    assert_eq!(array[0]["value"], 611);
    let objects = text("exporter=site.ycsb.measurements.exporter.JSONMeasurementsExporter");
    let objects: Vec<serde_json::Value> =
        serde_json::Deserializer::from_str(&objects).into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(array.as_array().unwrap(), &objects);
}

#[test]
fn raw_latencies_have_the_time_of_day() {
    let settings = settings("measurementtype=hdrhistogram+raw");
    let outcome = outcome(&settings);
    let raw = raw(&outcome, &settings.measuring, 1_700_000_000_000);
    let expected = "RawREAD latency raw data: op, timestamp(ms), latency(us)\n\
                    RawREAD,1700000000000,1\nRawREAD,1700000000000,2\n";
    assert!(raw.contains(expected), "{raw}");
    let text = exported(&outcome, &settings.measuring);
    assert!(text.contains("[HdrREAD], Return=OK, 4\n[RawREAD], Total Operations, 4\n"), "{text}");
}

#[test]
fn the_json_document_has_every_percentile_and_flat_metrics() {
    let settings = settings("");
    let json = json(&outcome(&settings), &settings);
    assert_eq!(json["measurements"]["READ"]["latency_us"]["p99.99"], 4);
    assert_eq!(json["measurements"]["UPDATE"]["returns"]["NOT_FOUND"], 1);
    assert_eq!(json["metrics"]["read_p99_us"], 4);
    assert_eq!(json["metrics"]["runtime_ms"], 611);
    assert_eq!(json["cpu_us_per_operation"], 5.0);
    assert_eq!(json.get("ended_by"), None);
}

#[test]
fn failed_operations_void_a_result_and_missing_records_do_not() {
    let settings = settings("");
    let mut outcome = outcome(&settings);
    assert_eq!(outcome.check(), Ok(()));
    let rules = &settings.measuring.rules;
    let times = Times { intended: 0, start: 0, end: 1 };
    outcome.measurements.add(rules, Operation::Insert, Some(Status::Error), times);
    outcome.first_error = Some("IO error: No space left on device: /d/000004.log".to_owned());
    let failure = outcome.check().unwrap_err();
    assert_eq!(failure.exit_code(), 5);
    assert!(failure.to_string().contains("hint: the disk is full"), "{failure}");
}
