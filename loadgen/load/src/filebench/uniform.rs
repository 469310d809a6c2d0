//! Random number generators: the 48-bit generator of drand48(3), used by file sets and random
//! variables; the generator of rand(3), which decides which files are preallocated; and a fast one
//! for each thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// drand48(3): X' = 0x5DEECE66D X + 0xB modulo 2^48, shared by threads without a lock.
#[derive(Debug, Default)]
pub(super) struct Drand48 {
    state: AtomicU64,
}

const MASK: u64 = (1 << 48) - 1;

fn step(state: u64) -> u64 {
    state.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & MASK
}

impl Drand48 {
    /// The initial state of glibc without srand48: all zero. filebench never calls srand48.
    pub(super) fn unseeded() -> Self {
        Self::default()
    }

    /// Starts from the given state, as erand48(3) takes it.
    pub(super) fn from_state(state: u64) -> Self {
        Self { state: AtomicU64::new(state & MASK) }
    }

    /// srand48(3).
    pub(super) fn seeded(seed: u64) -> Self {
        Self::from_state(((seed & 0xFFFF_FFFF) << 16) | 0x330E)
    }

    /// The next number of [0, 1).
    pub(super) fn next(&self) -> f64 {
        // Which thread gets which number does not matter, but no number may get lost.
        let before =
            self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |s| Some(step(s)));
        let state = step(before.unwrap_or_else(|state| state));
        state as f64 / (1u64 << 48) as f64
    }
}

/// rand(3) of glibc: additive feedback over 31 words, the low bit dropped.
#[derive(Debug, Clone)]
pub(super) struct Rand {
    words: [u32; 31],
    front: usize,
    rear: usize,
}

/// `RAND_MAX` of glibc.
pub(super) const RAND_MAX: u64 = 0x7FFF_FFFF;

impl Rand {
    /// srand(3); without it the seed is 1.
    pub(super) fn seeded(seed: u32) -> Self {
        let mut words = [0; 31];
        let mut word = i64::from(seed.max(1) as i32);
        for slot in &mut words {
            *slot = word as u32;
            // Schrage's method for 16807 word modulo 2^31 - 1, as in random_r(3).
            word = 16_807 * (word % 127_773) - 2_836 * (word / 127_773);
            if word < 0 {
                word += 0x7FFF_FFFF;
            }
        }
        let mut rand = Self { words, front: 3, rear: 0 };
        for _ in 0..310 {
            rand.next();
        }
        rand
    }

    /// The next number of 0 to [`RAND_MAX`].
    pub(super) fn next(&mut self) -> u64 {
        let sum = self.words[self.front].wrapping_add(self.words[self.rear]);
        self.words[self.front] = sum;
        self.front = (self.front + 1) % 31;
        self.rear = (self.rear + 1) % 31;
        u64::from(sum >> 1)
    }
}

/// A thread's own generator (splitmix64), for offsets and sizes of appends. filebench shares one
/// mt19937-64 among all threads of a process without a lock, so that its order is not part of the
/// contract.
#[derive(Debug, Clone)]
pub(super) struct ThreadRandom {
    state: u64,
}

impl ThreadRandom {
    pub(super) fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// `fb_random64` of filebench: a number from 0 to `max - round`, rounded down to a multiple of
    /// `round`; no rounding if `round` is 0.
    pub(super) fn below(&mut self, max: u64, round: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let drawn = (unit * max.saturating_sub(round) as f64) as u64;
        drawn.checked_div(round).map_or(drawn, |whole| whole * round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rand_gives_the_numbers_of_glibc() {
        let mut rand = Rand::seeded(1);
        let first: Vec<u64> = (0..3).map(|_| rand.next()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777]);
    }

    #[test]
    fn drand48_gives_the_numbers_of_posix() {
        // srand48(0): 0.17082803610628972 and 0.74990198048496381, as in every libc.
        let source = Drand48::seeded(0);
        assert!((source.next() - 0.170_828_036_106_289_72).abs() < 1e-15);
        assert!((source.next() - 0.749_901_980_484_963_8).abs() < 1e-15);
    }

    #[test]
    fn offsets_are_multiples_within_bounds() {
        let mut own = ThreadRandom::seeded(7);
        for _ in 0..10_000 {
            let offset = own.below(10 << 20, 1 << 20);
            assert!(offset.is_multiple_of(1 << 20) && offset <= 9 << 20, "{offset}");
            assert!(own.below(16 << 10, 1) < 16 << 10);
        }
        assert_eq!(own.below(4096, 4096), 0);
    }
}
