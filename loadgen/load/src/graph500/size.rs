//! Predicts the size of a graph from its parameters: how many vertices will have edges, how many
//! edges will be distinct, and the memory needed.
//!
//! Edges are drawn independently. A vertex whose label has `b` one bits (before scrambling) is an
//! end with probability 0.76^(scale - b) * 0.24^b, and a pair of vertices with `i` levels of two
//! zeroes, `j` different and `k` of two ones is drawn with 0.57^i * 0.19^j * 0.05^k. The expected
//! numbers are sums over these few kinds; with so many edges the actual numbers deviate by a
//! fraction of a percent.

use crate::footprint::{Footprint, Phase};

/// The probabilities of the quadrants.
pub(super) const A: f64 = 0.57;
pub(super) const B: f64 = 0.19;
pub(super) const C: f64 = 0.19;
pub(super) const D: f64 = 0.05;

/// Touched part of a thread's stack and buffers.
const THREAD_BYTES: u64 = 48 << 10;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 160 << 10;

/// The parameters that determine the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) scale: u32,
    pub(super) edgefactor: u32,
    pub(super) weighted: bool,
}

impl Size {
    pub(super) fn labels(self) -> u64 {
        1 << self.scale
    }

    pub(super) fn tuples(self) -> u64 {
        u64::from(self.edgefactor) << self.scale
    }

    /// Expected number of vertices with edges.
    pub(super) fn vertices(self) -> u64 {
        let scale = f64::from(self.scale);
        let draws = 2.0 * self.tuples() as f64;
        let sum: f64 = (0..=self.scale)
            .map(|ones| {
                let ones = f64::from(ones);
                let end = (A + B).powf(scale - ones) * (C + D).powf(ones);
                choose(scale, ones) * at_least_once(draws * end)
            })
            .sum();
        (sum as u64).min(self.labels())
    }

    /// Expected number of entries of all rows: each distinct edge twice.
    pub(super) fn neighbours(self) -> u64 {
        let (scale, draws) = (f64::from(self.scale), self.tuples() as f64);
        let mut sum = 0.0;
        for zeroes in 0..=self.scale {
            for ones in 0..=self.scale - zeroes {
                let (zeroes, ones) = (f64::from(zeroes), f64::from(ones));
                let different = scale - zeroes - ones;
                if different > 0.0 {
                    // Unordered pairs: half as many, each drawn in two orders.
                    let pairs = choose(scale, zeroes)
                        * choose(scale - zeroes, ones)
                        * (different - 1.0).exp2();
                    let drawn = 2.0 * A.powf(zeroes) * B.powf(different) * D.powf(ones);
                    sum += pairs * at_least_once(draws * drawn);
                }
            }
        }
        2 * (sum as u64).min(self.tuples())
    }

    /// Memory by phase in bytes. `construct` and the searches allocate exactly this.
    pub(super) fn footprint(self, threads: usize) -> Footprint {
        let (labels, tuples) = (self.labels(), self.tuples());
        let (vertices, neighbours) = (self.vertices(), self.neighbours());
        let weights = |count: u64| if self.weighted { 4 * count } else { 0 };
        let edges = 8 * tuples + weights(tuples);
        let numbers = 4 * labels + 4 * vertices + 8 * (vertices + 1);
        let threads = PROGRAM_BYTES + THREAD_BYTES * threads as u64;
        let construction = vec![
            ("edge list", edges),
            ("labels, numbers and offsets", numbers),
            ("rows before merging", 8 * tuples + weights(2 * tuples)),
            ("cursors", 8 * labels),
            ("program and threads", threads),
        ];
        let mut searches = vec![
            ("edge list", edges),
            ("labels, numbers and offsets", numbers),
            ("rows and heads", 4 * neighbours + weights(neighbours) + 4 * vertices),
            ("parents, queue and bitmaps", 8 * vertices + 3 * vertices / 8),
            ("tree", 4 * labels),
            ("validation", 8 * labels + labels / 8),
            ("program and threads", threads),
        ];
        if self.weighted {
            searches.push(("distances", 4 * labels + 8 * vertices + vertices / 8));
        }
        Footprint::new(vec![
            Phase { name: "construction", parts: construction },
            Phase { name: "searches", parts: searches },
        ])
    }
}

/// The probability that an event with this expected number of occurrences happens at all.
fn at_least_once(expected: f64) -> f64 {
    -(-expected).exp_m1()
}

fn choose(from: f64, count: f64) -> f64 {
    let count = count as u32;
    (0..count).map(f64::from).fold(1.0, |product, at| product * (from - at) / (at + 1.0)).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vertices with edges and distinct edges from the reference sheet.
    #[test]
    fn the_expected_sizes_match_the_reference() {
        for (scale, vertices, distinct, within) in [
            (10, 1024 - 137, 10_652, 0.02),
            (16, 65_536 - 18_734, 909_941, 0.002),
            (18, 262_144 - 88_175, 3_806_304, 0.002),
        ] {
            let size = Size { scale, edgefactor: 16, weighted: false };
            let close = |predicted: u64, expected: u64| {
                let off = predicted.abs_diff(expected) as f64 / expected as f64;
                assert!(off < within, "{scale}: {predicted} {expected}");
            };
            close(size.vertices(), vertices);
            close(size.neighbours(), 2 * distinct);
        }
    }

    #[test]
    fn a_small_graph_stays_within_its_bounds() {
        let size = Size { scale: 1, edgefactor: 1000, weighted: true };
        assert!(size.vertices() <= 2 && size.neighbours() <= 2, "{size:?}");
    }

    #[test]
    fn the_largest_graph_is_predicted_without_overflow() {
        let size = Size { scale: 31, edgefactor: 1 << 20, weighted: true };
        assert!(size.footprint(64).peak() > 1 << 54);
    }
}
