//! `ycsb`: reads, writes and scans of records in RocksDB.

use std::collections::BTreeMap;

use assay_run_folder::Latency;
use serde_json::Value;

use crate::generator::{generator, of_document};
use crate::kind::{Becomes, Key, Kind, Threads};
use crate::metric::document;
use crate::output::{CapturedOutput, Output};

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

/// What one kind of operation alone means.
const ALONE: &[(&str, &[&str])] = &[
    (
        "read",
        &[
            "readproportion=1",
            "updateproportion=0",
            "insertproportion=0",
            "scanproportion=0",
            "readmodifywriteproportion=0",
        ],
    ),
    (
        "update",
        &[
            "readproportion=0",
            "updateproportion=1",
            "insertproportion=0",
            "scanproportion=0",
            "readmodifywriteproportion=0",
        ],
    ),
];

/// The kind. A key that is no option is a property. RocksDB has threads of its own, so nobody
/// knows how many CPUs it wants.
pub(crate) const KIND: Kind = Kind {
    keys: &[
        Key {
            words: &["load", "run"],
            ..Key::word("phase", "insert the records, or do the operations")
        },
        Key {
            needed: false,
            otherwise: Some("rocksdb"),
            words: &["rocksdb", "basic"],
            ..Key::word("binding", "where the records go")
        },
        Key {
            name: "workload",
            about: "a property file, or workloada to workloadf",
            becomes: Becomes::Option("-P"),
            needed: false,
            otherwise: None,
            words: &[],
            unless: None,
        },
        Key {
            name: "operations",
            about: "nothing but reads, or nothing but updates, whatever the workload says",
            becomes: Becomes::Others(ALONE),
            needed: false,
            otherwise: None,
            words: &["read", "update"],
            unless: None,
        },
        Key {
            name: "rocksdb.dir",
            about: "where RocksDB keeps its files",
            becomes: Becomes::Other,
            needed: false,
            otherwise: Some("{directory}"),
            words: &[],
            unless: Some(("binding", "basic")),
        },
    ],
    others: Some("-p"),
    known_others: PROPERTIES,
    ends_with_figures: true,
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
    ..generator(
        "ycsb",
        "operations on records in RocksDB, as YCSB makes them",
        "load/storage.md#ycsb",
    )
};

fn read(said: &CapturedOutput<'_>) -> Result<Output, String> {
    let Some(document) = document(said.stdout) else { return crate::generator::read(said) };
    let mut output = of_document(&document);
    output.runtime_s = output.metrics.get("runtime_ms").map(|milliseconds| milliseconds * 1e-3);
    output.latency = latencies(document.get("measurements"));
    Ok(output)
}

/// Latency by operation (`read`, `update`); YCSB counts in microseconds. What the client does
/// besides (`cleanup`) is none.
fn latencies(measurements: Option<&Value>) -> BTreeMap<String, Latency> {
    let entries = measurements.and_then(Value::as_object).into_iter().flatten();
    let operations = entries.filter(|(name, _)| *name != "CLEANUP");
    operations
        .filter_map(|(name, metric)| {
            let latency = metric.get("latency_us")?;
            let of = |name: &str| Some(latency.get(name)?.as_f64()? * 1e3);
            let percentiles = latency.as_object()?.keys().filter_map(|key| {
                let percentile = key.strip_prefix('p')?.replace('_', ".");
                percentile.parse::<f64>().ok()?;
                Some((percentile, of(key)?))
            });
            let percentiles_ns = percentiles.collect();
            Some((name.to_ascii_lowercase(), Latency { mean_ns: of("mean")?, percentiles_ns }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_those_of_operations_in_nanoseconds() {
        let said = CapturedOutput {
            stdout: "{\"measurements\": {\"READ\": {\"operations\": 5, \"latency_us\": {\"min\": \
                     1, \"p50\": 4, \"p99\": 9, \"mean\": 4.5}}, \"CLEANUP\": {\"latency_us\": \
                     {\"mean\": 1}}}, \"metrics\": {\"runtime_ms\": 1500}}",
            stderr: "",
        };
        let output = read(&said).unwrap();
        assert_eq!(output.runtime_s, Some(1.5));
        assert_eq!(output.latency.len(), 1, "{output:?}");
        let read = &output.latency["read"];
        assert_eq!((read.mean_ns, read.percentiles_ns["99"]), (4500.0, 9000.0));
    }
}
