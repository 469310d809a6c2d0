//! Centres: points merged into them, kept from chunk to chunk, written at the end.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::points::Points;
use super::search::Solution;
use crate::failure::Failure;

/// A centre with its weight, position and id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Center {
    /// The position of its point in the stream, after its chunk was shuffled.
    pub(super) id: u64,
    /// The sum of the weights of its points.
    pub(super) weight: f32,
    /// Their weighted mean.
    pub(super) row: Vec<f32>,
}

/// The centres of a chunk, with all points merged into them, in the order of the chunk. `id` gives
/// the id of the point at a position of that order.
pub(super) fn merged(
    points: &Points,
    solution: &Solution,
    id: impl Fn(usize) -> u64,
) -> Vec<Center> {
    let weights = points.weights();
    let mut centers: Vec<Center> = Vec::with_capacity(solution.centers);
    let mut index = std::collections::BTreeMap::new();
    for (position, &point) in solution.order.iter().enumerate() {
        if solution.assigned[point as usize] == point {
            let mut row = vec![0.0; points.dimension()];
            points.row(point as usize, &mut row);
            index.insert(point, centers.len());
            centers.push(Center { id: id(position), weight: weights[point as usize], row });
        }
    }
    let mut row = vec![0.0; points.dimension()];
    for &point in &solution.order {
        let center = solution.assigned[point as usize];
        if let Some(&at) = index.get(&center).filter(|_| center != point) {
            points.row(point as usize, &mut row);
            centers[at].add(&row, weights[point as usize]);
        }
    }
    centers
}

impl Center {
    fn add(&mut self, row: &[f32], weight: f32) {
        let part = weight / (self.weight + weight);
        // The constant 1 of the original is of double precision, everything else of single.
        let rest = 1.0 - f64::from(part);
        for (own, other) in self.row.iter_mut().zip(row) {
            *own = (f64::from(*own) * rest) as f32 + other * part;
        }
        self.weight += weight;
    }
}

/// Writes centres: id, weight and coordinates on separate lines, then an empty one.
pub(super) fn write(path: &Path, centers: &[Center]) -> Result<(), Failure> {
    let done = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        for center in centers {
            writeln!(file, "{}\n{:.6}", center.id, center.weight)?;
            for value in &center.row {
                write!(file, "{value:.6} ")?;
            }
            writeln!(file, "\n")?;
        }
        file.flush()
    });
    done.map_err(|error| Failure::Ended {
        what: format!("write {}: {error}", path.display()),
        remedy: "name a writable path with free space".to_owned(),
    })
}
