//! How much of each process is read, depending on the sizes and the number of all.

use super::bytes_of;

/// Smaller processes are read exactly each time, which is cheaper than drawing: 0.1 ms, while most of fio's
/// mappings hold no pages, and 0.2 us a draw add up to ten times as much. If there are more of these, they
/// are read in rotation.
pub(super) const SMALL_BYTES: u64 = 16 << 20;
const SMALL_AT_ONCE: u64 = 10;

/// Addresses tried of all processes together.
const MAX_ADDRESSES_TRIED: usize = 24_000;

/// Sampling effort per process, depending on their number.
pub(super) struct Pace {
    /// Time between two exact readings of a small process.
    pub(super) small_ns: u64,
    /// Addresses tried of each of the others.
    pub(super) tries: usize,
}

impl Pace {
    pub(super) fn from_sizes(sizes: &[(u64, u64, u32)]) -> Self {
        let is_small = |size: &&(u64, u64, u32)| bytes_of(size.0) <= SMALL_BYTES;
        let small = sizes.iter().filter(is_small).count();
        Self {
            small_ns: (small as u64).div_ceil(SMALL_AT_ONCE) * 1_000_000_000,
            tries: MAX_ADDRESSES_TRIED / (sizes.len() - small).max(1),
        }
    }
}
