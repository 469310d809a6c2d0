//! Sets of vertices as bitmaps that many threads read and write.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of words of a bitmap for `bits` bits.
pub(super) fn words(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// A bitmap shared by the threads of a region. All accesses are relaxed: barriers order them.
#[derive(Clone, Copy)]
pub(super) struct Bitmap<'m>(pub(super) &'m [AtomicU64]);

impl Bitmap<'_> {
    #[inline]
    pub(super) fn has(self, bit: u32) -> bool {
        self.0[bit as usize / 64].load(Ordering::Relaxed) >> (bit % 64) & 1 == 1
    }

    /// Sets a bit; returns true for exactly one of the threads that set it. Reads first, because a
    /// locked operation costs ten times as much.
    #[inline]
    pub(super) fn insert(self, bit: u32) -> bool {
        let (word, mask) = (&self.0[bit as usize / 64], 1u64 << (bit % 64));
        word.load(Ordering::Relaxed) & mask == 0
            && word.fetch_or(mask, Ordering::AcqRel) & mask == 0
    }

    #[inline]
    pub(super) fn word(self, at: usize) -> u64 {
        self.0[at].load(Ordering::Relaxed)
    }

    /// Writes a word that no other thread writes at the same time.
    #[inline]
    pub(super) fn set_word(self, at: usize, word: u64) {
        self.0[at].store(word, Ordering::Relaxed);
    }

    pub(super) fn clear(self, words: std::ops::Range<usize>) {
        self.0[words].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// The numbers of the set bits of a word.
#[inline]
pub(super) fn members(at: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| at as u32 * 64 + word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_inserted_once() {
        let words: Vec<AtomicU64> = (0..words(130)).map(|_| AtomicU64::new(0)).collect();
        let map = Bitmap(&words);
        assert!(map.insert(129) && !map.insert(129) && map.insert(0));
        assert!(map.has(129) && !map.has(128));
        let bits_set: Vec<u32> = (0..3).flat_map(|at| members(at, map.word(at))).collect();
        assert_eq!(bits_set, [0, 129]);
    }
}
