//! Latencies in an HdrHistogram of three digits. The crate records; percentiles and means are
//! computed as in YCSB's Java library (2.1.4), which rounds differently.

use hdrhistogram::Histogram;

use super::series::{Line, Number, Presentation};
use crate::ycsb::java_text::two_places;

/// A histogram of microseconds.
#[derive(Debug)]
pub(in crate::ycsb) struct Hdr {
    histogram: Option<Histogram<u64>>,
}

/// Initial range; the histogram grows automatically.
const FIRST_RANGE_US: u64 = 1_000_000;

impl Hdr {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, FIRST_RANGE_US, 3).ok();
        let histogram = histogram.map(|mut histogram| {
            histogram.auto(true);
            histogram
        });
        Self { histogram }
    }

    pub(super) fn record(&mut self, latency: u64) {
        if let Some(histogram) = &mut self.histogram {
            // It grows automatically, so that no latency is out of range.
            let _ = histogram.record(latency);
        }
    }

    pub(super) fn merge(&mut self, other: &mut Self) {
        if let (Some(own), Some(other)) = (&mut self.histogram, &mut other.histogram) {
            let _ = own.add(&*other);
            other.reset();
        }
    }

    pub(in crate::ycsb) fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// Recorded values: highest value of the cell, its middle value, count.
    fn cells(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.histogram.iter().flat_map(|histogram| {
            histogram.iter_recorded().map(|cell| {
                let value = cell.value_iterated_to();
                (
                    histogram.highest_equivalent(value),
                    histogram.median_equivalent(value),
                    cell.count_at_value(),
                )
            })
        })
    }

    pub(in crate::ycsb) fn mean(&self) -> f64 {
        let sum: f64 = self.cells().map(|(_, middle, count)| middle as f64 * count as f64).sum();
        if self.count() == 0 { 0.0 } else { sum / self.count() as f64 }
    }

    pub(in crate::ycsb) fn min(&self) -> u64 {
        self.histogram.as_ref().filter(|histogram| !histogram.is_empty()).map_or(0, Histogram::min)
    }

    pub(in crate::ycsb) fn max(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::max)
    }

    /// The value at a percentile: the first cell at which the rounded number of values is reached.
    pub(in crate::ycsb) fn percentile(&self, percentile: f64) -> u64 {
        let target = (percentile.min(100.0) / 100.0 * self.count() as f64 + 0.5) as u64;
        let mut cumulative = 0;
        self.cells()
            .find(|(_, _, count)| {
                cumulative += count;
                cumulative >= target.max(1)
            })
            .map_or(0, |(highest, _, _)| highest)
    }

    pub(super) fn lines(&self, how: &Presentation) -> (Vec<Line>, Vec<Line>) {
        let mut lines: Vec<Line> = vec![
            ("Operations".to_owned(), self.count().into()),
            ("AverageLatency(us)".to_owned(), Number::Double(self.mean())),
            ("MinLatency(us)".to_owned(), self.min().into()),
            ("MaxLatency(us)".to_owned(), self.max().into()),
        ];
        for percentile in &how.percentiles {
            let name = format!("{}PercentileLatency(us)", ordinal(*percentile));
            lines.push((name, self.percentile(*percentile).into()));
        }
        let cells = if how.verbose {
            self.cells()
                .map(|(highest, _, count)| {
                    let label = highest.min(i32::MAX as u64);
                    (label.to_string(), Number::Double(count as f64))
                })
                .collect()
        } else {
            Vec::new()
        };
        (lines, cells)
    }

    pub(super) fn summary(&self, name: &str) -> String {
        let percentiles: Vec<String> = [50.0, 90.0, 99.0, 99.9, 99.99]
            .iter()
            .map(|percentile| format!("{percentile}={}", self.percentile(*percentile)))
            .collect();
        format!(
            "[{name}: Count={}, Max={}, Min={}, Avg={}, {}]",
            self.count(),
            self.max(),
            self.min(),
            two_places(self.mean()),
            percentiles.join(", ")
        )
    }
}

/// `50th`, `1st`, `12th`; YCSB has no suffix for fractional percentiles.
fn ordinal(percentile: f64) -> String {
    if percentile.fract() != 0.0 {
        return crate::ycsb::java_text::double(percentile);
    }
    let ending = match (percentile as u64 % 100, percentile as u64 % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{percentile}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Hdr {
        let mut hdr = Hdr::new();
        values.into_iter().for_each(|value| hdr.record(value));
        hdr
    }

    #[test]
    fn a_cell_is_reported_by_its_ends_and_middle_as_in_java() {
        // YCSB 0.17.0 printed this for one CLEANUP.
        let hdr = histogram([29_190]);
        assert_eq!((hdr.min(), hdr.max(), hdr.percentile(95.0)), (29_184, 29_199, 29_199));
        assert!((hdr.mean() - 29_192.0).abs() < 1e-9, "{}", hdr.mean());
    }

    #[test]
    fn percentiles_round_the_number_of_values_to_the_nearest() {
        let hdr = histogram(1..=100);
        assert_eq!(hdr.percentile(50.0), 50);
        assert_eq!(hdr.percentile(99.9), 100);
        assert_eq!(hdr.percentile(0.0), 1);
        // 0.4 of a value rounds down to none, which then means the first.
        assert_eq!(histogram([5, 9]).percentile(20.0), 5);
    }

    #[test]
    fn an_empty_histogram_gives_zero_as_in_java() {
        let hdr = Hdr::new();
        assert_eq!((hdr.min(), hdr.max(), hdr.percentile(99.0)), (0, 0, 0));
        assert_eq!(crate::ycsb::java_text::double(hdr.mean()), "0.0");
    }

    #[test]
    fn a_long_latency_grows_the_histogram() {
        let mut hdr = histogram([1, 4_000_000_000]);
        assert_eq!((hdr.count(), hdr.min()), (2, 1));
        assert!(hdr.max() >= 4_000_000_000);
        let mut small = histogram([7]);
        small.merge(&mut hdr);
        assert_eq!((small.count(), hdr.count()), (3, 0));
        assert!(small.max() >= 4_000_000_000);
    }

    #[test]
    fn percentiles_have_ordinals() {
        let ordinals: Vec<String> =
            [1.0, 2.0, 3.0, 11.0, 12.0, 50.0, 91.0, 99.9, 99.99].map(ordinal).into();
        assert_eq!(
            ordinals,
            ["1st", "2nd", "3rd", "11th", "12th", "50th", "91st", "99.9", "99.99"]
        );
    }
}
