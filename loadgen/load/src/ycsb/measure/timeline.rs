//! `measurementtype=timeseries`: the mean latency of each time span.

use std::collections::BTreeMap;

use super::buckets::widened;
use super::series::{Line, Number};

/// Time spans with measurements.
#[derive(Debug)]
pub(in crate::ycsb) struct Timeline {
    granularity: u64,
    start: u64,
    /// Count and sum of the latencies, by milliseconds since the start.
    spans: BTreeMap<u64, (u64, u64)>,
    range: Option<(u64, u64)>,
}

impl Timeline {
    pub(super) fn new(granularity: u64, start: u64) -> Self {
        Self { granularity: granularity.max(1), start, spans: BTreeMap::new(), range: None }
    }

    pub(super) fn record(&mut self, latency: u64, now: u64) {
        let since = now.saturating_sub(self.start) / 1_000_000;
        let span = since / self.granularity * self.granularity;
        let (count, sum) = self.spans.entry(span).or_default();
        *count += 1;
        *sum += latency;
        self.range = widened(self.range, Some((latency, latency)));
    }

    pub(super) fn merge(&mut self, other: &mut Self) {
        for (span, (count, sum)) in std::mem::take(&mut other.spans) {
            let own = self.spans.entry(span).or_default();
            *own = (own.0 + count, own.1 + sum);
        }
        self.range = widened(self.range, other.range.take());
    }

    fn totals(&self) -> (u64, u64) {
        self.spans.values().fold((0, 0), |(all, whole), (count, sum)| (all + count, whole + sum))
    }

    pub(super) fn mean(&self) -> Option<f64> {
        let (count, sum) = self.totals();
        (count > 0).then(|| sum as f64 / count as f64)
    }

    pub(super) fn lines(&self) -> (Vec<Line>, Vec<Line>) {
        let end = |pick: fn((u64, u64)) -> u64| {
            self.range.map_or(Number::Whole(-1), |range| pick(range).into())
        };
        let lines = vec![
            ("Operations".to_owned(), self.totals().0.into()),
            ("AverageLatency(us)".to_owned(), Number::Double(self.mean().unwrap_or(f64::NAN))),
            ("MinLatency(us)".to_owned(), end(|(min, _)| min)),
            ("MaxLatency(us)".to_owned(), end(|(_, max)| max)),
        ];
        let spans = self
            .spans
            .iter()
            .map(|(span, (count, sum))| {
                (span.to_string(), Number::Double(*sum as f64 / *count as f64))
            })
            .collect();
        (lines, spans)
    }
}
