//! Kernel 3: shortest paths by weight from one root, by delta-stepping (Meyer and Sanders 2003).
//! The bucket is a bitmap of changed vertices, scanned for those that are near.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use assay_sys::kernel::anonymous_memory::{
    HugePages, Pages, shared_f32_bits, shared_u32, shared_u64,
};
use assay_sys::kernel::{Error, clock};

use super::bitmap::{Bitmap, members, words};
use super::graph::{Graph, NONE};
use crate::parallel_region::{ParallelRegion, Pieces, Worker};

/// The width of a bucket, as a multiple of the mean distance between relevant neighbours: with
/// weights evenly distributed in 0..1 the lightest of `d` edges weighs 1/d.
const WIDTH: f32 = 2.0;

/// Memory of the searches, reused by all of them.
pub(super) struct Paths<'g> {
    graph: &'g Graph,
    region: ParallelRegion,
    /// The distance's bits above the number of the parent: one word, so that both change
    /// atomically.
    states: Pages<u64>,
    /// Vertices whose last distance has not been propagated to their neighbours.
    changed: Pages<u64>,
    delta: f32,
}

/// Not reached: farther than every distance.
const FAR: u64 = (f32::INFINITY.to_bits() as u64) << 32 | NONE as u64;

impl<'g> Paths<'g> {
    pub(super) fn new(
        region: ParallelRegion,
        graph: &'g Graph,
        huge: HugePages,
    ) -> Result<Self, Error> {
        let vertices = graph.vertices();
        let mean_degree = graph.neighbours.len() as f32 / vertices.max(1) as f32;
        Ok(Self {
            graph,
            region,
            states: Pages::zeroed(vertices, huge)?,
            changed: Pages::zeroed(words(vertices), huge)?,
            delta: WIDTH / mean_degree.max(1.0),
        })
    }

    /// Searches from the label `root`; writes each label's parent and distance, `NONE` and infinity
    /// where there is no path. Returns the duration in seconds, including clearing and writing.
    pub(super) fn run(&mut self, root: u32, tree: &mut [u32], distances: &mut [f32]) -> f64 {
        let Some(number) = self.graph.number(root) else {
            tree.fill(NONE);
            distances.fill(f32::INFINITY);
            return 0.0;
        };
        let state = SearchState {
            graph: self.graph,
            weights: self.graph.weights.as_deref().unwrap_or_default(),
            states: shared_u64(&mut self.states),
            changed: Bitmap(shared_u64(&mut self.changed)),
            tree: shared_u32(tree),
            distances: shared_f32_bits(distances),
            delta: self.delta,
            rounds: [const { Round::new() }; 3],
        };
        self.region.run(|worker| state.search(worker, number))[0]
    }
}

/// Shared results of one pass over the bitmap.
#[repr(align(128))]
struct Round {
    pieces: Pieces,
    /// Whether any vertex was in the bucket: its neighbours may be in it, or be the next, in a part
    /// of the bitmap that was already passed.
    again: AtomicBool,
    /// The bits of the minimum distance beyond the bucket.
    next: AtomicU32,
}

impl Round {
    const fn new() -> Self {
        Self {
            pieces: Pieces::new(),
            again: AtomicBool::new(false),
            next: AtomicU32::new(f32::INFINITY.to_bits()),
        }
    }

    fn reset(&self) {
        self.pieces.reset();
        self.again.store(false, Ordering::Relaxed);
        self.next.store(f32::INFINITY.to_bits(), Ordering::Relaxed);
    }
}

/// State of a search shared by its threads.
struct SearchState<'r> {
    graph: &'r Graph,
    weights: &'r [f32],
    states: &'r [AtomicU64],
    changed: Bitmap<'r>,
    tree: &'r [AtomicU32],
    distances: &'r [AtomicU32],
    delta: f32,
    /// This round, the next one and the previous one, in rotation.
    rounds: [Round; 3],
}

fn distance_of(state: u64) -> f32 {
    f32::from_bits((state >> 32) as u32)
}

impl SearchState<'_> {
    fn search(&self, worker: &Worker<'_>, root: u32) -> f64 {
        worker.wait();
        let began = clock::monotonic_ns();
        self.clear(worker);
        worker.wait();
        if worker.id == 0 {
            self.states[root as usize].store(u64::from(root), Ordering::Relaxed);
            self.changed.insert(root);
        }
        worker.wait();
        let (mut pass, mut bound) = (0, self.delta);
        loop {
            let round = &self.rounds[pass % 3];
            if worker.id == 0 {
                self.rounds[(pass + 1) % 3].reset();
            }
            self.settle(round, bound);
            worker.wait();
            pass += 1;
            if round.again.load(Ordering::Relaxed) {
                continue;
            }
            let next = f32::from_bits(round.next.load(Ordering::Relaxed));
            if next == f32::INFINITY {
                break;
            }
            // A bucket so narrow that it is lost in rounding would loop for ever.
            bound = (next + self.delta).max(next.next_up());
        }
        self.write(worker);
        worker.wait();
        (clock::monotonic_ns() - began) as f64 * 1e-9
    }

    fn clear(&self, worker: &Worker<'_>) {
        self.changed.clear(worker.share(self.changed.0.len()));
        self.states[worker.share(self.states.len())]
            .iter()
            .for_each(|state| state.store(FAR, Ordering::Relaxed));
        for label in worker.share(self.tree.len()) {
            self.tree[label].store(NONE, Ordering::Relaxed);
            self.distances[label].store(f32::INFINITY.to_bits(), Ordering::Relaxed);
        }
    }

    /// Relaxes the edges of all changed vertices nearer than `bound`.
    fn settle(&self, round: &Round, bound: f32) {
        const STEP: usize = 16;
        let mut again = false;
        let mut next = f32::INFINITY;
        while let Some(piece) = round.pieces.take(&(0..self.changed.0.len()), STEP) {
            for at in piece {
                for vertex in members(at, self.changed.word(at)) {
                    let distance = self.distance(vertex);
                    if distance < bound {
                        self.relax(vertex);
                        again = true;
                    } else {
                        next = next.min(distance);
                    }
                }
            }
        }
        if again {
            round.again.store(true, Ordering::Relaxed);
        }
        round.next.fetch_min(next.to_bits(), Ordering::Relaxed);
    }

    fn distance(&self, vertex: u32) -> f32 {
        distance_of(self.states[vertex as usize].load(Ordering::Acquire))
    }

    /// Relaxes the edges of one vertex.
    fn relax(&self, vertex: u32) {
        // The mark is cleared before the distance is read: a thread that shortens it in between
        // sets the mark again.
        let mask = 1u64 << (vertex % 64);
        self.changed.0[vertex as usize / 64].fetch_and(!mask, Ordering::AcqRel);
        let distance = self.distance(vertex);
        let row = self.graph.row(vertex as usize);
        let neighbours = self.graph.neighbours[row.clone()].iter().zip(&self.weights[row]);
        for (&neighbour, weight) in neighbours {
            if self.shorten(neighbour, distance + weight, vertex) {
                self.changed.insert(neighbour);
            }
        }
    }

    /// Records a distance that is strictly less than the known one, with its parent. Strictly, so
    /// that parents of equal distance never point at each other.
    #[inline]
    fn shorten(&self, vertex: u32, distance: f32, parent: u32) -> bool {
        let state = &self.states[vertex as usize];
        let mut known = state.load(Ordering::Relaxed);
        while distance < distance_of(known) {
            let better = u64::from(distance.to_bits()) << 32 | u64::from(parent);
            match state.compare_exchange_weak(known, better, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => known = other,
            }
        }
        false
    }

    /// Writes the result by label.
    fn write(&self, worker: &Worker<'_>) {
        for vertex in worker.share(self.states.len()) {
            let state = self.states[vertex].load(Ordering::Relaxed);
            let (label, parent) = (self.graph.order[vertex] as usize, state as u32);
            if parent != NONE {
                let parent = self.graph.order[parent as usize];
                self.tree[label].store(parent, Ordering::Relaxed);
                self.distances[label].store((state >> 32) as u32, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph500::construct::construct;
    use crate::graph500::dialect::Dialect;
    use crate::graph500::kronecker::{EdgeList, Kronecker};
    use crate::graph500::trees::{distances as plain, edge_list};
    use crate::graph500::validate::Validator;
    use crate::output::Silence;
    use proptest::prelude::*;

    /// Distances from a root, after the validator has accepted them and their tree.
    fn distances_from(edges: &EdgeList, root: u32, threads: usize) -> Vec<f32> {
        let region = ParallelRegion::new(threads);
        let graph = construct(region, edges, HugePages::System).unwrap();
        let mut tree = vec![0; graph.labels()];
        let mut distances = vec![0.0; graph.labels()];
        let mut paths = Paths::new(region, &graph, HugePages::System).unwrap();
        for _ in 0..2 {
            paths.run(root, &mut tree, &mut distances);
        }
        Validator::new(region, edges, graph.labels(), HugePages::System)
            .unwrap()
            .paths(root, &tree, &distances)
            .unwrap();
        distances
    }

    #[test]
    fn distances_are_exact_for_any_number_of_threads() {
        let edges = Kronecker::new(9, Dialect::V3, None)
            .generate(ParallelRegion::new(2), 16 << 9, true, HugePages::System, &Silence)
            .unwrap();
        let root = edges.pairs.iter().find(|[a, b]| a != b).unwrap()[0];
        for threads in [1, 2, 4] {
            let distances = distances_from(&edges, root, threads);
            assert_eq!(distances, plain(&edges, distances.len(), root), "{threads} threads");
        }
    }

    /// Weights of zero, and weights that are lost in rounding when added to a distance.
    #[test]
    fn edges_without_weight_make_no_cycles() {
        let tuples = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 2), (0, 4)];
        let weights = [0.5, 0.0, 1e-12, 0.0, 0.0, 0.0, 1.0];
        let distances = distances_from(&edge_list(&tuples, Some(&weights)), 0, 3);
        assert_eq!(distances, [0.0, 0.5, 0.5, 0.5, 0.5]);
    }

    proptest! {
        #[test]
        fn distances_match_a_naive_search(
            tuples in prop::collection::vec((0u32..60, 0u32..60, 0u32..1000), 1..300),
            threads in 1usize..4,
        ) {
            let pairs: Vec<(u32, u32)> = tuples.iter().map(|(a, b, _)| (*a, *b)).collect();
            let weights: Vec<f32> = tuples.iter().map(|(_, _, w)| *w as f32 / 1000.0).collect();
            let edges = edge_list(&pairs, Some(&weights));
            let Some((root, _)) = pairs.iter().find(|(a, b)| a != b) else { return Ok(()) };
            let distances = distances_from(&edges, *root, threads);
            prop_assert_eq!(&distances, &plain(&edges, distances.len(), *root));
        }
    }
}
