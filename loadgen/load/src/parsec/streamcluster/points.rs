//! Points of a chunk, laid out so that distances from one point to many can be vectorized.
//!
//! Coordinates are stored in tiles of [`LANES`] points: for each dimension the coordinates of all
//! of them. A distance is still the sum over the dimensions in order, to the bit that of a loop
//! over one point, and memory is read sequentially.

use assay_sys::kernel::anonymous_memory::{HugePages, Pages};

use crate::failure::Failure;
use crate::vectors::widest;

/// Points per tile: as many sums as keep the adders of a CPU busy.
pub(super) const LANES: usize = 32;

/// Points with their weights.
pub(super) struct Points {
    dimension: usize,
    count: usize,
    tiles: Pages<f32>,
    weights: Pages<f32>,
}

impl Points {
    /// Allocates memory for `capacity` points.
    pub(super) fn allocate(
        capacity: usize,
        dimension: usize,
        huge: HugePages,
    ) -> Result<Self, Failure> {
        let padded = capacity.next_multiple_of(LANES);
        Ok(Self {
            dimension,
            count: 0,
            tiles: Pages::zeroed(padded * dimension, huge)?,
            weights: Pages::zeroed(padded, huge)?,
        })
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a point. There must be capacity left.
    pub(super) fn push(&mut self, row: &[f32], weight: f32) {
        let (tile, lane) = (self.count / LANES, self.count % LANES);
        let start = tile * LANES * self.dimension;
        for (dimension, value) in row.iter().enumerate() {
            self.tiles[start + dimension * LANES + lane] = *value;
        }
        self.weights[self.count] = weight;
        self.count += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(super) fn weights(&self) -> &[f32] {
        &self.weights[..self.count]
    }

    /// Copies the coordinates of one point.
    pub(super) fn row(&self, point: usize, row: &mut [f32]) {
        let start = point / LANES * LANES * self.dimension + point % LANES;
        for (dimension, value) in row.iter_mut().enumerate() {
            *value = self.tiles[start + dimension * LANES];
        }
    }

    /// Squared Euclidean distances from `row` to all points of the tiles `tiles`, [`LANES`] for
    /// each tile.
    pub(super) fn distances(&self, tiles: std::ops::Range<usize>, row: &[f32], to: &mut [f32]) {
        let size = LANES * self.dimension;
        let coordinates = &self.tiles[tiles.start * size..tiles.end * size];
        widest(
            #[inline(always)]
            || {
                for (tile, to) in coordinates.chunks_exact(size).zip(to.chunks_exact_mut(LANES)) {
                    let mut sums = [0.0_f32; LANES];
                    for (lanes, value) in tile.chunks_exact(LANES).zip(row) {
                        for lane in 0..LANES {
                            let difference = lanes[lane] - value;
                            sums[lane] += difference * difference;
                        }
                    }
                    to.copy_from_slice(&sums);
                }
            },
        );
    }

    /// The squared distance of a point from `row`.
    pub(super) fn distance(&self, one: usize, row: &[f32]) -> f32 {
        let mut coordinates = vec![0.0; self.dimension];
        self.row(one, &mut coordinates);
        coordinates.iter().zip(row).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsec::lrand48::Lrand48;

    #[test]
    fn vectorized_distances_equal_those_of_a_loop_to_the_bit() {
        let (count, dimension) = (75, 37);
        let mut random = Lrand48::seeded(2);
        let mut points = Points::allocate(count, dimension, HugePages::System).unwrap();
        for _ in 0..count {
            let row: Vec<f32> = (0..dimension).map(|_| random.unit()).collect();
            points.push(&row, 1.0);
        }
        let mut row = vec![0.0; dimension];
        points.row(41, &mut row);
        let mut actual = vec![0.0; 96];
        points.distances(0..3, &row, &mut actual);
        for (point, actual) in actual.iter().enumerate().take(count) {
            assert_eq!(actual.to_bits(), points.distance(point, &row).to_bits());
        }
        assert_eq!(actual[41], 0.0);
    }
}
