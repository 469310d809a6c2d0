//! Warnings about unknown properties: most are meant for other bindings, but one that resembles a
//! known property is probably misspelled.

use super::Properties;

/// All known properties.
const KNOWN: &[&str] = &[
    "basicdb.verbose",
    "core_workload_insertion_keep_going_on_error",
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "dataintegrity",
    "db",
    "dotransactions",
    "exponential.frac",
    "exponential.percentile",
    "exporter",
    "exportfile",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "hdrhistogram.fileoutput",
    "hdrhistogram.output.path",
    "hdrhistogram.percentiles",
    "histogram.buckets",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "insertcount",
    "insertorder",
    "insertproportion",
    "insertstart",
    "label",
    "latencytrackederrors",
    "maxexecutiontime",
    "maxscanlength",
    "measurement.histogram.verbose",
    "measurement.interval",
    "measurement.raw.no_summary",
    "measurement.raw.output_file",
    "measurement.trackjvm",
    "measurementtype",
    "minfieldlength",
    "minscanlength",
    "operationcount",
    "readallfields",
    "readallfieldsbyname",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "reportlatencyforeacherror",
    "requestdistribution",
    "rocksdb.dir",
    "rocksdb.library",
    "rocksdb.optionsfile",
    "scanlengthdistribution",
    "scanproportion",
    "spin.sleep",
    "status",
    "status.interval",
    "table",
    "target",
    "threadcount",
    "timeseries.granularity",
    "updateproportion",
    "workload",
    "writeallfields",
    "zeropadding",
];

/// One line for each unknown property that resembles a known one.
pub(in crate::ycsb) fn unknown(properties: &Properties) -> Vec<String> {
    properties
        .names()
        .filter(|(name, _)| !KNOWN.contains(name))
        .filter_map(|(name, origin)| {
            let similar = KNOWN.iter().find(|known| distance(name, known) <= 2)?;
            Some(format!(
                "warning: {origin}: unknown property `{name}` has no effect\n  hint: \
                 did you mean `{similar}`?"
            ))
        })
        .collect()
}

/// Letters to insert, drop or replace (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, against) in other.iter().enumerate() {
            let replaced = corner + usize::from(letter != *against);
            corner = row[column + 1];
            row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_property_gets_a_suggestion_and_others_none() {
        let mut properties = Properties::default();
        properties.load("w", b"recordcont=5\nhbase.columnfamily=x\nfieldcount=1").unwrap();
        let warnings = unknown(&properties);
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].contains("w:1:12") && warnings[0].contains("`recordcount`"),
            "{warnings:?}"
        );
    }
}
