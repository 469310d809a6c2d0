//! The graph for the searches: compressed rows of neighbours, with vertices renumbered.
//!
//! Vertices without edges have no number. The others are numbered by falling degree: neighbours in
//! ascending order are then in falling order of degree, so that a bottom-up search soon meets a
//! vertex of the frontier, and bitmaps of the busy vertices share cache lines.

use std::ops::Range;

use assay_sys::kernel::anonymous_memory::Pages;

/// No vertex: an isolated label in `rank`, an unreached vertex in a tree.
pub(super) const NONE: u32 = u32::MAX;

/// A graph. Labels are those of the edge list, numbers are internal.
#[derive(Debug)]
pub(super) struct Graph {
    /// Label -> number, `NONE` for isolated ones; as long as the largest label requires.
    pub(super) rank: Pages<u32>,
    /// Number -> label.
    pub(super) order: Pages<u32>,
    /// Start of each row, and finally the end of the last one.
    pub(super) offsets: Pages<u64>,
    /// The rows: ascending numbers without duplicates.
    pub(super) neighbours: Pages<u32>,
    /// The minimum weight of the tuples behind each neighbour, if kernel 3 runs.
    pub(super) weights: Option<Pages<f32>>,
    /// The first neighbour of each vertex: for most vertices a search reads no other.
    pub(super) heads: Pages<u32>,
}

impl Graph {
    /// Number of possible labels: the largest one plus one.
    pub(super) fn labels(&self) -> usize {
        self.rank.len()
    }

    /// Number of vertices with edges.
    pub(super) fn vertices(&self) -> usize {
        self.order.len()
    }

    /// The range of a row in `neighbours` and `weights`.
    #[inline]
    pub(super) fn row(&self, vertex: usize) -> Range<usize> {
        self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize
    }

    #[inline]
    pub(super) fn neighbours(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.row(vertex)]
    }

    #[inline]
    pub(super) fn degree(&self, vertex: usize) -> u64 {
        self.offsets[vertex + 1] - self.offsets[vertex]
    }

    /// The number of a label that has an edge to another vertex.
    pub(super) fn number(&self, label: u32) -> Option<u32> {
        self.rank.get(label as usize).copied().filter(|number| *number != NONE)
    }
}
