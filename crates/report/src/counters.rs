//! Curves of cumulative counters, one for each subject of a table, downsampled to keep figures readable and
//! pages small.
//!
//! A counter is interpolated at the edges of equal bins and differenced, so a point is the true
//! mean rate over its bin: downsampling loses detail but no bytes.

use std::collections::BTreeMap;

use assay_record::run_folder::{RepeatRecord, Table};
use assay_stats::{Series, series};

/// Maximum points of one curve: about one for every three pixels of a wide page.
const POINTS_OF_CURVE: usize = 300;

/// A cumulative counter, sorted by time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Curve {
    points: Series,
}

impl Curve {
    /// The counter at an instant, linearly interpolated; `None` outside the sampled range.
    pub(crate) fn at(&self, time_ns: u64) -> Option<f64> {
        series::at(&self.points, time_ns)
    }

    /// The mean rate per second between two instants; `None` if the counter was not sampled or
    /// decreased, which happens only when a group or device was replaced.
    pub(crate) fn rate(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let seconds = to_ns.checked_sub(from_ns).filter(|span| *span > 0)? as f64 / 1e9;
        let grown = self.at(to_ns)? - self.at(from_ns)?;
        (grown >= 0.0).then_some(grown / seconds)
    }

    /// The mean of the values themselves between two instants, for a gauge such as `in_flight`.
    pub(crate) fn mean(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let first = self.points.partition_point(|(time, _)| *time < from_ns);
        let last = self.points.partition_point(|(time, _)| *time < to_ns);
        let within = &self.points[first..last];
        (!within.is_empty())
            .then(|| within.iter().map(|(_, value)| value).sum::<f64>() / within.len() as f64)
    }

    /// Restricts an interval to the sampled range, so that a sample that is late by a millisecond
    /// does not void the first or last moment of a repeat.
    pub(crate) fn clamp(&self, from_ns: u64, to_ns: u64) -> Option<(u64, u64)> {
        let from = from_ns.max(self.points.first()?.0);
        let to = to_ns.min(self.points.last()?.0);
        (from < to).then_some((from, to))
    }

    /// Number of samples between two instants.
    pub(crate) fn count(&self, from_ns: u64, to_ns: u64) -> usize {
        self.points.iter().filter(|(time, _)| (from_ns..=to_ns).contains(time)).count()
    }
}

/// Equal bins from the release of a repeat to its end.
pub(crate) struct Bins {
    origin_ns: u64,
    edges_ns: Vec<u64>,
}

impl Bins {
    /// As many bins as the curve has samples, up to `at_most`.
    pub(crate) fn new(repeat: &RepeatRecord, curve: &Curve, at_most: usize) -> Option<Self> {
        let (from, to) = curve.clamp(repeat.released_ns, repeat.stopped_ns)?;
        let samples = curve.count(from, to).saturating_sub(1);
        let bins = samples.clamp(1, at_most.clamp(1, POINTS_OF_CURVE)) as u64;
        let edges_ns = (0..=bins).map(|edge| from + (to - from) * edge / bins).collect();
        Some(Self { origin_ns: repeat.released_ns, edges_ns })
    }

    /// `(seconds, from_ns, to_ns)` of every bin.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, u64, u64)> + '_ {
        self.edges_ns.windows(2).map(|edges| {
            let middle = (edges[0] + edges[1]) / 2;
            (middle.saturating_sub(self.origin_ns) as f64 / 1e9, edges[0], edges[1])
        })
    }
}

/// The sum of several counters of a table, by subject. Rows that lack one of them are skipped. A
/// single pass over the table: 128 groups over ten minutes are 768 000 rows.
pub(crate) fn curves(table: &Table, columns: &[&str]) -> BTreeMap<String, Curve> {
    let Ok(sums) = table.sums(columns) else { return BTreeMap::new() };
    let mut curves = vec![Curve::default(); table.subjects.len()];
    for (row, (time, subject)) in table.time_ns.iter().zip(&table.subject).enumerate() {
        if let (Some(sum), Some(curve)) = (sums.at(row), curves.get_mut(*subject as usize)) {
            curve.points.push((*time, sum as f64));
        }
    }
    let named = table.subjects.iter().cloned().zip(curves);
    named.filter(|(_, curve)| !curve.points.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::run_folder::Column;

    fn table() -> Table {
        Table {
            source: "io".to_owned(),
            time_ns: vec![0, 0, 1_000_000_000, 1_000_000_000, 2_000_000_000],
            subject: vec![0, 1, 0, 1, 0],
            subjects: vec!["a".to_owned(), "b".to_owned()],
            columns: vec![
                Column {
                    name: "read_bytes".to_owned(),
                    values: vec![Some(0), Some(5), Some(100), None, Some(300)],
                },
                Column {
                    name: "write_bytes".to_owned(),
                    values: vec![Some(0), Some(0), Some(10), Some(0), Some(10)],
                },
            ],
        }
    }

    #[test]
    fn rates_are_differences_of_the_sum_and_not_extrapolated() {
        let curves = curves(&table(), &["read_bytes", "write_bytes"]);
        assert_eq!(curves["a"].rate(0, 1_000_000_000), Some(110.0));
        assert_eq!(curves["a"].rate(500_000_000, 2_000_000_000), Some((310.0 - 55.0) / 1.5));
        assert_eq!(curves["a"].rate(0, 3_000_000_000), None);
        assert_eq!(curves["b"].rate(0, 1_000_000_000), None, "the second sample is missing");
    }

    #[test]
    fn decreasing_counter_has_no_rate() {
        let curve = Curve { points: vec![(0, 10.0), (1_000_000_000, 5.0)] };
        assert_eq!(curve.rate(0, 1_000_000_000), None);
    }

    #[test]
    fn table_without_the_column_has_no_curve() {
        assert!(curves(&table(), &["read_ios"]).is_empty());
    }
}
