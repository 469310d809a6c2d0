//! The graph that searches walk on: compressed rows of neighbours, with vertices renumbered.
//!
//! Vertices without edges have no number. The others are numbered by falling degree: neighbours in
//! ascending order are then in falling order of degree, so that a search from below meets a
//! vertex of the frontier soon, and bitmaps of the busy vertices share cache lines.

use std::ops::Range;

use assay_kernel::anonymous_memory::Pages;

/// No vertex: an isolated label in `rank`, an unreached vertex in a tree.
pub(super) const NONE: u32 = u32::MAX;

/// A graph. Labels are those of the edge list, numbers are its own.
#[derive(Debug)]
pub(super) struct Graph {
    /// Label -> number, `NONE` for isolated ones; as long as the largest label needs.
    pub(super) rank: Pages<u32>,
    /// Number -> label.
    pub(super) order: Pages<u32>,
    /// Where each row begins, and at last where all end.
    pub(super) offsets: Pages<u64>,
    /// The rows: numbers in ascending order, each once.
    pub(super) neighbours: Pages<u32>,
    /// The least weight of the tuples behind each neighbour, where kernel 3 is run.
    pub(super) weights: Option<Pages<f32>>,
    /// The first neighbour of each vertex: the only one that most vertices are ever asked for.
    pub(super) heads: Pages<u32>,
}

impl Graph {
    /// How many labels there may be: the largest one and one.
    pub(super) fn labels(&self) -> usize {
        self.rank.len()
    }

    /// How many vertices have edges.
    pub(super) fn vertices(&self) -> usize {
        self.order.len()
    }

    /// The place of a row in `neighbours` and `weights`.
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
