//! What `programs/stalls.bpf.c` counted, from the memory of its maps.

use super::Stall;

/// Numbers in `programs/stalls.bpf.c`.
pub const GROUP_NUMBERS: usize = 1024;
/// Threads of the kernel.
pub const KERNEL_NUMBER: usize = 1022;
/// kswapd.
pub const KSWAPD_NUMBER: usize = 1023;
/// Set in the number of the watched group and of those below it.
pub const WATCHED: u32 = 1 << 16;

const BUCKETS: usize = 40;
const KINDS: [Option<Stall>; 8] = [
    None,
    Some(Stall::Max),
    Some(Stall::High),
    Some(Stall::Machine),
    Some(Stall::Other),
    Some(Stall::Compaction),
    Some(Stall::Throttle),
    Some(Stall::ReadBack),
];

/// Bytes of `struct stall`, `struct pages` and `struct thread`.
const STALL: usize = (1 + BUCKETS) * 8;
const PAGES: usize = 16;
const THREAD: usize = 16;
/// Offset in `struct memory`.
const DROPPED: usize = 4096 * 8;

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StallCounted {
    /// Kinds that occurred.
    pub stalls: Vec<StallSum>,
    /// Pages that came into the page cache, by the number of the group that pays.
    pub filled: Vec<u64>,
    /// Pages of the watched group's page cache that were reclaimed, by the number of the reclaimer.
    pub evicted: Vec<u64>,
    /// By how many bytes each group has grown, by its number; those below it are not counted.
    pub grown: Vec<u64>,
    /// Stalls that were not counted.
    pub dropped: u64,
}

/// Stalls of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallSum {
    /// The kind.
    pub stall: Stall,
    /// The number of the group whose limit it was; 0 for none.
    pub group: usize,
    /// Sum, with those that have not ended.
    pub ns: u64,
    /// How many ended, by the logarithm of their length in nanoseconds.
    pub lengths: Vec<u64>,
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_ne_bytes)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(word)
}

impl StallCounted {
    /// Reads the maps `stalls`, `pages` and `threads`, and the variable, as they were at `until` (CLOCK_MONOTONIC). `None` if they
    /// are not those of the programs.
    #[must_use]
    pub fn parse(
        stalls: &[u8],
        pages: &[u8],
        threads: &[u8],
        memory: &[u8],
        until: u64,
    ) -> Option<Self> {
        let sizes = [KINDS.len() * GROUP_NUMBERS * STALL, GROUP_NUMBERS * PAGES];
        if [stalls.len(), pages.len()] != sizes || !threads.len().is_multiple_of(THREAD) {
            return None;
        }
        let mut sums: Vec<StallSum> = Vec::new();
        for (at, stall) in stalls.chunks_exact(STALL).enumerate() {
            let mut numbers = words(stall);
            let (ns, lengths) = (numbers.next()?, numbers.collect());
            if let Some(stall) = KINDS[at / GROUP_NUMBERS].filter(|_| ns > 0) {
                sums.push(StallSum { stall, group: at % GROUP_NUMBERS, ns, lengths });
            }
        }
        for thread in threads.chunks_exact(THREAD) {
            let half = |at| u16::from_ne_bytes([thread[at], thread[at + 1]]) as usize;
            let Some(stall) = KINDS.get(half(4)).copied().flatten() else { continue };
            let (group, ns) = (half(6), until.saturating_sub(word(&thread[8..])));
            match sums.iter_mut().find(|sum| (sum.stall, sum.group) == (stall, group)) {
                Some(sum) => sum.ns += ns,
                None => sums.push(StallSum { stall, group, ns, lengths: Vec::new() }),
            }
        }
        Some(Self {
            stalls: sums,
            filled: words(pages).step_by(2).collect(),
            evicted: words(pages).skip(1).step_by(2).collect(),
            grown: Vec::new(),
            dropped: memory.get(DROPPED..DROPPED + 8).map_or(0, word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_another_size_is_none() {
        assert_eq!(StallCounted::parse(&[0; 64], &[0; 64], &[], &[], 0), None);
    }

    #[test]
    fn what_has_not_ended_counts_until_the_end() {
        let mut stalls = vec![0; KINDS.len() * GROUP_NUMBERS * STALL];
        let at = (6 * GROUP_NUMBERS + 3) * STALL; // a delay of memory.high of the group 3
        stalls[at..at + 8].copy_from_slice(&1_000_u64.to_ne_bytes());
        stalls[at + 8 * 10] = 2; // two of 512 to 1023 ns
        let mut pages = vec![0; GROUP_NUMBERS * PAGES];
        (pages[2 * PAGES], pages[KSWAPD_NUMBER * PAGES + 8]) = (7, 9);
        let mut threads = vec![0; 2 * THREAD];
        for (thread, kind, since) in [(0, 6, 4_000_u64), (1, 1, 4_500)] {
            let thread = &mut threads[thread * THREAD..][..THREAD];
            (thread[4], thread[6]) = (kind, 3);
            thread[8..].copy_from_slice(&since.to_ne_bytes());
        }
        let mut memory = vec![0; DROPPED + 8];
        memory[DROPPED] = 5;
        let counted = StallCounted::parse(&stalls, &pages, &threads, &memory, 5_000).unwrap();
        let shown: Vec<_> =
            counted.stalls.iter().map(|sum| (sum.stall, sum.group, sum.ns)).collect();
        assert_eq!(shown, [(Stall::Throttle, 3, 2_000), (Stall::Max, 3, 500)]);
        assert_eq!(counted.stalls[0].lengths[9], 2);
        let shown = (counted.filled[2], counted.evicted[KSWAPD_NUMBER], counted.dropped);
        assert_eq!(shown, (7, 9, 5));
    }
}
