//! Kernel 1: from the edge list to the graph.
//!
//! No thread ever writes where another does, so that there are no atomic operations in the inner
//! loops: each thread owns a range of labels, reads all edges, and counts and places the ends that
//! are its own. A fetch-and-add would drain the store buffer, full of cache misses, at each edge.

mod number;
mod rows;

use assay_kernel::Error;
use assay_kernel::anonymous_memory::{HugePages, Pages, shared_f32_bits, shared_u32};
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::graph::{Graph, NONE};
use super::kronecker::EdgeList;
use crate::parallel_region::{ParallelRegion, cut};

/// Builds the graph of `edges`. It is given the list and nothing else; the number of vertices is
/// found in it.
pub(super) fn construct(
    team: ParallelRegion,
    edges: &EdgeList,
    huge: HugePages,
) -> Result<Graph, Error> {
    let labels = team
        .run(|worker| {
            let own = &edges.pairs[worker.share(edges.pairs.len())];
            own.iter().map(|[from, to]| (*from).max(*to)).max()
        })
        .into_iter()
        .flatten()
        .max()
        .map_or(0, |largest| largest as usize + 1);
    let owned = team.shares(labels);

    let mut degrees = Pages::zeroed(labels, huge)?;
    count(team, edges, &owned, &mut degrees);
    let mut rank = Pages::zeroed(labels, huge)?;
    let order = number::by_falling_degree(team, &degrees, &mut rank, huge)?;
    let mut offsets = number::offsets(team, &order, &degrees, huge)?;
    drop(degrees);

    let ends = offsets.last().map_or(0, |end| *end as usize);
    let mut neighbours = Pages::zeroed(ends, huge)?;
    let mut weights = edges.weights.as_ref().map(|_| Pages::zeroed(ends, huge)).transpose()?;
    let mut cursors = Pages::zeroed(labels, huge)?;
    start_cursors(team, &rank, &offsets, &owned, &mut cursors);
    place(team, edges, &rank, &owned, &mut cursors, &mut neighbours, weights.as_deref_mut());
    drop(cursors);

    rows::sort_and_merge(team, &mut offsets, &mut neighbours, weights.as_deref_mut());
    let kept = offsets.last().map_or(0, |end| *end as usize);
    neighbours.shrink(kept);
    if let Some(weights) = &mut weights {
        weights.shrink(kept);
    }
    let heads = rows::heads(team, &offsets, &neighbours, huge)?;
    Ok(Graph { rank, order, offsets, neighbours, weights, heads })
}

/// Counts the ends of each label, loops left out.
fn count(team: ParallelRegion, edges: &EdgeList, owned: &[Range<usize>], degrees: &mut [u32]) {
    let parts = owned.iter().zip(cut(degrees, owned)).collect();
    team.each(parts, |_, (labels, degrees)| {
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
    team: ParallelRegion,
    rank: &[u32],
    offsets: &[u64],
    owned: &[Range<usize>],
    cursors: &mut [u64],
) {
    let parts = owned.iter().zip(cut(cursors, owned)).collect();
    team.each(parts, |_, (labels, cursors)| {
        for (cursor, number) in cursors.iter_mut().zip(&rank[labels.clone()]) {
            if *number != NONE {
                *cursor = offsets[*number as usize];
            }
        }
    });
}

/// Writes each edge into the rows of both its ends. The rows of a thread's labels lie scattered,
/// so they are reached as atomics, with plain stores: no two threads have the same place.
fn place(
    team: ParallelRegion,
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
    team.each(parts, |_, (labels, cursors)| {
        let first = labels.start as u32;
        let mut put = |row: u32, neighbour: u32, edge: usize| {
            let Some(cursor) = cursors.get_mut(row.wrapping_sub(first) as usize) else { return };
            let at = *cursor as usize;
            *cursor += 1;
            neighbours[at].store(rank[neighbour as usize], Ordering::Relaxed);
            if let (Some(weights), Some(given)) = (weights, &edges.weights) {
                weights[at].store(given[edge].to_bits(), Ordering::Relaxed);
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
