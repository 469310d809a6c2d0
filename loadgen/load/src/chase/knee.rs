//! Where a latency curve leaves one plateau for the next: cache sizes as the loads experience them.

/// Measurements of one working set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) bytes: u64,
    /// Minimum of the samples: nanoseconds of CPU time per load.
    pub(super) min_ns: f64,
    /// Median of the samples.
    pub(super) median_ns: f64,
    /// Median by wall-clock time: higher if other threads ran meanwhile.
    pub(super) wall_ns: f64,
}

/// Working sets that are served at one speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plateau {
    /// Nanoseconds per load.
    pub(super) ns: f64,
    /// Indices of its first and last point.
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The end of a plateau.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knee {
    /// The largest working set still served at the plateau's speed, in bytes.
    pub(super) bytes: u64,
    /// The plateau's speed in nanoseconds per load.
    pub(super) ns: f64,
}

/// On a plateau the latency grows by less than this per doubling: 0.15 of a power of two.
const MAX_SLOPE: f64 = 0.15;
/// Plateaus whose speeds differ by less than this factor are merged.
const MERGE_RATIO: f64 = 1.3;
/// A working set slower than its plateau by this factor has left it.
const EXCEEDED: f64 = 1.25;

/// Maximal runs of at least two flat steps; neighbours of nearly equal speed are merged.
pub(super) fn plateaus(points: &[Point]) -> Vec<Plateau> {
    let mut detected: Vec<Plateau> = Vec::new();
    let mut first = 0;
    for at in 1..=points.len() {
        let goes_on = at < points.len() && slope(&points[at - 1], &points[at]) < MAX_SLOPE;
        if goes_on {
            continue;
        }
        if at - first >= 2 {
            let ns = median(&points[first..at]);
            match detected.last_mut().filter(|before| ns < before.ns * MERGE_RATIO) {
                Some(before) => {
                    before.last = at - 1;
                    before.ns = median(&points[before.first..at]);
                }
                None => detected.push(Plateau { ns, first, last: at - 1 }),
            }
        }
        first = at;
    }
    detected
}

/// Growth of the latency in powers of two per doubling of the working set.
fn slope(from: &Point, to: &Point) -> f64 {
    let doublings = (to.bytes as f64 / from.bytes as f64).log2();
    (to.min_ns / from.min_ns).log2() / doublings
}

/// The median latency of some points.
fn median(points: &[Point]) -> f64 {
    let mut sorted: Vec<f64> = points.iter().map(|point| point.min_ns).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The ends of all plateaus that the curve finally leaves. What follows need not be a plateau: at a
/// few times the last cache many loads still hit it.
pub(super) fn knees(points: &[Point]) -> Vec<Knee> {
    let plateaus = plateaus(points);
    let nexts = plateaus.iter().skip(1).map(|next| next.first).chain([points.len()]);
    plateaus
        .iter()
        .zip(nexts)
        .filter_map(|(plateau, next)| {
            let stays = |point: &&Point| point.min_ns <= plateau.ns * EXCEEDED;
            let bytes = points[plateau.first..next].iter().rev().find(stays)?.bytes;
            // A single slow working set at the end may be noise.
            let beyond = points.iter().filter(|point| point.bytes > bytes).count();
            (beyond >= 2).then_some(Knee { bytes, ns: plateau.ns })
        })
        .collect()
}

/// Whether a knee matches a cache of `bytes`: within a factor of 0.5 to 1.5.
pub(super) fn agrees(knee: u64, bytes: u64) -> bool {
    let factor = knee as f64 / bytes as f64;
    (0.5..=1.5).contains(&factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with caches of 32 KiB, 1 MiB and 32 MiB, whose miss rate is the part that does not
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
                Point { bytes, min_ns: ns, median_ns: ns, wall_ns: ns }
            })
            .collect()
    }

    #[test]
    fn the_caches_of_a_simulated_machine_are_detected() {
        for noise in [0.0, 0.005] {
            let detected = knees(&curve(noise));
            assert_eq!(detected.len(), 3, "{detected:?}");
            for (knee, (bytes, ns)) in
                detected.iter().zip([(32 << 10, 1.3), (1 << 20, 4.2), (32 << 20, 14.0)])
            {
                assert!(agrees(knee.bytes, bytes), "{knee:?} for {bytes}");
                assert!((knee.ns / ns - 1.0).abs() < 0.1, "{knee:?} for {ns}");
            }
        }
    }

    #[test]
    fn a_flat_curve_has_no_knee() {
        let flat: Vec<Point> = (0..8)
            .map(|at| Point { bytes: 4096 << at, min_ns: 1.3, median_ns: 1.3, wall_ns: 1.3 })
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
