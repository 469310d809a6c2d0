//! Draws random pages of a process.
//!
//! Addresses are drawn uniformly over the mappings, and those without a page are drawn again: the result is
//! uniform over the existing pages.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_sys::kernel::anonymous_memory::page_size;

/// Addresses per call.
const BATCH: usize = 512;

/// The mappings of a process and the state of the random generator.
pub(super) struct Draw {
    ranges: Vec<Range<u64>>,
    /// Cumulative number of pages up to the end of each range.
    sums: Vec<u64>,
    state: u64,
    addresses: Vec<u64>,
    nodes: Vec<i32>,
}

impl Draw {
    /// A draw for one process; the process id is the seed.
    pub(super) fn new(pid: u32) -> Self {
        Self {
            ranges: Vec::new(),
            sums: Vec::new(),
            state: u64::from(pid),
            addresses: vec![0; BATCH],
            nodes: vec![0; BATCH],
        }
    }

    /// Sets the current mappings.
    pub(super) fn set(&mut self, ranges: Vec<Range<u64>>) {
        let mut sum = 0;
        self.sums.clear();
        for range in &ranges {
            sum += (range.end - range.start) / page_size() as u64;
            self.sums.push(sum);
        }
        self.ranges = ranges;
    }

    /// splitmix64 (Steele, Lea and Flood, 2014): good enough for picking pages, and without a table.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// The address of a mapped page; `None` if nothing is mapped.
    fn address(&mut self) -> Option<u64> {
        let pages = *self.sums.last().filter(|pages| **pages > 0)?;
        // The bias from the remainder is 2^-30 of the range at most.
        let page = self.next() % pages;
        let at = self.sums.partition_point(|sum| *sum <= page);
        let before = at.checked_sub(1).map_or(0, |before| self.sums[before]);
        Some(self.ranges.get(at)?.start + (page - before) * page_size() as u64)
    }
}

/// Allowed error of a share, and its quantile. Checking after each batch means checking several times, so the
/// quantile is that of 97.9 % for a single check.
const WITHIN: f64 = 0.02;
const QUANTILE: f64 = 2.3;

/// Whether the share of every node is known precisely enough: Wilson's interval (1927), which is also valid
/// if all drawn pages are on one node.
fn is_precise(pages_by_node: &BTreeMap<u16, u64>, count: usize) -> bool {
    let count = count as f64;
    let square = QUANTILE * QUANTILE;
    pages_by_node.values().all(|pages| {
        let share = *pages as f64 / count;
        let center = (share + square / (2.0 * count)) / (1.0 + square / count);
        let spread = (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
        let half = QUANTILE * spread / (1.0 + square / count);
        (share - (center - half)).max(center + half - share) <= WITHIN
    })
}

/// Draws pages until the share of each node is known within two points, or until `enough` pages are found,
/// which is enough for any shares, and counts them by node. At most `tries` addresses are tried: if a process
/// has reserved far more than it uses, fewer pages are found. `query` fills in the node of each address,
/// negative if there is no page.
pub(super) fn drawn<E>(
    draw: &mut Draw,
    enough: usize,
    tries: usize,
    mut query: impl FnMut(&[u64], &mut [i32]) -> Result<(), E>,
) -> Result<BTreeMap<u16, u64>, E> {
    let mut pages_by_node: BTreeMap<u16, u64> = BTreeMap::new();
    let (mut count, mut tried) = (0, 0);
    while count < enough && tried < tries && (count == 0 || !is_precise(&pages_by_node, count)) {
        let batch = BATCH.min(tries - tried);
        for index in 0..batch {
            let Some(address) = draw.address() else { return Ok(pages_by_node) };
            draw.addresses[index] = address;
        }
        // In the order of their addresses, neighbours share mappings and page tables.
        draw.addresses[..batch].sort_unstable();
        query(&draw.addresses[..batch], &mut draw.nodes[..batch])?;
        tried += batch;
        for node in draw.nodes[..batch].iter().filter_map(|node| u16::try_from(*node).ok()) {
            *pages_by_node.entry(node).or_insert(0) += 1;
            count += 1;
        }
    }
    Ok(pages_by_node)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 000 pages in two mappings; a fifth is on node 1, every third page does not exist.
    fn process() -> Draw {
        let page = page_size() as u64;
        let mut draw = Draw::new(7);
        draw.set(vec![page * 10..page * 20_010, page * 50_000..page * 130_000]);
        draw
    }

    fn query(addresses: &[u64], nodes: &mut [i32]) -> Result<(), ()> {
        for (address, node) in addresses.iter().zip(nodes) {
            let number = address / page_size() as u64;
            assert!((10..20_010).contains(&number) || (50_000..130_000).contains(&number));
            assert_eq!(address % page_size() as u64, 0);
            *node = match number {
                _ if number.is_multiple_of(3) => -2,
                0..20_010 => 1,
                _ => 0,
            };
        }
        Ok(())
    }

    #[test]
    fn shares_are_within_two_points_in_nineteen_draws_of_twenty() {
        let mut draw = process();
        let mut within = 0;
        for _ in 0..400 {
            let pages_by_node = drawn(&mut draw, 2400, 24_000, query).unwrap();
            let all: u64 = pages_by_node.values().sum();
            assert!((2000..2400 + BATCH as u64).contains(&all), "{all}");
            let share = pages_by_node[&1] as f64 / all as f64;
            within += u32::from((share - 0.2).abs() <= 0.02);
        }
        assert!(within >= 380, "{within} of 400");
    }

    #[test]
    fn few_draws_are_sufficient_if_all_pages_are_on_one_node() {
        let mut draw = process();
        let mut queried = 0;
        let pages_by_node = drawn(&mut draw, 2400, 24_000, |addresses, nodes| {
            queried += addresses.len();
            nodes.fill(3);
            Ok::<(), ()>(())
        });
        assert_eq!(pages_by_node.unwrap(), BTreeMap::from([(3, BATCH as u64)]));
        assert_eq!(queried, BATCH);
    }

    #[test]
    fn a_process_without_pages_gives_an_empty_result() {
        let mut draw = process();
        let none = |_: &[u64], nodes: &mut [i32]| {
            nodes.fill(-14);
            Ok::<(), ()>(())
        };
        assert!(drawn(&mut draw, 2400, 24_000, none).unwrap().is_empty());
        draw.set(Vec::new());
        assert!(drawn(&mut draw, 2400, 24_000, none).unwrap().is_empty());
    }

    #[test]
    fn a_process_that_ends_meanwhile_is_an_error() {
        let mut draw = process();
        assert_eq!(drawn(&mut draw, 10, 100, |_, _| Err("ESRCH")), Err("ESRCH"));
    }
}
