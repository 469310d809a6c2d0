//! `measurementtype=histogram`: buckets of one millisecond, YCSB's format before HdrHistogram.

use super::series::{Line, Number, Presentation};

/// Counts of latencies by milliseconds.
#[derive(Debug)]
pub(in crate::ycsb) struct Buckets {
    counts: Vec<u64>,
    beyond: u64,
    operations: u64,
    sum: u64,
    sum_of_squares: f64,
    range: Option<(u64, u64)>,
}

impl Buckets {
    pub(super) fn new(buckets: usize) -> Self {
        Self {
            counts: vec![0; buckets],
            beyond: 0,
            operations: 0,
            sum: 0,
            sum_of_squares: 0.0,
            range: None,
        }
    }

    pub(super) fn record(&mut self, latency: u64) {
        match self.counts.get_mut((latency / 1000) as usize) {
            Some(count) => *count += 1,
            None => self.beyond += 1,
        }
        self.operations += 1;
        self.sum += latency;
        self.sum_of_squares += (latency as f64).powi(2);
        self.range = widened(self.range, Some((latency, latency)));
    }

    pub(super) fn merge(&mut self, other: &mut Self) {
        let other = std::mem::replace(other, Self::new(other.counts.len()));
        for (own, other) in self.counts.iter_mut().zip(other.counts) {
            *own += other;
        }
        self.beyond += other.beyond;
        self.operations += other.operations;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.range = widened(self.range, other.range);
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.sum as f64 / self.operations as f64)
    }

    pub(super) fn lines(&self, how: &Presentation) -> (Vec<Line>, Vec<Line>) {
        let mean = self.mean().unwrap_or(f64::NAN);
        let variance = self.sum_of_squares / self.operations as f64 - mean * mean;
        let end = |pick: fn((u64, u64)) -> u64| {
            self.range.map_or(Number::Whole(-1), |range| pick(range).into())
        };
        let mut lines = vec![
            ("Operations".to_owned(), self.operations.into()),
            ("AverageLatency(us)".to_owned(), Number::Double(mean)),
            ("LatencyVariance(us)".to_owned(), Number::Double(variance)),
            ("MinLatency(us)".to_owned(), end(|(min, _)| min)),
            ("MaxLatency(us)".to_owned(), end(|(_, max)| max)),
        ];
        for (name, part) in
            [("95thPercentileLatency(us)", 0.95), ("99thPercentileLatency(us)", 0.99)]
        {
            // A percentile beyond the last bucket is left out.
            if let Some(bucket) = self.bucket_at(part) {
                lines.push((name.to_owned(), (bucket as u64 * 1000).into()));
            }
        }
        let mut cells: Vec<Line> = Vec::new();
        if how.verbose {
            cells =
                self.counts.iter().zip(0u64..).map(|(n, i)| (i.to_string(), (*n).into())).collect();
            cells.push((format!(">{}", self.counts.len()), self.beyond.into()));
        }
        (lines, cells)
    }

    fn bucket_at(&self, part: f64) -> Option<usize> {
        let mut cumulative = 0;
        self.counts.iter().position(|count| {
            cumulative += count;
            cumulative as f64 / self.operations as f64 >= part
        })
    }
}

/// The smallest range that contains both.
pub(super) fn widened(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
        (one, other) => one.or(other),
    }
}
