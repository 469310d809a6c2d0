//! `ycsb`: reads, writes and scans of records in RocksDB.

use std::collections::BTreeMap;

use assay_record::run_folder::Latency;
use serde_json::Value;

use crate::workload::generator::{from_document, generator};
use crate::workload::kind::{Key, Kind, Rendering, Threads};
use crate::workload::metric::document;
use crate::workload::output::{CapturedOutput, Output};

/// Properties of the core workload, of the client and of the binding (docs/load/storage.md).
const PROPERTIES: &str = "recordcount operationcount insertstart insertcount fieldcount fieldlength minfieldlength \
     fieldlengthdistribution fieldlengthhistogram fieldnameprefix readallfields \
     readallfieldsbyname writeallfields readproportion updateproportion insertproportion \
     scanproportion readmodifywriteproportion requestdistribution hotspotdatafraction \
     hotspotopnfraction exponential.percentile exponential.frac minscanlength maxscanlength \
     scanlengthdistribution insertorder zeropadding dataintegrity table \
     core_workload_insertion_retry_limit core_workload_insertion_retry_interval \
     core_workload_insertion_keep_going_on_error threadcount maxexecutiontime status \
     status.interval label spin.sleep exporter exportfile measurementtype measurement.interval \
     hdrhistogram.percentiles measurement.histogram.verbose histogram.buckets \
     timeseries.granularity measurement.raw.output_file measurement.raw.no_summary \
     reportlatencyforeacherror latencytrackederrors rocksdb.dir rocksdb.optionsfile \
     rocksdb.library";

/// The proportions of workloads with a single kind of operation.
const SINGLE_OPERATION: &[(&str, &[&str])] = &[
    ("read", &["readproportion=1", "updateproportion=0", INSERTS, SCANS, MODIFICATIONS]),
    ("update", &["readproportion=0", "updateproportion=1", INSERTS, SCANS, MODIFICATIONS]),
];
const INSERTS: &str = "insertproportion=0";
const SCANS: &str = "scanproportion=0";
const MODIFICATIONS: &str = "readmodifywriteproportion=0";

/// The kind. A key that is not an option is a property. RocksDB has background threads, so the
/// number of CPUs it needs is unknown.
pub(crate) const KIND: Kind = Kind {
    keys: &[
        Key {
            words: &["load", "run"],
            ..Key::word("phase", "`load` inserts the records, `run` does the operations")
        },
        Key {
            required: false,
            default: Some("rocksdb"),
            words: &["rocksdb", "basic"],
            ..Key::word("binding", "where the records are stored")
        },
        Key::optional(
            "workload",
            "a property file, or workloada to workloadf",
            Rendering::Option("-P"),
        ),
        Key {
            words: &["read", "update"],
            ..Key::optional(
                "operations",
                "only reads or only updates, overriding the workload",
                Rendering::Properties(SINGLE_OPERATION),
            )
        },
        Key {
            unless: Some(("binding", "basic")),
            ..Key::directory("rocksdb.dir", "the directory of RocksDB's files", Rendering::Property)
        },
    ],
    property_option: Some("-p"),
    known_properties: PROPERTIES,
    reports_on_sigint: true,
    threads: Threads::Unknown,
    does_io: true,
    headline: &[
        "throughput_ops_s",
        "read_mean_us",
        "read_p95_us",
        "read_p99_us",
        "update_mean_us",
        "update_p95_us",
        "update_p99_us",
        "insert_mean_us",
        "insert_p99_us",
        "scan_mean_us",
        "scan_p99_us",
    ],
    read,
    ..generator("ycsb", "YCSB's operations on records in RocksDB", "load/storage.md#ycsb")
};

fn read(captured: &CapturedOutput<'_>) -> Result<Output, String> {
    let Some(document) = document(captured.stdout) else {
        return crate::workload::generator::read(captured);
    };
    let document = document?;
    let mut output = from_document(&document);
    output.runtime_s = output.metrics.get("runtime_ms").map(|milliseconds| milliseconds * 1e-3);
    output.latency = latencies(document.get("measurements"));
    Ok(output)
}

/// Latency by operation (`read`, `update`), converted from YCSB's microseconds. Other work of the
/// client (`cleanup`) is not an operation.
fn latencies(measurements: Option<&Value>) -> BTreeMap<String, Latency> {
    let entries = measurements.and_then(Value::as_object).into_iter().flatten();
    let operations = entries.filter(|(name, _)| *name != "CLEANUP");
    operations
        .filter_map(|(name, metric)| {
            let latency = metric.get("latency_us")?;
            let nanoseconds = |name: &str| Some(latency.get(name)?.as_f64()? * 1e3);
            let percentiles = latency.as_object()?.keys().filter_map(|key| {
                let percentile = key.strip_prefix('p')?.replace('_', ".");
                percentile.parse::<f64>().ok()?;
                Some((percentile, nanoseconds(key)?))
            });
            let percentiles_ns = percentiles.collect();
            Some((
                name.to_ascii_lowercase(),
                Latency { mean_ns: nanoseconds("mean")?, percentiles_ns },
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_operations_are_in_nanoseconds() {
        let captured = CapturedOutput {
            stdout: "{\"measurements\": {\"READ\": {\"operations\": 5, \"latency_us\": {\"min\": \
                     1, \"p50\": 4, \"p99\": 9, \"mean\": 4.5}}, \"CLEANUP\": {\"latency_us\": \
                     {\"mean\": 1}}}, \"metrics\": {\"runtime_ms\": 1500}}",
            stderr: "",
        };
        let output = read(&captured).unwrap();
        assert_eq!(output.runtime_s, Some(1.5));
        assert_eq!(output.latency.len(), 1, "{output:?}");
        let read = &output.latency["read"];
        assert_eq!((read.mean_ns, read.percentiles_ns["99"]), (4500.0, 9000.0));
    }
}
