//! Where each cache reported by the kernel ends on the curve: not a knee, which may not be
//! detectable, but the working set whose latency is half-way to that of the next level.

use super::knee::Point;
use crate::caches::Cache;

/// A cache level or memory, as measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CacheLevel {
    /// `l1`, `l2`, ... and `memory`.
    pub(super) name: String,
    /// Nanoseconds per load of the largest working set that this level surely holds.
    pub(super) ns: f64,
    /// Nanoseconds per load of the smallest working set that the previous level surely does not
    /// hold.
    onset_ns: f64,
    /// Size reported by the kernel; none for memory.
    pub(super) bytes: Option<u64>,
    /// Measured capacity in bytes.
    pub(super) capacity: Option<f64>,
}

/// Levels whose latencies are closer than this factor cannot be distinguished.
const MIN_RATIO: f64 = 1.1;

/// All measured levels: each cache from working sets between twice the previous level and half of
/// its own size, and memory from the largest set of at least twice the last cache. The end of a
/// cache is computed from the smallest of these sets, since a cache that is smaller than reported
/// is exceeded before its half.
pub(super) fn levels(points: &[Point], caches: &[Cache]) -> Vec<CacheLevel> {
    let points = &undisturbed(points);
    let mut levels = Vec::new();
    let mut below = 0;
    for cache in caches {
        let held: Vec<&Point> = points
            .iter()
            .filter(|point| point.bytes > below && point.bytes <= cache.bytes / 2)
            .collect();
        if let Some(last) = held.last() {
            let onset = held.iter().find(|point| point.bytes >= 2 * below).unwrap_or(last);
            // The first level has nothing below it; no set is faster than its smallest ones.
            let onset_ns = onset.min_ns;
            let (name, bytes) = (format!("l{}", cache.level), Some(cache.bytes));
            levels.push(CacheLevel { name, ns: last.min_ns, onset_ns, bytes, capacity: None });
        }
        below = cache.bytes;
    }
    if let Some(point) = points.last().filter(|point| below > 0 && point.bytes >= 2 * below) {
        let (name, ns) = ("memory".to_owned(), point.min_ns);
        levels.push(CacheLevel { name, ns, onset_ns: ns, bytes: None, capacity: None });
    }
    for at in 1..levels.len() {
        let (this, next) = (levels[at - 1].onset_ns, levels[at].onset_ns);
        levels[at - 1].capacity = crossing(points, this, next);
    }
    levels
}

/// No working set is served faster than a smaller one: a point above a larger set's was disturbed, by other
/// programs or by the hypervisor.
fn undisturbed(points: &[Point]) -> Vec<Point> {
    let mut least = f64::INFINITY;
    let rest = points.iter().rev().map(|point| {
        least = least.min(point.min_ns);
        Point { min_ns: least, ..*point }
    });
    let mut all: Vec<Point> = rest.collect();
    all.reverse();
    all
}

/// The smallest latency ratio between neighbouring levels: above 1 if every level is slower than
/// the previous one.
pub(super) fn min_rise(levels: &[CacheLevel]) -> Option<f64> {
    levels.windows(2).map(|pair| pair[1].onset_ns / pair[0].onset_ns).min_by(f64::total_cmp)
}

/// The working set at which the curve finally passes the geometric mean of two latencies,
/// interpolated linearly on logarithmic scales.
fn crossing(points: &[Point], this: f64, next: f64) -> Option<f64> {
    if next < this * MIN_RATIO {
        return None;
    }
    let limit = (this * next).sqrt();
    let last = points.iter().rposition(|point| point.min_ns < limit)?;
    let (low, high) = (points.get(last)?, points.get(last + 1)?);
    let part = (limit / low.min_ns).ln() / (high.min_ns / low.min_ns).ln();
    let (low, high) = ((low.bytes as f64).ln(), (high.bytes as f64).ln());
    Some((low + part.clamp(0.0, 1.0) * (high - low)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(bytes: u64, ns: f64) -> Point {
        Point { bytes, min_ns: ns, median_ns: ns, wall_ns: ns }
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

    /// From 1 ns at 32 KiB to 4 ns at 64 KiB the mean of 2 ns is half-way: 32 KiB times the square
    /// root of 2. From 4 ns at 1 MiB to 12 ns at 2 MiB the mean of 4 and 36 is reached at once.
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
        assert_eq!(min_rise(&levels), Some(4.0));
    }

    /// Without the smallest set the first cache would seem as slow as the second, and end nowhere.
    #[test]
    fn a_disturbed_working_set_moves_no_level() {
        let mut disturbed = curve();
        disturbed[0].min_ns = 4.0;
        disturbed[6].min_ns = 11.0;
        assert_eq!(levels(&disturbed, &CACHES), levels(&curve(), &CACHES));
    }

    /// sysfs reports 1 MiB, but from 256 KiB on everything comes from memory.
    #[test]
    fn a_cache_smaller_than_reported_ends_where_measured() {
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
        assert_eq!(min_rise(&levels), Some(4.0));
        assert_eq!(levels[1].ns, 36.0, "half of the size in sysfs is served by memory");
    }

    #[test]
    fn levels_of_equal_speed_have_no_end_and_no_rise() {
        let flat: Vec<Point> = (12..=23).map(|power| point(1 << power, 5.0)).collect();
        let levels = levels(&flat, &CACHES);
        assert!(levels.iter().all(|level| level.capacity.is_none()), "{levels:?}");
        assert_eq!(min_rise(&levels), Some(1.0));
    }

    #[test]
    fn unmeasured_levels_are_left_out() {
        let points: Vec<Point> = curve().into_iter().filter(|point| point.bytes <= 16384).collect();
        let levels = levels(&points, &CACHES);
        assert_eq!(levels.len(), 1);
        assert_eq!(min_rise(&levels), None);
        assert!(super::levels(&curve(), &[]).is_empty());
    }
}
