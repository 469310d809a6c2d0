//! The sources of a synthetic run: their subjects, columns and growth rates.

use assay_record::run_folder::{Column, Table};

/// Requests in flight, the only gauge: constant, so that the disk counts as busy.
const GAUGE: (&str, u64) = ("in_flight", 128);

/// One source: its columns with their mean growth per round.
pub(crate) struct Shape {
    pub(crate) source: &'static str,
    pub(crate) columns: Vec<(&'static str, u64)>,
    pub(crate) subjects: Vec<String>,
}

/// Growth of a full-speed group per round: requests of 4 KiB.
pub(crate) const READS: u64 = 60;

/// All sources of a run with these groups and disks.
pub(crate) fn shapes(groups: Vec<String>, disks: Vec<String>) -> Vec<Shape> {
    // Every second group has half the speed. The disk must have read what the groups did, or the
    // judge attributes the difference to the page cache.
    let half_reads = groups.len().div_ceil(2) * 2 + groups.len() / 2;
    let reads = READS * half_reads as u64 / 2;
    [
        Shape {
            source: "io",
            columns: vec![
                ("read_bytes", 4096 * READS),
                ("write_bytes", 0),
                ("read_ios", READS),
                ("write_ios", 0),
            ],
            subjects: groups.clone(),
        },
        Shape { source: "cpu", columns: vec![("usage_ns", 1_200_000)], subjects: groups },
        Shape {
            source: "disk",
            columns: vec![
                ("reads", reads),
                ("read_sectors", 8 * reads),
                ("read_ms", 9000),
                ("writes", 0),
                ("write_sectors", 0),
                ("write_ms", 0),
                (GAUGE.0, 0),
                ("io_ms", 100),
                ("weighted_ms", 9000),
            ],
            subjects: disks,
        },
    ]
    .into_iter()
    .chain(of_host())
    .collect()
}

/// Sources about the whole host.
fn of_host() -> [Shape; 2] {
    let host = || vec!["host".to_owned()];
    [
        Shape {
            source: "host_cpu",
            columns: vec![
                ("user_ns", 40_000_000),
                ("nice_ns", 0),
                ("system_ns", 90_000_000),
                ("idle_ns", 30_000_000),
                ("iowait_ns", 30_000_000),
                ("irq_ns", 0),
                ("softirq_ns", 10_000_000),
                ("steal_ns", 0),
            ],
            subjects: host(),
        },
        Shape {
            source: "pressure",
            columns: vec![
                ("cpu_some_us", 20_000),
                ("cpu_full_us", 0),
                ("io_some_us", 80_000),
                ("io_full_us", 30_000),
                ("memory_some_us", 0),
                ("memory_full_us", 0),
            ],
            subjects: host(),
        },
    ]
}

impl Shape {
    /// A table of this shape without rows.
    pub(crate) fn table(&self) -> Table {
        let column =
            |(name, _): &(&str, u64)| Column { name: (*name).to_owned(), values: Vec::new() };
        Table {
            source: self.source.to_owned(),
            subjects: self.subjects.clone(),
            columns: self.columns.iter().map(column).collect(),
            ..Table::default()
        }
    }

    /// Initial counter values of every subject.
    pub(crate) fn start(&self) -> Vec<u64> {
        let start = |(name, _): &(&str, u64)| if *name == GAUGE.0 { GAUGE.1 } else { 0 };
        self.subjects.iter().flat_map(|_| self.columns.iter().map(start)).collect()
    }
}

/// How many times slower than the fastest subjects the one of this index grows: every second one
/// has half the speed.
pub(crate) fn slowness(index: u32) -> u32 {
    1 + index % 2
}
