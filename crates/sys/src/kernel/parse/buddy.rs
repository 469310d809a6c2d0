//! /proc/buddyinfo and /proc/pagetypeinfo: free blocks of each order
//! (Documentation/filesystems/proc.rst), and how usable they are.

use crate::kernel::counters::number;

/// Number of orders read: `NR_PAGE_ORDERS` is 11 unless a kernel was built otherwise.
pub const ORDERS: usize = 11;

/// Free blocks of one zone, or of one migrate type in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks<'t> {
    /// The node.
    pub node: u16,
    /// `DMA32`, `Normal`, `Movable` and others.
    pub zone: &'t [u8],
    /// The migrate type of the blocks; empty in /proc/buddyinfo.
    pub kind: &'t [u8],
    /// Free blocks of `2^i` pages.
    pub free: [u64; ORDERS],
}

/// Parses every line of free blocks in a file; other lines are skipped.
pub fn blocks(text: &[u8]) -> impl Iterator<Item = Blocks<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(line)
}

/// `Node 0, zone   Normal  1 2 3 ..`, or with `, type    Unmovable` after the zone.
fn line(line: &[u8]) -> Option<Blocks<'_>> {
    let rest = line.strip_prefix(b"Node")?;
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let node = u16::try_from(number(&rest[..comma])?).ok()?;
    let rest = rest[comma + 1..].trim_ascii_start().strip_prefix(b"zone")?;
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let zone = words.next()?;
    let (zone, kind) = match zone.strip_suffix(b",") {
        Some(zone) => {
            // The second table of pagetypeinfo has no `type`.
            (words.next() == Some(b"type")).then_some(())?;
            (zone, words.next()?)
        }
        None => (zone, &b""[..]),
    };
    let mut free = [0; ORDERS];
    for count in &mut free {
        // Since 5.3 the kernel stops counting at 100000 and writes `>100000` (mm/vmstat.c).
        let word = words.next()?;
        *count = number(word.strip_prefix(b">").unwrap_or(word))?;
    }
    Some(Blocks { node, zone, kind, free })
}

impl Blocks<'_> {
    /// Free pages in blocks of all orders.
    #[must_use]
    pub fn pages(&self) -> u64 {
        (0..).zip(self.free).fold(0_u64, |sum, (order, count): (u32, u64)| {
            sum.saturating_add(count.saturating_mul(1 << order))
        })
    }

    /// Free pages in blocks large enough for an allocation of this order.
    fn suitable(&self, order: usize) -> u64 {
        let orders = (0..).zip(self.free).skip(order);
        orders.fold(0_u64, |sum, (order, count): (u32, u64)| {
            sum.saturating_add(count.saturating_mul(1 << order))
        })
    }

    /// The unusable free space index for this order, in thousandths: the fraction of free memory in
    /// blocks that are too small (Gorman and Whitcroft, "The what, the why and the where to of
    /// anti-fragmentation", 2006; `extfrag/unusable_index` in debugfs). `None` without any free page.
    #[must_use]
    pub fn unusable_permille(&self, order: usize) -> Option<u64> {
        let free = self.pages();
        (free > 0).then(|| (free - self.suitable(order)).saturating_mul(1000) / free)
    }

    /// The external fragmentation index for this order, in thousandths: near 0 an allocation would fail
    /// for lack of memory, near 1000 because of fragmentation (`fragmentation_index`, mm/vmstat.c;
    /// vm.extfrag_threshold is compared with it). `None` if an allocation would succeed, where the
    /// kernel shows -1000.
    #[must_use]
    pub fn fragmentation_permille(&self, order: usize) -> Option<u64> {
        let blocks: u64 = self.free.iter().fold(0, |sum, count| sum.saturating_add(*count));
        if self.suitable(order) > 0 || order >= ORDERS {
            return None;
        }
        if blocks == 0 {
            return Some(0);
        }
        let requested = 1_u64 << order;
        let part = (1000 + self.pages().saturating_mul(1000) / requested) / blocks;
        Some(1000_u64.saturating_sub(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_and_their_other_lines_skipped() {
        let text = b"Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 \n\
                     Node 12, zone   Normal  10997  10405  4108  2212  764  254  558  597  347  333  4380 \n";
        let parsed: Vec<_> = blocks(text).collect();
        assert_eq!((parsed.len(), parsed[1].node, parsed[1].zone), (2, 12, &b"Normal"[..]));
        assert_eq!((parsed[0].free[10], parsed[1].free[0]), (3, 10_997));
        assert_eq!(parsed[0].pages(), 256 + 512 + 3 * 1024);

        let types = b"Page block order: 9\nPages per block:  512\n\n\
            Free pages count per migrate type at order 0 1 2 3 4 5 6 7 8 9 10 \n\
            Node    0, zone   Normal, type      Movable 2 1 2 1 0 2 443 553 346 332 >100000 \n\n\
            Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic      Isolate \n\
            Node 0, zone   Normal          100         5000           10            0            0 \n";
        let parsed: Vec<_> = blocks(types).collect();
        assert_eq!(parsed.len(), 1, "{parsed:?}");
        assert_eq!((parsed[0].kind, parsed[0].free[10]), (&b"Movable"[..], 100_000));
    }

    fn with(free: &[(usize, u64)]) -> Blocks<'static> {
        let mut blocks = Blocks { node: 0, zone: b"Normal", kind: b"", free: [0; ORDERS] };
        for (order, count) in free {
            blocks.free[*order] = *count;
        }
        blocks
    }

    #[test]
    fn memory_in_single_pages_is_unusable_for_huge_pages() {
        let single = with(&[(0, 1024)]);
        assert_eq!(single.unusable_permille(9), Some(1000));
        // 1000 - (1000 + 1000 * 1024 / 512) / 1024 = 998.
        assert_eq!(single.fragmentation_permille(9), Some(998));
        let half = with(&[(0, 512), (9, 1)]);
        assert_eq!(half.unusable_permille(9), Some(500));
        assert_eq!(half.fragmentation_permille(9), None, "an allocation would succeed");
    }

    #[test]
    fn without_free_memory_nothing_is_unusable_or_fragmented() {
        assert_eq!(with(&[]).unusable_permille(9), None);
        assert_eq!(with(&[]).fragmentation_permille(9), Some(0));
    }
}
