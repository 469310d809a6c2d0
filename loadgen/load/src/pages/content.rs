//! The content of the file: every 4 KiB page begins with a number derived from its position and the
//! write generation, followed by incompressible noise.

/// Bytes per page.
pub(super) const PAGE: usize = 4096;

/// Content of one write generation of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) seed: u64,
    /// How often the file was written before.
    pub(super) generation: u64,
}

impl Content {
    /// Fills a block with noise, once for all blocks.
    pub(super) fn noise(self, block: &mut [u8]) {
        let mut state = self.seed;
        for word in block.as_chunks_mut::<8>().0 {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            *word = mixed(state).to_le_bytes();
        }
    }

    /// Numbers the pages of a block at `offset`, a multiple of the page size.
    pub(super) fn number(self, block: &mut [u8], offset: u64) {
        let first = offset / PAGE as u64;
        for (page, at) in block.chunks_mut(PAGE).zip(first..) {
            page[..8].copy_from_slice(&self.tag(at));
        }
    }

    /// The first page of a block that does not have the expected number; `offset` as above.
    pub(super) fn first_wrong(self, block: &[u8], offset: u64) -> Option<u64> {
        let first = offset / PAGE as u64;
        let wrong = |(page, at): &(&[u8], u64)| page[..8] != self.tag(*at);
        block.chunks(PAGE).zip(first..).find(wrong).map(|(_, at)| at)
    }

    fn tag(self, page: u64) -> [u8; 8] {
        mixed(self.seed ^ (self.generation << 48) ^ page).to_le_bytes()
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misplaced_or_stale_page_is_detected() {
        let content = Content { seed: 1, generation: 3 };
        let mut block = vec![0; 4 * PAGE];
        content.noise(&mut block);
        content.number(&mut block, 8 * PAGE as u64);
        assert_eq!(content.first_wrong(&block, 8 * PAGE as u64), None);
        assert_eq!(content.first_wrong(&block, 9 * PAGE as u64), Some(9));
        let newer = Content { generation: 4, ..content };
        newer.number(&mut block[2 * PAGE..3 * PAGE], 10 * PAGE as u64);
        assert_eq!(content.first_wrong(&block, 8 * PAGE as u64), Some(10));
    }

    #[test]
    fn noise_does_not_repeat_within_a_block() {
        let mut block = vec![0; 2 * PAGE];
        Content { seed: 1, generation: 0 }.noise(&mut block);
        assert_ne!(block[..PAGE], block[PAGE..]);
    }
}
