//! Finishes the rows: sorted, without duplicates, and without gaps between rows.

use std::ops::Range;

use assay_sys::kernel::Error;
use assay_sys::kernel::anonymous_memory::{HugePages, Pages};

use crate::parallel_region::{ParallelRegion, cut};

/// Sorts each row, keeps each neighbour once with its minimum weight, and closes the gaps.
/// `offsets` are updated to the result.
pub(super) fn sort_and_merge(
    region: ParallelRegion,
    offsets: &mut [u64],
    neighbours: &mut [u32],
    weights: Option<&mut [f32]>,
) {
    let vertices = offsets.len().saturating_sub(1);
    let shares = balanced(region, offsets);
    let places: Vec<Range<usize>> =
        shares.iter().map(|s| offsets[s.start] as usize..offsets[s.end] as usize).collect();
    let mut weights = weights;
    let own_weights: Vec<Option<&mut [f32]>> = match weights.as_deref_mut() {
        Some(weights) => cut(weights, &places).into_iter().map(Some).collect(),
        None => places.iter().map(|_| None).collect(),
    };
    let starts: Vec<u64> = places.iter().map(|place| place.start as u64).collect();
    let parts = cut(&mut offsets[1..], &shares)
        .into_iter()
        .zip(cut(neighbours, &places))
        .zip(own_weights)
        .zip(starts)
        .collect();
    let kept = region.each(parts, |_, (((ends, neighbours), weights), start)| match weights {
        Some(weights) => merge_weighted(ends, start, neighbours, weights),
        None => merge(ends, start, neighbours, vertices),
    });
    close_gaps(neighbours, &places, &kept);
    if let Some(weights) = weights {
        close_gaps(weights, &places, &kept);
    }
    let mut before = 0;
    let bases: Vec<u64> = kept
        .iter()
        .map(|kept| {
            before += *kept as u64;
            before - *kept as u64
        })
        .collect();
    let parts = cut(&mut offsets[1..], &shares).into_iter().zip(bases).collect();
    region.each(parts, |_, (ends, base)| ends.iter_mut().for_each(|end| *end += base));
}

/// Ranges of vertices with about the same number of ends each.
fn balanced(region: ParallelRegion, offsets: &[u64]) -> Vec<Range<usize>> {
    let vertices = offsets.len().saturating_sub(1);
    let all = offsets.last().copied().unwrap_or(0);
    let cut = |id: usize| {
        let target = (u128::from(all) * id as u128 / region.size() as u128) as u64;
        if id == region.size() {
            vertices
        } else {
            offsets[..vertices].partition_point(|at| *at < target)
        }
    };
    (0..region.size()).map(|id| cut(id)..cut(id + 1)).collect()
}

/// Rows with at least this many ends per bitmap bit are sorted by marking bits.
const DENSE: usize = 32;

/// Sorts and merges the rows of one thread towards the start of its part; `ends` become relative to
/// that start. Returns the number of remaining neighbours.
fn merge(ends: &mut [u64], start: u64, neighbours: &mut [u32], vertices: usize) -> usize {
    let mut marks = vec![0u64; vertices.div_ceil(64)];
    let (mut read, mut kept) = (0, 0);
    for end in ends {
        let until = (*end - start) as usize;
        let row = &mut neighbours[read..until];
        let length = if row.len() * DENSE >= vertices {
            by_marks(row, &mut marks)
        } else {
            row.sort_unstable();
            once(row)
        };
        neighbours.copy_within(read..read + length, kept);
        kept += length;
        read = until;
        *end = kept as u64;
    }
    kept
}

/// Sorts a long row by marking its members in a bitmap and reading them back: no comparisons, and
/// duplicates vanish. Leaves the bitmap empty.
fn by_marks(row: &mut [u32], marks: &mut [u64]) -> usize {
    for member in row.iter() {
        marks[*member as usize / 64] |= 1 << (member % 64);
    }
    let mut length = 0;
    for (at, word) in marks.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
        while *word != 0 {
            row[length] = at as u32 * 64 + word.trailing_zeros();
            length += 1;
            *word &= *word - 1;
        }
    }
    length
}

/// Removes duplicates of a sorted row; returns the number of distinct neighbours.
fn once(row: &mut [u32]) -> usize {
    let mut kept = 0;
    for at in 0..row.len() {
        if at == 0 || row[at] != row[kept - 1] {
            row[kept] = row[at];
            kept += 1;
        }
    }
    kept
}

/// The same with weights: of equal neighbours the lightest is kept, since no shortest path uses
/// another.
fn merge_weighted(
    ends: &mut [u64],
    start: u64,
    neighbours: &mut [u32],
    weights: &mut [f32],
) -> usize {
    let mut row: Vec<u64> = Vec::new();
    let (mut read, mut kept) = (0, 0);
    for end in ends {
        let until = (*end - start) as usize;
        row.clear();
        // Weights are not negative, so that their bits are in the order of their values.
        let pairs = neighbours[read..until].iter().zip(&weights[read..until]);
        row.extend(pairs.map(|(to, weight)| u64::from(*to) << 32 | u64::from(weight.to_bits())));
        row.sort_unstable();
        row.dedup_by_key(|pair| *pair >> 32);
        for pair in &row {
            neighbours[kept] = (pair >> 32) as u32;
            weights[kept] = f32::from_bits(*pair as u32);
            kept += 1;
        }
        read = until;
        *end = kept as u64;
    }
    kept
}

/// Moves each thread's remaining items next to those of the previous thread.
fn close_gaps<T: Copy>(items: &mut [T], places: &[Range<usize>], kept: &[usize]) {
    let mut end = 0;
    for (place, kept) in places.iter().zip(kept) {
        items.copy_within(place.start..place.start + kept, end);
        end += kept;
    }
}

/// The first neighbour of each row; no row is empty, since isolated labels have none.
pub(super) fn heads(
    region: ParallelRegion,
    offsets: &[u64],
    neighbours: &[u32],
    huge: HugePages,
) -> Result<Pages<u32>, Error> {
    let vertices = offsets.len().saturating_sub(1);
    let mut heads = Pages::zeroed(vertices, huge)?;
    let shares = region.shares(vertices);
    let parts = shares.iter().zip(cut(&mut heads, &shares)).collect();
    region.each(parts, |_, (numbers, heads)| {
        for (head, start) in heads.iter_mut().zip(&offsets[numbers.clone()]) {
            *head = neighbours[*start as usize];
        }
    });
    Ok(heads)
}
