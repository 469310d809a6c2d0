//! Kernel 1: builds the graph from the edge list.
//!
//! No thread ever writes where another does, so that the inner loops need no atomic operations:
//! each thread owns a range of labels, reads all edges, and counts and places the ends in its own
//! range. A fetch-and-add would drain the store buffer, full of cache misses, at each edge.

mod number;
mod rows;

use assay_sys::kernel::Error;
use assay_sys::kernel::anonymous_memory::{HugePages, Pages, shared_f32_bits, shared_u32};
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::graph::{Graph, NONE};
use super::kronecker::EdgeList;
use crate::parallel_region::{ParallelRegion, cut};

/// Builds the graph of `edges`. The list is its only input; the number of vertices is computed from
/// it.
pub(super) fn construct(
    region: ParallelRegion,
    edges: &EdgeList,
    huge: HugePages,
) -> Result<Graph, Error> {
    let labels = region
        .run(|worker| {
            let own = &edges.pairs[worker.share(edges.pairs.len())];
            own.iter().map(|[from, to]| (*from).max(*to)).max()
        })
        .into_iter()
        .flatten()
        .max()
        .map_or(0, |largest| largest as usize + 1);
    let owned = region.shares(labels);

    let mut degrees = Pages::zeroed(labels, huge)?;
    count(region, edges, &owned, &mut degrees);
    let mut rank = Pages::zeroed(labels, huge)?;
    let order = number::by_falling_degree(region, &degrees, &mut rank, huge)?;
    let mut offsets = number::offsets(region, &order, &degrees, huge)?;
    drop(degrees);

    let ends = offsets.last().map_or(0, |end| *end as usize);
    let mut neighbours = Pages::zeroed(ends, huge)?;
    let mut weights = edges.weights.as_ref().map(|_| Pages::zeroed(ends, huge)).transpose()?;
    let mut cursors = Pages::zeroed(labels, huge)?;
    start_cursors(region, &rank, &offsets, &owned, &mut cursors);
    place_edges(
        region,
        edges,
        &rank,
        &owned,
        &mut cursors,
        &mut neighbours,
        weights.as_deref_mut(),
    );
    drop(cursors);

    rows::sort_and_merge(region, &mut offsets, &mut neighbours, weights.as_deref_mut());
    let kept = offsets.last().map_or(0, |end| *end as usize);
    neighbours.shrink(kept);
    if let Some(weights) = &mut weights {
        weights.shrink(kept);
    }
    let heads = rows::heads(region, &offsets, &neighbours, huge)?;
    Ok(Graph { rank, order, offsets, neighbours, weights, heads })
}

/// Counts the ends of each label, excluding loops.
fn count(region: ParallelRegion, edges: &EdgeList, owned: &[Range<usize>], degrees: &mut [u32]) {
    let parts = owned.iter().zip(cut(degrees, owned)).collect();
    region.each(parts, |_, (labels, degrees)| {
        let first = labels.start as u32;
        for [from, to] in edges.pairs.iter().filter(|[from, to]| from != to) {
            // A label below the own range wraps around and is then above it.
            if let Some(degree) = degrees.get_mut(from.wrapping_sub(first) as usize) {
                *degree += 1;
            }
            if let Some(degree) = degrees.get_mut(to.wrapping_sub(first) as usize) {
                *degree += 1;
            }
        }
    });
}

/// Sets each label's cursor to the start of its row.
fn start_cursors(
    region: ParallelRegion,
    rank: &[u32],
    offsets: &[u64],
    owned: &[Range<usize>],
    cursors: &mut [u64],
) {
    let parts = owned.iter().zip(cut(cursors, owned)).collect();
    region.each(parts, |_, (labels, cursors)| {
        for (cursor, number) in cursors.iter_mut().zip(&rank[labels.clone()]) {
            if *number != NONE {
                *cursor = offsets[*number as usize];
            }
        }
    });
}

/// Writes each edge into the rows of both its ends. The rows of a thread's labels are scattered, so
/// they are accessed as atomics with plain stores: no two threads write the same element.
fn place_edges(
    region: ParallelRegion,
    edges: &EdgeList,
    rank: &[u32],
    owned: &[Range<usize>],
    cursors: &mut [u64],
    neighbours: &mut [u32],
    weights: Option<&mut [f32]>,
) {
    let neighbours = shared_u32(neighbours);
    let weights = weights.map(shared_f32_bits);
    let parts = owned.iter().zip(cut(cursors, owned)).collect();
    region.each(parts, |_, (labels, cursors)| {
        let first = labels.start as u32;
        let mut put = |row: u32, neighbour: u32, edge: usize| {
            let Some(cursor) = cursors.get_mut(row.wrapping_sub(first) as usize) else { return };
            let at = *cursor as usize;
            *cursor += 1;
            neighbours[at].store(rank[neighbour as usize], Ordering::Relaxed);
            if let (Some(weights), Some(edge_weights)) = (weights, &edges.weights) {
                weights[at].store(edge_weights[edge].to_bits(), Ordering::Relaxed);
            }
        };
        for (edge, [from, to]) in edges.pairs.iter().enumerate() {
            if from != to {
                put(*from, *to, edge);
                put(*to, *from, edge);
            }
        }
    });
}

#[cfg(test)]
mod tests;
