//! Lengths of waits.

use serde::{Deserialize, Serialize};

use crate::counted::Counted;

/// All waits that ended, by length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Half of them were shorter than this, in nanoseconds: the upper bound of a bucket.
    pub p50_below_ns: u64,
    /// 99 of 100 were shorter than this.
    pub p99_below_ns: u64,
    /// Buckets between the shortest and the longest, empty ones too.
    pub histogram: Vec<Bucket>,
}

/// Waits of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The shortest, in nanoseconds.
    pub from_ns: u64,
    /// Its upper bound, twice as long.
    pub below_ns: u64,
    /// How many.
    pub count: u64,
}

impl Waits {
    pub(crate) fn new(counted: &Counted) -> Self {
        let buckets = counted.cpus.iter().map(|(_, cpu)| cpu.lengths.len()).max().unwrap_or(0);
        let sum = |index| {
            counted.cpus.iter().map(|(_, cpu)| cpu.lengths.get(index).copied().unwrap_or(0)).sum()
        };
        Self::from_counts(&(0..buckets).map(sum).collect::<Vec<u64>>())
    }

    /// From the numbers of waits by the logarithm of their length in nanoseconds.
    pub(crate) fn from_counts(counts: &[u64]) -> Self {
        let all: Vec<Bucket> = counts.iter().enumerate().map(bucket).collect();
        let first = all.iter().position(|bucket| bucket.count > 0).unwrap_or(0);
        let end = all.iter().rposition(|bucket| bucket.count > 0).map_or(0, |last| last + 1);
        let histogram = all.get(first..end).unwrap_or_default().to_vec();
        let count = histogram.iter().map(|bucket| bucket.count).sum();
        let below = |percent| quantile(&histogram, count, percent);
        Self { count, p50_below_ns: below(50), p99_below_ns: below(99), histogram }
    }
}

fn bucket((index, count): (usize, &u64)) -> Bucket {
    let from_ns = if index == 0 { 0 } else { 1 << index };
    let below_ns = 1_u64.checked_shl(index as u32 + 1).unwrap_or(u64::MAX);
    Bucket { from_ns, below_ns, count: *count }
}

/// The upper bound of the bucket that has the wait of this rank.
fn quantile(histogram: &[Bucket], count: u64, percent: u64) -> u64 {
    let mut seen = 0;
    let found = histogram.iter().find(|bucket| {
        seen += bucket.count;
        seen * 100 >= count * percent
    });
    found.map_or(0, |bucket| bucket.below_ns)
}
