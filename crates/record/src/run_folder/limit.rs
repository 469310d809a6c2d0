//! Limits on how much of a run folder of unknown origin is read: enough for any recorded run, but low enough
//! that a file of a few kilobytes cannot fill the memory of a host.
//!
//! `ASSAY_UNLIMITED=1` lifts them for folders of known origin.

use std::sync::LazyLock;

/// Bytes of a document: a manifest, a verdict, events. A trial of a hundred groups has some 100 kB.
const DOCUMENT: u64 = 256 << 20;

/// Values of a JSON document, which take some hundred bytes each in memory. A manifest has one per 35 bytes.
const JSON_VALUES: usize = 1 << 21;

/// Values of a JSON document that a workload printed: fio prints some five hundred for each job.
pub(crate) const OUTPUT_VALUES: usize = 1 << 20;

/// Bytes of a Parquet file, of which each column has a page in memory while it is read. Those written here have some three
/// for a value.
const PARQUET: u64 = 1 << 30;

/// Values of rows decoded at once, which take 16 bytes each.
pub(crate) const BATCH_VALUES: usize = 1 << 20;

/// Values of a dictionary, which take 32 bytes each. Writers end one at some hundred thousand.
pub(crate) const DICTIONARY: usize = 1 << 20;

/// Counters of a source.
pub(crate) const COLUMNS: usize = 4096;

/// Values in all files of samples of a run: ten times those of a run of ten minutes with 128 groups. They take 16 bytes each in
/// memory, so 3 GiB.
const RUN: u64 = 192 << 20;

/// Of these, the values that any run may have, whatever the size of its files: counters that stand still take no space.
const RUN_ANYWAY: u64 = 8 << 20;

/// The values more for each byte of its files. In those written here a row has some 3 bytes for its time alone.
pub(crate) const VALUES_PER_BYTE: u64 = 8;

/// Bytes of all distinct names in the samples of a run, which take twice that in memory. Enough for some
/// three million names of usual length.
const NAMES: u64 = 256 << 20;

/// Bytes of all evidence of a run: a repeat with 16 groups on 64 CPUs has some 3 MB.
const EVIDENCE: u64 = 256 << 20;

/// Bytes of the name of a subject or a counter: the longest possible path.
pub(crate) const NAME: usize = 4096;

/// The hint when a limit is reached.
pub(crate) const HOW_TO_LIFT: &str =
    "if you know where it comes from, ASSAY_UNLIMITED=1 reads it all the same";

static LIFTED: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("ASSAY_UNLIMITED").is_some_and(|value| value == "1"));

pub(crate) fn document() -> u64 {
    if *LIFTED { u64::MAX } else { DOCUMENT }
}

pub(crate) fn json_values() -> usize {
    if *LIFTED { usize::MAX } else { JSON_VALUES }
}

pub(crate) fn values_of_a_run() -> u64 {
    if *LIFTED { u64::MAX } else { RUN }
}

pub(crate) fn values_of_any_run() -> u64 {
    if *LIFTED { u64::MAX } else { RUN_ANYWAY }
}

pub(crate) fn names_of_a_run() -> u64 {
    if *LIFTED { u64::MAX } else { NAMES }
}

pub(crate) fn evidence_of_a_run() -> u64 {
    if *LIFTED { u64::MAX } else { EVIDENCE }
}

pub(crate) fn parquet() -> u64 {
    if *LIFTED { u64::MAX } else { PARQUET }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_a_long_run_is_read_and_takes_three_gib() {
        // The run of `assay-bench report`: 1.5 million rows with 12 columns.
        const LONG: u64 = 1_500_000 * 12;
        assert!(values_of_a_run() >= 10 * LONG);
        let value = size_of::<Option<u64>>() as u64;
        assert_eq!(values_of_a_run() * value, 3 << 30);
    }
}
