//! Loads that wait for each other: a ring of pointers, each in a cache line of its own.
//!
//! The address of a load is the value of the one before, unchanged: an index would have to be
//! scaled and added first, which costs a cycle of four or five where the first cache answers.

use std::hint::black_box;

use crate::anonymous_memory::Pages;

/// Bytes from one place of a ring to the next: the size of a cache line on x86-64 and on most
/// arm64 machines.
pub const LINE: usize = 64;
/// Words of a line.
const WORDS: usize = LINE / size_of::<u64>();
/// Loads between two looks at the counter.
const UNROLLED: usize = 64;
/// Rings begin at the size of a huge page, so that huge pages can stand behind all of them.
const ALIGNMENT: usize = 2 << 20;

/// Memory for rings of up to a number of lines.
#[derive(Debug)]
pub struct Arena {
    words: Pages<u64>,
    /// The first word at [`ALIGNMENT`].
    first: usize,
    lines: usize,
}

/// A ring that was linked; walking it reads nothing but its own lines.
#[derive(Debug)]
pub struct Ring<'a> {
    start: *const u64,
    arena: &'a mut Arena,
}

impl Arena {
    /// Memory for rings of up to `lines` lines, all of it touched.
    pub fn new(
        lines: usize,
        huge: crate::anonymous_memory::HugePages,
    ) -> Result<Self, crate::Error> {
        let words = lines.saturating_mul(WORDS).saturating_add(ALIGNMENT / size_of::<u64>());
        let mut words = Pages::<u64>::zeroed(words, huge)?;
        let first = words.as_ptr().align_offset(ALIGNMENT).min(words.len());
        let lines = lines.min((words.len() - first) / WORDS);
        // Memory that was never written is one page of zeroes that all share.
        words[first..first + lines * WORDS].fill(1);
        Ok(Self { words, first, lines })
    }

    /// Links the lines that `next` tells into a ring: `next[i]` is the line that follows line `i`.
    /// `None` where it names a line that is not below `next.len()`, or more lines are wanted than
    /// there are.
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
        // Exposed, so that addresses read from memory may be followed.
        let _ = start.expose_provenance();
        Some(Ring { start, arena: self })
    }
}

// SAFETY: `start` leads into the arena, which the ring alone may use for as long as it lives.
unsafe impl Send for Ring<'_> {}

impl Ring<'_> {
    /// Does at least `loads` loads, each at the address that the one before has read; goes on
    /// where the last walk has ended. Returns how many it did.
    #[inline] // It is then compiled as its caller is: without optimisation it would time the stack.
    pub fn walk(&mut self, loads: u64) -> u64 {
        debug_assert!(self.arena.lines > 0, "a ring has lines");
        let rounds = loads.div_ceil(UNROLLED as u64);
        let mut at = self.start;
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: `start` and every word that `link` has written are addresses of the
                // first words of lines of the arena, which `link` has written too; the arena is
                // borrowed for as long as the ring lives, so nobody has changed them.
                at = std::ptr::with_exposed_provenance(unsafe { *at } as usize);
            }
        }
        // Whoever could drop the last address could drop all loads.
        self.start = black_box(at);
        rounds * UNROLLED as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymous_memory::HugePages;

    /// The line where a ring stands.
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
    fn what_would_lead_out_of_the_memory_is_not_linked() {
        let mut arena = Arena::new(4, HugePages::System).unwrap();
        assert!(arena.link(&[1, 2, 3, 4]).is_none(), "line 4 is behind the ring");
        assert!(arena.link(&[1, 2, 3, 4, 0]).is_none(), "five lines in memory for four");
        assert!(arena.link(&[]).is_none());
        assert!(arena.link(&[1, 2, 3, 0]).is_some());
    }

    #[test]
    fn rings_begin_at_a_huge_page() {
        let arena = Arena::new(1 << 16, HugePages::Wanted).unwrap();
        assert!(arena.words[arena.first..].as_ptr().addr().is_multiple_of(ALIGNMENT));
    }
}
