//! Numbers the vertices by falling degree, equal degrees by label.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::Ordering;

use assay_sys::kernel::Error;
use assay_sys::kernel::anonymous_memory::{HugePages, Pages, shared_u32};

use crate::graph500::graph::NONE;
use crate::parallel_region::{ParallelRegion, cut};

/// Degrees from here on share a bucket and are sorted by comparison: there are few.
const BUCKETS: usize = 1 << 12;

/// Numbers the labels with a degree: fills `rank` and returns its inverse.
pub(super) fn by_falling_degree(
    region: ParallelRegion,
    degrees: &[u32],
    rank: &mut [u32],
    huge: HugePages,
) -> Result<Pages<u32>, Error> {
    let shares = region.shares(degrees.len());
    let counts = region.run(|worker| histogram(&degrees[worker.share(degrees.len())]));
    let (starts, busy, vertices) = starts(&counts);

    let mut order = Pages::zeroed(vertices, huge)?;
    let places = shared_u32(&mut order);
    let parts = shares.iter().cloned().zip(starts).collect();
    region.each(parts, |_, (labels, mut next): (Range<usize>, Vec<usize>)| {
        for label in labels {
            if degrees[label] > 0 {
                let place = &mut next[bucket(degrees[label])];
                places[*place].store(label as u32, Ordering::Relaxed);
                *place += 1;
            }
        }
    });
    order[..busy].sort_unstable_by_key(|label| (Reverse(degrees[*label as usize]), *label));
    invert(region, &order, rank);
    Ok(order)
}

/// Bucket of a degree: the busiest vertices first.
fn bucket(degree: u32) -> usize {
    BUCKETS - 1 - (degree as usize).min(BUCKETS - 1)
}

fn histogram(degrees: &[u32]) -> Vec<usize> {
    let mut counts = vec![0; BUCKETS];
    for degree in degrees.iter().filter(|degree| **degree > 0) {
        counts[bucket(*degree)] += 1;
    }
    counts
}

/// Write positions of each thread in each bucket; the number of labels in the first bucket; the
/// total number.
fn starts(counts: &[Vec<usize>]) -> (Vec<Vec<usize>>, usize, usize) {
    let mut starts = vec![vec![0; BUCKETS]; counts.len()];
    let (mut sum, mut busy) = (0, 0);
    for bucket in 0..BUCKETS {
        for (own, counts) in starts.iter_mut().zip(counts) {
            own[bucket] = sum;
            sum += counts[bucket];
        }
        if bucket == 0 {
            busy = sum;
        }
    }
    (starts, busy, sum)
}

fn invert(region: ParallelRegion, order: &[u32], rank: &mut [u32]) {
    let shares = region.shares(rank.len());
    region.each(cut(rank, &shares), |_, part| part.fill(NONE));
    let rank = shared_u32(rank);
    region.run(|worker| {
        for number in worker.share(order.len()) {
            rank[order[number] as usize].store(number as u32, Ordering::Relaxed);
        }
    });
}

/// Start of each row when rows are as long as their degree.
pub(super) fn offsets(
    region: ParallelRegion,
    order: &[u32],
    degrees: &[u32],
    huge: HugePages,
) -> Result<Pages<u64>, Error> {
    let mut offsets = Pages::zeroed(order.len() + 1, huge)?;
    let degree = |label: &u32| u64::from(degrees[*label as usize]);
    let sums =
        region.run(|worker| order[worker.share(order.len())].iter().map(degree).sum::<u64>());
    let mut before = 0;
    let starts: Vec<u64> = sums
        .iter()
        .map(|sum| {
            before += sum;
            before - sum
        })
        .collect();
    let shares = region.shares(order.len());
    // The first offset is zero; each row writes its end.
    let parts = shares.iter().zip(cut(&mut offsets[1..], &shares)).zip(starts).collect();
    region.each(parts, |_, ((numbers, ends), mut sum)| {
        for (end, label) in ends.iter_mut().zip(&order[numbers.clone()]) {
            sum += degree(label);
            *end = sum;
        }
    });
    Ok(offsets)
}
