//! The answer about memory: for how long threads of a group were stalled and by which limit, who evicted its page cache, and
//! who filled the machine with his own meanwhile.
//!
//! On cgroup2 the sum is held against `memory.pressure`, which counts how long *some* thread was stalled: threads that are
//! stalled at the same time count once there and each here, so that the sum must not be smaller.

mod counted;
mod text;

use std::path::Path;

use assay_host::facts::Available;
use serde::{Deserialize, Serialize};

use crate::answer::Verdict;
use crate::waits::Waits;

pub use counted::{GROUP_NUMBERS, KERNEL_NUMBER, KSWAPD_NUMBER, StallCounted, WATCHED};
pub use text::memory_text;

/// The version of the document.
pub const MEMORY_SCHEMA: u32 = 1;

/// The sum may be smaller than the kernel's count by this share of it: the kernel marks a thread somewhat before it reclaims, and a
/// stall that had begun before the watch is not seen.
pub const MEMORY_TOLERANCE: f64 = 0.1;

/// Less than this is no difference: a delay of memory.high that had begun before takes as much, and more in few cases.
const NEGLIGIBLE_NS: u64 = 50_000_000;

/// How long threads of a group were stalled for memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryAnswer {
    /// [`MEMORY_SCHEMA`].
    pub schema: u32,
    /// The group, with all below it: its path below the mount of the controller `memory`.
    pub group: String,
    /// How long it was watched.
    pub seconds: f64,
    /// Whether the parts can be relied on.
    pub verdict: Verdict,
    /// Why not.
    pub reason: Option<String>,
    /// Sum over all threads, in nanoseconds.
    pub stalled_ns: u64,
    /// How long at least one thread was, as the kernel counted (`memory.pressure`), or why that is not known.
    pub pressure_ns: Available<u64>,
    /// The parts, the largest first.
    pub parts: Vec<StallPart>,
    /// Page cache of the group that was reclaimed, in bytes.
    pub evicted_bytes: u64,
    /// By whom, the most first.
    pub evicted: Vec<Pages>,
    /// What came into the page cache meanwhile, by the group that pays for it, the most first.
    pub filled: Vec<Pages>,
    /// Groups that use more memory than at the start, without those below them; whose memory was reclaimed meanwhile took more.
    pub grown: Vec<Pages>,
    /// Stalls that are in no part, since two threads shared an entry.
    pub dropped: u64,
}

/// Stalls of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallPart {
    /// What the threads waited for.
    pub stall: Stall,
    /// The group whose limit it was.
    pub group: Option<String>,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// Of all stalls.
    pub percent: f64,
    /// Those that ended, by length.
    pub lengths: Waits,
}

/// What a thread is stalled by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stall {
    /// It reclaims, since a group has reached `memory.max` (v1: `memory.limit_in_bytes`, or the same with swap).
    Max,
    /// It reclaims, since a group is above `memory.high`.
    High,
    /// It reclaims, since the machine is short of memory.
    Machine,
    /// It reclaims below a group that is at no limit: `memory.reclaim`, or a limit that was changed meanwhile.
    Other,
    /// It moves pages to make room for a large one.
    Compaction,
    /// It sleeps, since a group is above `memory.high`.
    Throttle,
    /// It waits until a page is read that had been evicted, from a file or from swap.
    ReadBack,
}

/// Memory of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    /// Whose.
    pub by: Reclaimer,
    /// Its path, if it is a group.
    pub group: Option<String>,
    /// How much.
    pub bytes: u64,
    /// Of all.
    pub percent: f64,
}

/// Who reclaims, or pays for page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reclaimer {
    /// Threads of the watched group.
    Own,
    /// Those of another group, which has a name.
    Group,
    /// Processes in no group but the root.
    Ungrouped,
    /// The kernel's thread that keeps some memory free, for all who take it.
    Kswapd,
    /// Another thread of the kernel.
    Kernel,
}

impl MemoryAnswer {
    /// What was counted in `seconds`. `names` has the paths of the groups, the first of which has number 1; `group` is the
    /// watched one, and `page` the size of a page.
    #[must_use]
    pub fn new(
        group: &str,
        seconds: f64,
        counted: &StallCounted,
        (names, page): (&[String], u64),
        pressure_ns: Available<u64>,
    ) -> Self {
        let stalled_ns = counted.stalls.iter().map(|one| one.ns).sum();
        let reason = pressure_ns.value().and_then(|pressure| objection(stalled_ns, *pressure));
        let path = |number: usize| number.checked_sub(1).and_then(|index| names.get(index));
        let part = |one: &counted::StallSum| StallPart {
            stall: one.stall,
            group: path(one.group).cloned(),
            ns: one.ns,
            percent: percent(one.ns, stalled_ns),
            lengths: Waits::from_counts(&one.lengths),
        };
        let mut parts: Vec<StallPart> = counted.stalls.iter().map(part).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
        let whose = |number: usize| match (number, path(number)) {
            (KSWAPD_NUMBER, _) => (Reclaimer::Kswapd, None),
            (KERNEL_NUMBER, _) => (Reclaimer::Kernel, None),
            (_, Some(path)) if Path::new(path).starts_with(group) => (Reclaimer::Own, None),
            (_, Some(path)) => (Reclaimer::Group, Some(path.clone())),
            (_, None) => (Reclaimer::Ungrouped, None),
        };
        let by_owner = |pages: &[u64], unit: u64| {
            let mut sums = std::collections::BTreeMap::new();
            for (number, pages) in pages.iter().enumerate().filter(|(_, pages)| **pages > 0) {
                *sums.entry(whose(number)).or_insert(0) += pages * unit;
            }
            let all = sums.values().sum();
            let pages = |((by, group), bytes): ((Reclaimer, Option<String>), u64)| Pages {
                by,
                group,
                bytes,
                percent: percent(bytes, all),
            };
            let mut parts: Vec<Pages> = sums.into_iter().map(pages).collect();
            parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
            (all, parts)
        };
        let (evicted_bytes, evicted) = by_owner(&counted.evicted, page);
        Self {
            schema: MEMORY_SCHEMA,
            group: group.to_owned(),
            seconds,
            verdict: if reason.is_none() { Verdict::Valid } else { Verdict::Void },
            reason,
            stalled_ns,
            pressure_ns,
            parts,
            evicted_bytes,
            evicted,
            filled: by_owner(&counted.filled, page).1,
            grown: by_owner(&counted.grown, 1).1,
            dropped: counted.dropped,
        }
    }

    /// The part of the stalls of this kind, in percent.
    #[must_use]
    pub fn percent(&self, stall: Stall) -> f64 {
        self.parts.iter().filter(|part| part.stall == stall).map(|part| part.percent).sum()
    }
}

fn percent(part: u64, all: u64) -> f64 {
    if all > 0 { part as f64 / all as f64 * 100.0 } else { 0.0 }
}

/// Why the parts cannot be relied on.
fn objection(stalled: u64, pressure: u64) -> Option<String> {
    let allowed = (pressure as f64 * MEMORY_TOLERANCE) as u64 + NEGLIGIBLE_NS;
    (stalled + allowed < pressure).then(|| {
        format!(
            "the parts sum up to {:.6} s, and at least one thread was stalled for {:.6} s (memory.pressure)",
            stalled as f64 / 1e9,
            pressure as f64 / 1e9
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use counted::StallSum;

    fn names() -> Vec<String> {
        ["/mine", "/mine/low", "/hog"].map(str::to_owned).to_vec()
    }

    fn sum(stall: Stall, group: usize, ns: u64) -> StallSum {
        StallSum { stall, group, ns, lengths: vec![0, 0, 3] }
    }

    fn answer(counted: &StallCounted, pressure: Available<u64>) -> MemoryAnswer {
        MemoryAnswer::new("/mine", 1.0, counted, (&names(), 4096), pressure)
    }

    #[test]
    fn parts_name_the_group_whose_limit_it_was() {
        let stalls = vec![
            sum(Stall::Max, 2, 1_000),
            sum(Stall::Throttle, 1, 3_000),
            sum(Stall::ReadBack, 0, 0),
        ];
        let counted = StallCounted { stalls, ..StallCounted::default() };
        let answer = answer(&counted, Available::NotAvailable("v1".to_owned()));
        let shown: Vec<_> = answer
            .parts
            .iter()
            .map(|part| (part.stall, part.group.as_deref(), part.percent, part.lengths.count))
            .collect();
        assert_eq!(shown[0], (Stall::Throttle, Some("/mine"), 75.0, 3));
        assert_eq!(shown[1], (Stall::Max, Some("/mine/low"), 25.0, 3));
        assert_eq!((shown[2].1, answer.stalled_ns, answer.verdict), (None, 4_000, Verdict::Valid));
    }

    #[test]
    fn groups_below_the_watched_one_are_its_own_and_the_root_has_no_name() {
        let mut pages = vec![0; GROUP_NUMBERS];
        (pages[0], pages[1], pages[2], pages[3], pages[KSWAPD_NUMBER]) = (1, 2, 3, 10, 4);
        let counted =
            StallCounted { evicted: pages.clone(), filled: pages, ..StallCounted::default() };
        let answer = answer(&counted, Available::Value(0));
        let shown: Vec<_> = answer
            .evicted
            .iter()
            .map(|one| (one.by, one.group.as_deref(), one.bytes / 4096, one.percent))
            .collect();
        let expected = [
            (Reclaimer::Group, Some("/hog"), 10, 50.0),
            (Reclaimer::Own, None, 5, 25.0),
            (Reclaimer::Kswapd, None, 4, 20.0),
            (Reclaimer::Ungrouped, None, 1, 5.0),
        ];
        assert_eq!(shown, expected);
        assert_eq!((answer.evicted_bytes, &answer.filled), (20 * 4096, &answer.evicted));
    }

    /// Threads that are stalled together count each in the sum, and once in the kernel's count.
    #[test]
    fn a_sum_below_the_kernel_s_count_is_void_and_one_above_is_not() {
        let second = 1_000_000_000;
        for (pressure, verdict) in [
            (second / 2, Verdict::Valid),
            (second * 110 / 100, Verdict::Valid),
            (second * 120 / 100, Verdict::Void),
        ] {
            let stalls = vec![sum(Stall::Max, 1, second)];
            let counted = StallCounted { stalls, ..StallCounted::default() };
            let answer = answer(&counted, Available::Value(pressure));
            assert_eq!(
                (answer.verdict, answer.reason.is_some()),
                (verdict, verdict == Verdict::Void)
            );
        }
    }
}
