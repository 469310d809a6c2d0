//! Dependent loads: a ring of pointers, each in its own cache line.
//!
//! The address of a load is the value of the previous one, unchanged: an index would have to be scaled
//! and added first, which costs one cycle of the four or five that an L1 hit takes.

use std::hint::black_box;

use assay_sys::kernel::anonymous_memory::Pages;

/// Distance of the elements of a ring in bytes: the size of a cache line on x86-64 and on most arm64
/// machines.
pub const LINE: usize = 64;
/// Words per line.
const WORDS: usize = LINE / size_of::<u64>();
/// Loads between two checks of the counter.
const UNROLLED: usize = 64;
/// Rings are aligned to the size of a huge page, so that they can be backed entirely by huge pages.
const ALIGNMENT: usize = 2 << 20;

/// Memory for rings of up to a certain number of lines.
#[derive(Debug)]
pub struct Arena {
    words: Pages<u64>,
    /// Index of the first word aligned to [`ALIGNMENT`].
    first: usize,
    lines: usize,
}

/// A linked ring; walking it reads only its own lines.
#[derive(Debug)]
pub struct Ring<'a> {
    start: *const u64,
    arena: &'a mut Arena,
}

impl Arena {
    /// Memory for rings of up to `lines` lines, all of it touched.
    pub fn new(
        lines: usize,
        huge: assay_sys::kernel::anonymous_memory::HugePages,
    ) -> Result<Self, assay_sys::kernel::Error> {
        let words = lines.saturating_mul(WORDS).saturating_add(ALIGNMENT / size_of::<u64>());
        let mut words = Pages::<u64>::zeroed(words, huge)?;
        let first = words.as_ptr().align_offset(ALIGNMENT).min(words.len());
        let lines = lines.min((words.len() - first) / WORDS);
        // Memory that was never written is backed by one shared zero page.
        words[first..first + lines * WORDS].fill(1);
        Ok(Self { words, first, lines })
    }

    /// Links lines into a ring: `next[i]` is the line that follows line `i`. `None` if it contains a
    /// line not below `next.len()`, or is longer than the arena.
    pub fn link(&mut self, next: &[u32]) -> Option<Ring<'_>> {
        let count = next.len();
        if count == 0 || count > self.lines || next.iter().any(|line| *line as usize >= count) {
            return None;
        }
        let base = self.words[self.first..].as_ptr();
        for (line, follower) in next.iter().enumerate() {
            // Within the arena, since the follower is below the number of lines.
            let address = base.wrapping_add(*follower as usize * WORDS).expose_provenance();
            self.words[self.first + line * WORDS] = address as u64;
        }
        let start = self.words[self.first..].as_ptr();
        // Exposed, so that addresses read from memory may be dereferenced.
        let _ = start.expose_provenance();
        Some(Ring { start, arena: self })
    }
}

// SAFETY: `start` points into the arena, which only the ring may use while it lives.
unsafe impl Send for Ring<'_> {}

impl Ring<'_> {
    /// Performs at least `loads` loads, each at the address read by the previous one, continuing where
    /// the last walk ended. Returns the number of loads.
    #[inline] // Compiled with its caller's options: without optimisation it would measure stack accesses.
    pub fn walk(&mut self, loads: u64) -> u64 {
        debug_assert!(self.arena.lines > 0, "a ring has lines");
        let rounds = loads.div_ceil(UNROLLED as u64);
        let mut at = self.start;
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: `start` and every word that `link` has written are addresses of the first
                // words of lines of the arena, which `link` has written too; the arena is borrowed
                // while the ring lives, so nothing else has changed them.
                at = std::ptr::with_exposed_provenance(unsafe { *at } as usize);
            }
        }
        // Without this the compiler could remove the last address, and with it all loads.
        self.start = black_box(at);
        rounds * UNROLLED as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_sys::kernel::anonymous_memory::HugePages;

    /// The current line of a ring.
    fn line(ring: &Ring<'_>) -> usize {
        let base = ring.arena.words[ring.arena.first..].as_ptr().addr();
        (ring.start.addr() - base) / LINE
    }

    #[test]
    fn a_walk_visits_the_lines_in_the_order_of_the_ring() {
        let mut arena = Arena::new(100, HugePages::System).unwrap();
        let next: Vec<u32> = (0..100).map(|at| (at + 7) % 100).collect();
        let mut ring = arena.link(&next).unwrap();
        assert_eq!(ring.walk(64), 64);
        assert_eq!(line(&ring), 64 * 7 % 100);
        assert_eq!(ring.walk(65), 128, "whole rounds");
        assert_eq!(line(&ring), 192 * 7 % 100);
    }

    #[test]
    fn a_ring_that_leaves_the_arena_is_refused() {
        let mut arena = Arena::new(4, HugePages::System).unwrap();
        assert!(arena.link(&[1, 2, 3, 4]).is_none(), "line 4 is beyond the ring");
        assert!(arena.link(&[1, 2, 3, 4, 0]).is_none(), "five lines in memory for four");
        assert!(arena.link(&[]).is_none());
        assert!(arena.link(&[1, 2, 3, 0]).is_some());
    }

    #[test]
    fn rings_are_aligned_to_huge_pages() {
        let arena = Arena::new(1 << 16, HugePages::Advise).unwrap();
        assert!(arena.words[arena.first..].as_ptr().addr().is_multiple_of(ALIGNMENT));
    }
}
