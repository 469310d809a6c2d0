//! Fork-join parallelism. A region starts its threads, each runs the same code on its own share,
//! and the region ends when all are done: no pool, no state between regions.

mod barrier;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use barrier::Barrier;

/// A number of threads to run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParallelRegion {
    size: usize,
}

/// One thread of a region.
pub(crate) struct Worker<'r> {
    /// From 0; worker 0 is the thread that opened the region.
    pub(crate) id: usize,
    size: usize,
    barrier: &'r Barrier,
}

impl Worker<'_> {
    /// Barrier: waits until all workers of the region have arrived. Writes before it are visible to
    /// all workers after it.
    pub(crate) fn wait(&self) {
        self.barrier.wait();
    }

    /// This worker's contiguous part of `0..len`.
    pub(crate) fn share(&self, len: usize) -> Range<usize> {
        share(len, self.id, self.size)
    }
}

impl ParallelRegion {
    /// A region of `size` threads, at least one.
    pub(crate) fn new(size: usize) -> Self {
        Self { size: size.max(1) }
    }

    pub(crate) fn size(self) -> usize {
        self.size
    }

    /// Runs `work` on every thread; returns the results by worker id.
    pub(crate) fn run<R: Send>(self, work: impl Fn(&Worker<'_>) -> R + Sync) -> Vec<R> {
        self.each(vec![(); self.size], |worker, ()| work(worker))
    }

    /// Runs `work` on one thread per part, which lets threads write into disjoint parts of a slice
    /// without atomics.
    pub(crate) fn each<P: Send, R: Send>(
        self,
        parts: Vec<P>,
        work: impl Fn(&Worker<'_>, P) -> R + Sync,
    ) -> Vec<R> {
        let size = parts.len();
        let barrier = Barrier::new(size);
        let call = |id: usize, part: P| {
            let _guard = barrier.broken_by_panic();
            work(&Worker { id, size, barrier: &barrier }, part)
        };
        let mut parts = parts.into_iter().enumerate();
        let Some((_, first)) = parts.next() else { return Vec::new() };
        std::thread::scope(|scope| {
            let call = &call;
            let others: Vec<_> =
                parts.map(|(id, part)| scope.spawn(move || call(id, part))).collect();
            let mut results = vec![call(0, first)];
            for other in others {
                match other.join() {
                    Ok(result) => results.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        })
    }

    /// Splits `0..len` into contiguous parts, one per thread, some of them empty if `len` is small.
    pub(crate) fn shares(self, len: usize) -> Vec<Range<usize>> {
        (0..self.size).map(|id| share(len, id, self.size)).collect()
    }
}

fn share(len: usize, id: usize, size: usize) -> Range<usize> {
    // 128 bits: `len` times the number of threads may not fit a word.
    let cut = |id: usize| (len as u128 * id as u128 / size as u128) as usize;
    cut(id)..cut(id + 1)
}

/// Cuts a slice at the ends of consecutive ranges that cover it.
pub(crate) fn cut<'s, T>(mut slice: &'s mut [T], ranges: &[Range<usize>]) -> Vec<&'s mut [T]> {
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, rest) = slice.split_at_mut(range.len().min(slice.len()));
        parts.push(part);
        slice = rest;
    }
    parts
}

/// Hands out a range in pieces, for work of uneven cost.
pub(crate) struct Pieces {
    next: AtomicUsize,
}

impl Pieces {
    pub(crate) const fn new() -> Self {
        Self { next: AtomicUsize::new(0) }
    }

    /// Starts over; call it between two barriers.
    pub(crate) fn reset(&self) {
        self.next.store(0, Ordering::Relaxed);
    }

    /// The next piece of `range` of at most `step` items, or `None` when the range is exhausted.
    pub(crate) fn take(&self, range: &Range<usize>, step: usize) -> Option<Range<usize>> {
        let start = range.start + self.next.fetch_add(step, Ordering::Relaxed);
        (start < range.end).then(|| start..(start + step).min(range.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn shares_cover_everything_once() {
        for (len, size) in [(0, 3), (1, 4), (10, 3), (usize::MAX, 7)] {
            let shares = ParallelRegion::new(size).shares(len);
            assert_eq!(shares[0].start, 0);
            assert_eq!(shares[size - 1].end, len);
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn writes_before_a_barrier_are_visible_after_it() {
        let region = ParallelRegion::new(4);
        let cells: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(0)).collect();
        let sums = region.run(|worker| {
            let mut sums = Vec::new();
            for round in 1..=100 {
                cells[worker.id].store(round, Ordering::Relaxed);
                worker.wait();
                sums.push(cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum::<u32>());
                worker.wait();
            }
            sums
        });
        let expected: Vec<u32> = (1..=100).map(|round| round * 4).collect();
        assert!(sums.iter().all(|results| *results == expected));
    }

    #[test]
    fn a_panic_in_one_worker_ends_the_region() {
        let ended = std::panic::catch_unwind(|| {
            ParallelRegion::new(3).run(|worker| {
                assert!(worker.id != 1, "worker 1 fails");
                worker.wait();
            });
        });
        assert!(ended.is_err());
    }

    #[test]
    fn pieces_cover_a_range_once() {
        let pieces = Pieces::new();
        let mut covered = Vec::new();
        while let Some(piece) = pieces.take(&(5..22), 4) {
            covered.extend(piece);
        }
        assert_eq!(covered, (5..22).collect::<Vec<_>>());
    }

    #[test]
    fn a_slice_is_cut_at_the_ranges() {
        let mut items = [1, 2, 3, 4, 5];
        let shares = ParallelRegion::new(2).shares(5);
        let parts = cut(&mut items, &shares);
        assert_eq!(parts, [&mut [1, 2][..], &mut [3, 4, 5][..]]);
    }
}
