//! Where a curve of latencies leaves one plateau for the next: the sizes of caches as the loads
//! feel them.

/// One working set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) bytes: u64,
    /// Least of the samples: nanoseconds a load in which the thread ran.
    pub(super) least_ns: f64,
    /// Their median.
    pub(super) median_ns: f64,
    /// Median of the samples by the clock on the wall: more where others ran meanwhile.
    pub(super) wall_ns: f64,
}

/// Working sets that are served at one speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plateau {
    /// Nanoseconds a load.
    pub(super) ns: f64,
    /// The first and the last point of it.
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A plateau's end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knee {
    /// The largest working set that is still served at the plateau's speed, in bytes.
    pub(super) bytes: u64,
    /// That speed, nanoseconds a load.
    pub(super) ns: f64,
}

/// On a plateau the latency grows by less than this from one doubling to the next: 0.15 of a
/// power of two.
const FLAT: f64 = 0.15;
/// Plateaus whose speeds are closer than this are one.
const SAME: f64 = 1.3;
/// A working set that is this much slower than its plateau has left it.
const LEFT: f64 = 1.25;

/// Maximal runs of at least two steps that are flat, neighbours of nearly the same speed joined.
pub(super) fn plateaus(points: &[Point]) -> Vec<Plateau> {
    let mut found: Vec<Plateau> = Vec::new();
    let mut first = 0;
    for at in 1..=points.len() {
        let goes_on = at < points.len() && slope(&points[at - 1], &points[at]) < FLAT;
        if goes_on {
            continue;
        }
        if at - first >= 2 {
            let ns = middle(&points[first..at]);
            match found.last_mut().filter(|before| ns < before.ns * SAME) {
                Some(before) => {
                    before.last = at - 1;
                    before.ns = middle(&points[before.first..at]);
                }
                None => found.push(Plateau { ns, first, last: at - 1 }),
            }
        }
        first = at;
    }
    found
}

/// Growth in powers of two of the latency for each doubling of the working set.
fn slope(from: &Point, to: &Point) -> f64 {
    let doublings = (to.bytes as f64 / from.bytes as f64).log2();
    (to.least_ns / from.least_ns).log2() / doublings
}

/// The median latency of some points.
fn middle(points: &[Point]) -> f64 {
    let mut sorted: Vec<f64> = points.iter().map(|point| point.least_ns).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The ends of all plateaus that the curve leaves for good. What comes next needs not be a plateau:
/// with a few times the last cache, a good part of the loads still hits it.
pub(super) fn knees(points: &[Point]) -> Vec<Knee> {
    let plateaus = plateaus(points);
    let nexts = plateaus.iter().skip(1).map(|next| next.first).chain([points.len()]);
    plateaus
        .iter()
        .zip(nexts)
        .filter_map(|(plateau, next)| {
            let stays = |point: &&Point| point.least_ns <= plateau.ns * LEFT;
            let bytes = points[plateau.first..next].iter().rev().find(stays)?.bytes;
            // One slow working set at the end may be noise.
            let beyond = points.iter().filter(|point| point.bytes > bytes).count();
            (beyond >= 2).then_some(Knee { bytes, ns: plateau.ns })
        })
        .collect()
}

/// Whether a knee is where a cache of `bytes` would put it: within a factor of 0.5 to 1.5.
pub(super) fn agrees(knee: u64, bytes: u64) -> bool {
    let factor = knee as f64 / bytes as f64;
    (0.5..=1.5).contains(&factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with caches of 32 KiB, 1 MiB and 32 MiB that miss in proportion to what does not
    /// fit.
    fn curve(noise: f64) -> Vec<Point> {
        let levels = [(32u64 << 10, 1.3), (1 << 20, 4.2), (32 << 20, 14.0), (u64::MAX, 95.0)];
        crate::chase::ladder::sizes(4096, 128 << 20, 4)
            .unwrap()
            .into_iter()
            .enumerate()
            .map(|(at, bytes)| {
                let mut before = 0.0;
                let mut ns = 0.0;
                for (size, latency) in levels {
                    let here = (size as f64 / bytes as f64).min(1.0);
                    ns += (here - before) * latency;
                    before = here;
                }
                let ns = ns * (1.0 + noise * if at % 2 == 0 { 1.0 } else { -1.0 });
                Point { bytes, least_ns: ns, median_ns: ns, wall_ns: ns }
            })
            .collect()
    }

    #[test]
    fn the_caches_of_a_made_up_machine_are_found() {
        for noise in [0.0, 0.005] {
            let found = knees(&curve(noise));
            assert_eq!(found.len(), 3, "{found:?}");
            for (knee, (bytes, ns)) in
                found.iter().zip([(32 << 10, 1.3), (1 << 20, 4.2), (32 << 20, 14.0)])
            {
                assert!(agrees(knee.bytes, bytes), "{knee:?} for {bytes}");
                assert!((knee.ns / ns - 1.0).abs() < 0.1, "{knee:?} for {ns}");
            }
        }
    }

    #[test]
    fn a_flat_curve_has_no_knee() {
        let flat: Vec<Point> = (0..8)
            .map(|at| Point { bytes: 4096 << at, least_ns: 1.3, median_ns: 1.3, wall_ns: 1.3 })
            .collect();
        assert_eq!(plateaus(&flat).len(), 1);
        assert!(knees(&flat).is_empty());
        assert!(knees(&[]).is_empty());
    }

    #[test]
    fn a_knee_agrees_with_a_cache_from_half_of_it_to_half_more() {
        assert!(agrees(24 << 10, 32 << 10) && agrees(48 << 10, 32 << 10));
        assert!(!agrees(15 << 10, 32 << 10) && !agrees(64 << 10, 32 << 10));
    }
}
