//! Where each cache that the kernel knows of ends, by the curve: not a knee that may be found or
//! not, but the working set whose latency is half-way to that of the next level.

use super::knee::Point;
use crate::caches::Cache;

/// A level, as loads feel it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Served {
    /// `l1`, `l2`, ... and `memory`.
    pub(super) name: String,
    /// Nanoseconds a load of the largest working set that this level surely holds.
    pub(super) ns: f64,
    /// The same of the smallest one that the level before surely does not hold.
    onset_ns: f64,
    /// Bytes that the kernel says it has; none for memory.
    pub(super) bytes: Option<u64>,
    /// Bytes up to which it holds a working set, by the curve.
    pub(super) capacity: Option<f64>,
}

/// Levels whose latencies are closer than this cannot be told apart.
const APART: f64 = 1.1;

/// All levels that were measured: each cache in working sets from twice the level before to half of
/// it, and memory in the largest of at least twice the last cache. Where a cache ends is found from
/// the first of these, since one that is smaller than the kernel says is left before its half.
pub(super) fn levels(points: &[Point], caches: &[Cache]) -> Vec<Served> {
    let mut levels = Vec::new();
    let mut below = 0;
    for cache in caches {
        let held: Vec<&Point> = points
            .iter()
            .filter(|point| point.bytes > below && point.bytes <= cache.bytes / 2)
            .collect();
        if let Some(last) = held.last() {
            let onset = held.iter().find(|point| point.bytes >= 2 * below).unwrap_or(last);
            // The first level has nothing below it, and nothing is faster than its smallest sets.
            let onset_ns = onset.least_ns;
            let (name, bytes) = (format!("l{}", cache.level), Some(cache.bytes));
            levels.push(Served { name, ns: last.least_ns, onset_ns, bytes, capacity: None });
        }
        below = cache.bytes;
    }
    if let Some(point) = points.last().filter(|point| below > 0 && point.bytes >= 2 * below) {
        let (name, ns) = ("memory".to_owned(), point.least_ns);
        levels.push(Served { name, ns, onset_ns: ns, bytes: None, capacity: None });
    }
    for at in 1..levels.len() {
        let (this, next) = (levels[at - 1].onset_ns, levels[at].onset_ns);
        levels[at - 1].capacity = crossing(points, this, next);
    }
    levels
}

/// The least factor from one level to the next: above 1 where every level is slower than the one
/// before.
pub(super) fn least_rise(levels: &[Served]) -> Option<f64> {
    levels.windows(2).map(|pair| pair[1].onset_ns / pair[0].onset_ns).min_by(f64::total_cmp)
}

/// The working set at which the curve passes the geometric mean of two latencies for good, between
/// two points by a straight line on logarithmic scales.
fn crossing(points: &[Point], this: f64, next: f64) -> Option<f64> {
    if next < this * APART {
        return None;
    }
    let limit = (this * next).sqrt();
    let last = points.iter().rposition(|point| point.least_ns < limit)?;
    let (low, high) = (points.get(last)?, points.get(last + 1)?);
    let part = (limit / low.least_ns).ln() / (high.least_ns / low.least_ns).ln();
    let (low, high) = ((low.bytes as f64).ln(), (high.bytes as f64).ln());
    Some((low + part.clamp(0.0, 1.0) * (high - low)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(bytes: u64, ns: f64) -> Point {
        Point { bytes, least_ns: ns, median_ns: ns, wall_ns: ns }
    }

    fn curve() -> Vec<Point> {
        let latency = |bytes: u64| match bytes {
            0..=32768 => 1.0,
            32769..=65536 => 4.0,
            65537..=1_048_576 => 4.0,
            1_048_577..=2_097_152 => 12.0,
            _ => 36.0,
        };
        (12..=23).map(|power| point(1 << power, latency(1 << power))).collect()
    }

    const CACHES: [Cache; 2] =
        [Cache { level: 1, bytes: 32 << 10 }, Cache { level: 2, bytes: 1 << 20 }];

    /// From 1 ns at 32 KiB to 4 ns at 64 KiB the mean of 2 ns is half of the way: 32 KiB by the
    /// root of 2. From 4 ns at 1 MiB to 12 ns at 2 MiB the mean of 4 and 36 is there at once.
    #[test]
    fn a_cache_ends_half_way_to_the_next_level() {
        let levels = levels(&curve(), &CACHES);
        let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        assert_eq!(names, ["l1", "l2", "memory"]);
        assert_eq!([levels[0].ns, levels[1].ns, levels[2].ns], [1.0, 4.0, 36.0]);
        let first = levels[0].capacity.unwrap();
        assert!((first / (32768.0 * 2.0_f64.sqrt()) - 1.0).abs() < 1e-9, "{first}");
        assert!((levels[1].capacity.unwrap() / 2_097_152.0 - 1.0).abs() < 1e-9, "{levels:?}");
        assert_eq!(levels[2].capacity, None);
        assert_eq!(least_rise(&levels), Some(4.0));
    }

    /// sysfs says 1 MiB, but from 256 KiB on everything comes from memory.
    #[test]
    fn a_cache_that_is_smaller_than_the_kernel_says_ends_where_it_does() {
        let latency = |bytes: u64| match bytes {
            0..=32768 => 1.0,
            32769..=131_072 => 4.0,
            _ => 36.0,
        };
        let points: Vec<Point> =
            (12..=23).map(|power| point(1 << power, latency(1 << power))).collect();
        let levels = levels(&points, &CACHES);
        let capacity = levels[1].capacity.unwrap();
        assert!((capacity / (131_072.0 * 2.0_f64.sqrt()) - 1.0).abs() < 1e-9, "{capacity}");
        assert_eq!(least_rise(&levels), Some(4.0));
        assert_eq!(levels[1].ns, 36.0, "half of what sysfs says is served by memory");
    }

    #[test]
    fn levels_of_one_speed_have_no_end_and_no_rise() {
        let flat: Vec<Point> = (12..=23).map(|power| point(1 << power, 5.0)).collect();
        let levels = levels(&flat, &CACHES);
        assert!(levels.iter().all(|level| level.capacity.is_none()), "{levels:?}");
        assert_eq!(least_rise(&levels), Some(1.0));
    }

    #[test]
    fn what_was_not_measured_is_no_level() {
        let points: Vec<Point> = curve().into_iter().filter(|point| point.bytes <= 16384).collect();
        let levels = levels(&points, &CACHES);
        assert_eq!(levels.len(), 1);
        assert_eq!(least_rise(&levels), None);
        assert!(super::levels(&curve(), &[]).is_empty());
    }
}
