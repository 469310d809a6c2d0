//! Threads that work on one thing together. A region starts them, each runs the same code with
//! its own share, and the region ends when all are done: no pool, no state between regions.

mod barrier;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use barrier::Barrier;

/// How many threads work together.
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
    /// Waits until all workers of the region are here. Everything written before by any of them
    /// is seen after it by all.
    pub(crate) fn wait(&self) {
        self.barrier.wait();
    }

    /// This worker's contiguous part of `0..len`.
    pub(crate) fn share(&self, len: usize) -> Range<usize> {
        share(len, self.id, self.size)
    }
}

impl ParallelRegion {
    /// A team of `size` threads, at least one.
    pub(crate) fn of(size: usize) -> Self {
        Self { size: size.max(1) }
    }

    pub(crate) fn size(self) -> usize {
        self.size
    }

    /// Runs `work` on every thread and returns what each of them has found, by its number.
    pub(crate) fn run<R: Send>(self, work: impl Fn(&Worker<'_>) -> R + Sync) -> Vec<R> {
        self.each(vec![(); self.size], |worker, ()| work(worker))
    }

    /// Runs `work` on as many threads as there are parts, each with a part of its own: the way to
    /// let threads write into one slice without atomics.
    pub(crate) fn each<P: Send, R: Send>(
        self,
        parts: Vec<P>,
        work: impl Fn(&Worker<'_>, P) -> R + Sync,
    ) -> Vec<R> {
        let size = parts.len();
        let barrier = Barrier::of(size);
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
            let mut found = vec![call(0, first)];
            for other in others {
                match other.join() {
                    Ok(result) => found.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            found
        })
    }

    /// `0..len` cut into contiguous parts, one a thread, some of them empty when there is little.
    pub(crate) fn shares(self, len: usize) -> Vec<Range<usize>> {
        (0..self.size).map(|id| share(len, id, self.size)).collect()
    }
}

fn share(len: usize, id: usize, size: usize) -> Range<usize> {
    // 128 bits: `len` times a number of threads may not fit a word.
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

/// Work handed out in pieces to whoever is free, for work whose parts cost unequally.
pub(crate) struct Pieces {
    next: AtomicUsize,
}

impl Pieces {
    pub(crate) const fn new() -> Self {
        Self { next: AtomicUsize::new(0) }
    }

    /// Begins again; call it between two barriers.
    pub(crate) fn reset(&self) {
        self.next.store(0, Ordering::Relaxed);
    }

    /// The next piece of `range` of at most `step` items, or `None` when it is used up.
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
            let shares = ParallelRegion::of(size).shares(len);
            assert_eq!(shares[0].start, 0);
            assert_eq!(shares[size - 1].end, len);
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn after_a_barrier_everybody_sees_what_was_written_before_it() {
        let team = ParallelRegion::of(4);
        let cells: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(0)).collect();
        let sums = team.run(|worker| {
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
        assert!(sums.iter().all(|found| *found == expected));
    }

    #[test]
    fn a_panic_in_one_worker_ends_the_region_and_leaves_nobody_waiting() {
        let ended = std::panic::catch_unwind(|| {
            ParallelRegion::of(3).run(|worker| {
                assert!(worker.id != 1, "worker 1 fails");
                worker.wait();
            });
        });
        assert!(ended.is_err());
    }

    #[test]
    fn pieces_cover_a_range_once() {
        let pieces = Pieces::new();
        let mut seen = Vec::new();
        while let Some(piece) = pieces.take(&(5..22), 4) {
            seen.extend(piece);
        }
        assert_eq!(seen, (5..22).collect::<Vec<_>>());
    }

    #[test]
    fn a_slice_is_cut_at_the_ranges() {
        let mut items = [1, 2, 3, 4, 5];
        let shares = ParallelRegion::of(2).shares(5);
        let parts = cut(&mut items, &shares);
        assert_eq!(parts, [&mut [1, 2][..], &mut [3, 4, 5][..]]);
    }
}
