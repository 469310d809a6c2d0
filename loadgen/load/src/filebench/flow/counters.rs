//! Statistics of each operation per thread. A thread writes its own with plain stores; any thread
//! may read them without locks.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bucket `i` of a histogram counts latencies below 2^i ns that are in no lower bucket.
pub(in crate::filebench) const BUCKETS: usize = 64;

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    bytes: AtomicU64,
    latency: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

/// Statistics of one thread.
#[derive(Debug)]
pub(super) struct Counters {
    lines: Vec<Counter>,
    /// Histogram buckets of all lines, if enabled.
    buckets: Vec<AtomicU64>,
    /// The period that the statistics belong to.
    epoch: AtomicU32,
}

/// Statistics of an operation over all its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) struct Total {
    pub(in crate::filebench) count: u64,
    pub(in crate::filebench) bytes: u64,
    /// Nanoseconds.
    pub(in crate::filebench) latency: u64,
    pub(in crate::filebench) min: u64,
    pub(in crate::filebench) max: u64,
    /// Number of instances that never executed it.
    pub(in crate::filebench) idle: u64,
    pub(in crate::filebench) buckets: Vec<u64>,
}

impl Total {
    pub(in crate::filebench) fn none(histogram: bool) -> Self {
        let buckets = if histogram { vec![0; BUCKETS] } else { Vec::new() };
        Self { count: 0, bytes: 0, latency: 0, min: u64::MAX, max: 0, idle: 0, buckets }
    }
}

/// Adds with a single writer: no atomic read-modify-write is needed.
fn add(to: &AtomicU64, amount: u64) {
    to.store(to.load(Relaxed).wrapping_add(amount), Relaxed);
}

impl Counters {
    pub(super) fn new(lines: usize, histogram: bool) -> Self {
        let buckets = if histogram { lines * BUCKETS } else { 0 };
        Self {
            lines: (0..lines).map(|_| Counter::default()).collect(),
            buckets: (0..buckets).map(|_| AtomicU64::new(0)).collect(),
            epoch: AtomicU32::new(0),
        }
    }

    /// Counts an operation. Called only by the thread that owns the counters.
    pub(super) fn record(&self, line: usize, epoch: u32, bytes: u64, latency: u64) {
        if self.epoch.load(Relaxed) != epoch {
            self.reset(epoch);
        }
        let counter = &self.lines[line];
        if counter.count.load(Relaxed) == 0 || latency < counter.min.load(Relaxed) {
            counter.min.store(latency, Relaxed);
        }
        if latency > counter.max.load(Relaxed) {
            counter.max.store(latency, Relaxed);
        }
        add(&counter.latency, latency);
        add(&counter.bytes, bytes);
        add(&counter.count, 1);
        if !self.buckets.is_empty() {
            let bucket = (u64::BITS - latency.leading_zeros()) as usize;
            add(&self.buckets[line * BUCKETS + bucket.min(BUCKETS - 1)], 1);
        }
    }

    fn reset(&self, epoch: u32) {
        for counter in &self.lines {
            let Counter { count, bytes, latency, min, max } = counter;
            [count, bytes, latency, min, max].iter().for_each(|figure| figure.store(0, Relaxed));
        }
        self.buckets.iter().for_each(|bucket| bucket.store(0, Relaxed));
        self.epoch.store(epoch, Relaxed);
    }

    /// Number of operations and bytes so far.
    pub(super) fn progress(&self, line: usize) -> (u64, u64) {
        let counter = &self.lines[line];
        (counter.count.load(Relaxed), counter.bytes.load(Relaxed))
    }

    /// Adds one line to a total.
    pub(super) fn add_to(&self, total: &mut Total, line: usize, epoch: u32) {
        let counter = &self.lines[line];
        let count = counter.count.load(Relaxed);
        if self.epoch.load(Relaxed) != epoch || count == 0 {
            total.idle += 1;
            return;
        }
        total.count += count;
        total.bytes += counter.bytes.load(Relaxed);
        total.latency += counter.latency.load(Relaxed);
        total.min = total.min.min(counter.min.load(Relaxed));
        total.max = total.max.max(counter.max.load(Relaxed));
        let own = self.buckets.iter().skip(line * BUCKETS).take(BUCKETS);
        total.buckets.iter_mut().zip(own).for_each(|(sum, own)| *sum += own.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_add_up_over_threads_and_restart_with_a_period() {
        let (a, b) = (Counters::new(2, true), Counters::new(2, true));
        a.record(0, 0, 100, 5);
        a.record(0, 0, 50, 9);
        b.record(0, 0, 1, 1024);
        let sum = |line, epoch| {
            let mut total = Total::none(true);
            [&a, &b].iter().for_each(|one| one.add_to(&mut total, line, epoch));
            total
        };
        let total = sum(0, 0);
        assert_eq!((total.count, total.bytes, total.latency), (3, 151, 1038));
        assert_eq!((total.min, total.max, total.idle), (5, 1024, 0));
        assert_eq!((total.buckets[3], total.buckets[4], total.buckets[11]), (1, 1, 1));
        assert_eq!(sum(1, 0).idle, 2);
        assert_eq!((sum(0, 1).count, sum(0, 1).idle), (0, 2), "nothing yet in the next period");
        a.record(0, 1, 7, 3);
        assert_eq!((sum(0, 1).count, sum(0, 1).bytes), (1, 7));
    }
}
