//! How much memory a run will touch. RocksDB's part is computed from the options of the binding;
//! what was measured against it stands in docs/load/ycsb.md.

use super::measure::{Interval, Kind};
use super::settings::{Settings, Target};
use crate::footprint::{Footprint, Phase};

const MIB: u64 = 1 << 20;
/// A memtable is full at 128 MiB. Two are written out together while others fill, and without a
/// limit on the rate of writing RocksDB holds so many at once.
const MEMTABLE: u64 = 128 * MIB;
const MEMTABLES: u64 = 4;
/// What a record takes in a memtable beside key and value: a node of the skip list with its
/// sequence number.
const NODE: u64 = 30;
/// Blocks of 4 KiB in the cache of the table's family.
const BLOCK_CACHE: u64 = 8 * MIB;
/// Code and data of the library that are touched.
const LIBRARY: u64 = 9 * MIB;
/// A thread's stack, buffers and books.
const THREAD: u64 = 200 << 10;
/// One histogram of latencies.
const HISTOGRAM: u64 = 100 << 10;
/// A latency that is kept (`measurementtype=raw`).
const POINT: u64 = 16;
/// Keys are hashes of up to nineteen digits.
const KEY: u64 = 23;

/// The footprint of a run.
pub(super) fn footprint(settings: &Settings) -> Footprint {
    let threads = settings.threads as u64;
    let mut parts = vec![
        ("threads", threads * THREAD),
        ("measurements", measurements(settings)),
        ("acknowledgements", if settings.loading { 0 } else { MIB }),
    ];
    if let Target::RocksDb(_) = settings.target {
        parts.push(("rocksdb library", LIBRARY));
        parts.push(("memtables", memtables(settings)));
        parts.push(("block cache", if settings.loading { 0 } else { cached(settings) }));
    }
    Footprint::of_phases(vec![Phase { name: if settings.loading { "load" } else { "run" }, parts }])
}

fn record(settings: &Settings) -> u64 {
    settings.workload.shape.mean_bytes() as u64 + KEY
}

/// Bytes that are written, as far as they are held at once.
fn memtables(settings: &Settings) -> u64 {
    let written = if settings.loading {
        settings.operations as f64
    } else {
        settings.operations as f64 * settings.workload.writes
    };
    ((written * (record(settings) + NODE) as f64) as u64).min(MEMTABLES * MEMTABLE)
}

fn cached(settings: &Settings) -> u64 {
    BLOCK_CACHE.min(settings.workload.records.saturating_mul(record(settings)))
}

fn measurements(settings: &Settings) -> u64 {
    let sides = if settings.measuring.rules.interval == Interval::Both { 2 } else { 1 };
    let of = |kind: &Kind| match kind {
        Kind::Hdr => 3 * HISTOGRAM * (settings.threads as u64 + 1),
        Kind::Raw => settings.operations.saturating_mul(2 * POINT),
        _ => 64 << 10,
    };
    sides
        * match &settings.measuring.rules.kind {
            Kind::Two(first, second) => of(first) + of(second),
            one => of(one),
        }
}
