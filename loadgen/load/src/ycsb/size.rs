//! Predicted memory of a run. RocksDB's part is computed from the options of the binding;
//! docs/load/storage.md compares it with measurements.

use std::path::Path;

use serde_json::{Value, json};

use super::measure::{Interval, Kind};
use super::settings::{Settings, Target};
use crate::footprint::{Footprint, Phase};

const MIB: u64 = 1 << 20;
/// A memtable is full at 128 MiB. Two are flushed together while others fill, and without a write
/// rate limit RocksDB holds this many at once.
const MEMTABLE: u64 = 128 * MIB;
const MEMTABLES: u64 = 3;
/// Most of them that RocksDB lets fill while the disk is slower (`max_write_buffer_number` of
/// `optimizeLevelStyleCompaction`): their log is on the disk.
const MOST_MEMTABLES: u64 = 6;
/// Tables of the first level, each of two memtables, at which writers wait (`level0_stop_writes_trigger`).
const MOST_TABLES: u64 = 36;
/// A key, a block handle and its share of the block's restart points.
const INDEX_ENTRY: u64 = 34;
/// Memory of a record in a memtable besides key and value: a node of the skip list with its
/// sequence number.
const NODE: u64 = 30;
/// Blocks of 4 KiB in the cache of the table's family.
const BLOCK_CACHE: u64 = 8 * MIB;
/// Touched code and data of the library.
const LIBRARY_BYTES: u64 = 11 * MIB;
/// A thread's stack, buffers and measurements.
const THREAD_BYTES: u64 = 200 << 10;
/// One histogram of latencies.
const HISTOGRAM: u64 = 100 << 10;
/// One individual latency (`measurementtype=raw`).
const POINT: u64 = 16;
/// Keys are hashes of up to nineteen digits.
const KEY: u64 = 23;

/// The footprint of a run. An existing data directory is inspected: how much of its log must be
/// replayed, and how large the indexes of its tables are.
pub(super) fn footprint(settings: &Settings) -> Footprint {
    let threads = settings.threads as u64;
    let own = vec![
        ("threads", threads * THREAD_BYTES),
        ("measurements", measurements(settings)),
        ("acknowledgements", if settings.loading { 0 } else { MIB }),
    ];
    let name = if settings.loading { "load" } else { "run" };
    let Target::RocksDb(location) = &settings.target else {
        return Footprint::new(vec![Phase { name, parts: own }]);
    };
    let contents = DirectoryContents::read(&location.directory);
    let written = written(settings);
    let tables = contents.tables + contents.log + if settings.loading { written } else { 0 };
    let recovery = vec![
        ("rocksdb library", LIBRARY_BYTES),
        ("table indexes", indexes(contents.tables)),
        ("memtables", contents.log.min(MEMTABLE)),
    ];
    let mut parts = own;
    parts.extend([
        ("rocksdb library", LIBRARY_BYTES),
        (
            "table indexes",
            indexes(tables.saturating_sub(MEMTABLES * MEMTABLE).max(contents.tables)),
        ),
        ("memtables", written.min(MEMTABLES * MEMTABLE)),
        ("block cache", if settings.loading { 0 } else { BLOCK_CACHE.min(tables) }),
    ]);
    let phases = vec![Phase { name: "recovery", parts: recovery }, Phase { name, parts }];
    Footprint::new(phases)
}

/// Contents of a data directory in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct DirectoryContents {
    tables: u64,
    log: u64,
}

impl DirectoryContents {
    /// Empty if the directory does not exist yet.
    fn read(directory: &Path) -> Self {
        let mut contents = Self::default();
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            match entry.path().extension().and_then(|extension| extension.to_str()) {
                Some("sst") => contents.tables += bytes,
                Some("log") => contents.log += bytes,
                _ => {}
            }
        }
        contents
    }
}

/// The index of a table is read completely when it is opened: an entry for each block of 4 KiB.
fn indexes(tables: u64) -> u64 {
    tables / 4096 * INDEX_ENTRY
}

/// Bytes that a run writes into memtables.
fn written(settings: &Settings) -> u64 {
    let record = settings.workload.shape.mean_bytes() + (KEY + NODE) as f64;
    let part = if settings.loading { 1.0 } else { settings.workload.writes };
    (settings.operations as f64 * part * record) as u64
}

/// Predicted disk space. Of loading: the records, and the log of the memtables that are not written yet.
/// Of a run that writes: what it needs at most beside the records, however far compaction lags behind.
pub(super) fn storage(settings: &Settings) -> Option<Value> {
    let Target::RocksDb(location) = &settings.target else { return None };
    let written = written(settings);
    let bytes = match settings.loading {
        true => written + written.min(MEMTABLES * MEMTABLE),
        false if written == 0 => return None,
        false => beside_the_records(written, records(settings)),
    };
    Some(json!({
        "directory": location.directory.display().to_string(),
        "predicted_bytes": bytes,
    }))
}

/// The log and the tables of the first level, neither of more than was written, nor a table of more than all
/// records; and as much again as the records, while these are compacted.
fn beside_the_records(written: u64, records: u64) -> u64 {
    let log = written.min(MOST_MEMTABLES * MEMTABLE);
    let tables = written.min(MOST_TABLES * records.min(2 * MEMTABLE));
    records + log + tables
}

/// Bytes of all records.
fn records(settings: &Settings) -> u64 {
    let workload = &settings.workload;
    (workload.records as f64 * (workload.shape.mean_bytes() + KEY as f64)) as u64
}

fn measurements(settings: &Settings) -> u64 {
    let sides = if settings.measuring.rules.interval == Interval::Both { 2 } else { 1 };
    let bytes_of = |kind: &Kind| match kind {
        Kind::Hdr => 3 * HISTOGRAM * (settings.threads as u64 + 1),
        Kind::Raw => settings.operations.saturating_mul(2 * POINT),
        _ => 64 << 10,
    };
    sides
        * match &settings.measuring.rules.kind {
            Kind::Two(first, second) => bytes_of(first) + bytes_of(second),
            one => bytes_of(one),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 bytes of 1000 were updated; then 1 GiB of 1 MiB, whose tables hold all records; then 1 TiB.
    #[test]
    fn what_updates_need_beside_the_records_is_limited_by_all_that_limits_it() {
        assert_eq!(beside_the_records(100, 1000), 1000 + 2 * 100);
        assert_eq!(beside_the_records(1 << 30, MIB), (1 + 768 + 36) * MIB);
        assert_eq!(beside_the_records(1 << 40, 1 << 40), (1 << 40) + (768 + 36 * 256) * MIB);
    }

    #[test]
    fn tables_and_logs_of_a_data_directory_are_distinguished() {
        let place = tempfile::tempdir().unwrap();
        for (name, bytes) in [("000004.log", 10), ("000005.sst", 200), ("LOG", 7), ("x.sst", 1)] {
            std::fs::write(place.path().join(name), vec![0; bytes]).unwrap();
        }
        assert_eq!(
            DirectoryContents::read(place.path()),
            DirectoryContents { tables: 201, log: 10 }
        );
        assert_eq!(
            DirectoryContents::read(&place.path().join("absent")),
            DirectoryContents::default()
        );
    }
}
