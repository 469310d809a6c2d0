//! The order in which the lines of a working set follow each other.

use assay_load_memory::pointer_ring::LINE;
use assay_sys::kernel::anonymous_memory::Pages;
use clap::ValueEnum;

/// Lines per page of 4 KiB.
const PAGE_LINES: usize = 4096 / LINE;

/// An order of lines. Each is a single ring through all lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// Ascending: prefetchers load the next line before it is needed
    Sequential,
    /// Random within groups of pages, and groups in random order: few TLB misses
    Groups,
    /// Random through everything: cache and TLB misses
    Random,
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Groups => "groups",
            Self::Random => "random",
        }
    }
}

/// Memory used by the order of the largest working set: the ring, and the same again for the list
/// of visits it is built from.
pub(super) fn bytes(largest: u64) -> u64 {
    largest / LINE as u64 * 4 * 2
}

/// Fills `next` with a ring through all its lines; `visits` is scratch memory of the same length.
pub(super) fn fill(order: Order, group: usize, seed: u64, visits: &mut [u32], next: &mut [u32]) {
    for (at, visit) in visits.iter_mut().enumerate() {
        *visit = at as u32;
    }
    let mut random = SplitMix(seed);
    match order {
        Order::Sequential => {}
        Order::Random => shuffle(visits, &mut random),
        Order::Groups => {
            let lines = group * PAGE_LINES;
            let mut groups: Vec<u32> = (0..visits.len().div_ceil(lines) as u32).collect();
            shuffle(&mut groups, &mut random);
            let mut at = 0;
            for group in groups {
                let first = group as usize * lines;
                let length = lines.min(visits.len() - first);
                let part = &mut visits[at..at + length];
                for (line, visit) in part.iter_mut().enumerate() {
                    *visit = (first + line) as u32;
                }
                shuffle(part, &mut random);
                at += length;
            }
        }
    }
    // A random order of visits, closed to a ring, yields every ring with equal probability, as
    // Sattolo's shuffle does; a random permutation would not be a single ring.
    let Some(last) = visits.last() else { return };
    let mut before = *last;
    for visit in visits.iter() {
        next[before as usize] = *visit;
        before = *visit;
    }
}

/// The Fisher-Yates shuffle.
fn shuffle(items: &mut [u32], random: &mut SplitMix) {
    for end in (1..items.len()).rev() {
        items.swap(end, random.below(end as u64 + 1) as usize);
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; the bias of less than 2^-32 has no observable effect.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Scratch memory for the order of up to `lines` lines.
pub(super) struct Scratch {
    pub(super) visits: Pages<u32>,
    pub(super) next: Pages<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(order: Order, lines: usize, group: usize) -> Vec<u32> {
        let (mut visits, mut next) = (vec![0; lines], vec![u32::MAX; lines]);
        fill(order, group, 42, &mut visits, &mut next);
        next
    }

    fn laps(next: &[u32]) -> Vec<u32> {
        let (mut at, mut visited) = (0, Vec::new());
        for _ in 0..next.len() {
            visited.push(at);
            at = next[at as usize];
        }
        assert_eq!(at, 0, "the ring closes after all lines");
        visited
    }

    #[test]
    fn every_order_is_one_ring_through_all_lines() {
        for order in [Order::Sequential, Order::Groups, Order::Random] {
            for lines in [64, 128, 1000, 64 * 64 * 3 + 64] {
                let mut visited = laps(&ring(order, lines, 64));
                visited.sort_unstable();
                assert!(visited.into_iter().eq(0..lines as u32), "{order:?} {lines}");
            }
        }
    }

    #[test]
    fn a_group_is_left_only_after_all_its_lines() {
        let lines = 10 * 2 * PAGE_LINES;
        let visited = laps(&ring(Order::Groups, lines, 2));
        let groups: Vec<u32> = visited.iter().map(|line| line / (2 * PAGE_LINES as u32)).collect();
        let changes = groups.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // The lap begins at line 0, in the middle of its group, and ends there.
        assert_eq!(changes, 10);
        assert!(visited.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() < lines / 8);
    }

    #[test]
    fn sequential_is_ascending_and_each_seed_gives_one_order() {
        assert_eq!(ring(Order::Sequential, 4, 1), [1, 2, 3, 0]);
        assert_eq!(ring(Order::Random, 500, 1), ring(Order::Random, 500, 1));
    }

    /// The first outputs of the reference implementation for the seed 1234567.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix(1_234_567);
        let first = [random.next(), random.next(), random.next()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
