//! Whether `memory.min` and `memory.low` held while memory was short.

use assay_audit::{ProtectionSetting, Reading};
use assay_host::facts::owner::Owner;
use assay_judge::verdict::Verdict;
use assay_sys::units::Bytes;
use serde::Serialize;

/// The counters of a group and its siblings at one moment; `None` for one that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounts {
    /// Pages of the group that the kernel looked at to reclaim them.
    pub scanned: Option<u64>,
    /// The pages of its siblings that the kernel looked at because the machine was short of memory: a sibling at a limit of
    /// its own does not count.
    pub siblings_scanned: Option<u64>,
    /// How often it was reclaimed although it was below its `memory.low`.
    pub low_events: Option<u64>,
    /// Bytes in use.
    pub used: Option<u64>,
    /// Bytes of the group that the kernel could take back: page cache, and without it too where there is swap.
    pub reclaimable: Option<u64>,
    /// The same of its siblings.
    pub siblings_reclaimable: Option<u64>,
}

/// Pages that the kernel scans at once (`SWAP_CLUSTER_MAX`, include/linux/swap.h).
const CLUSTER: f64 = 32.0;

/// A group that was made anew meanwhile counts from zero: what it counted before is not known.
const ANEW: &str = "its counters, or those of a sibling, began anew meanwhile";

/// A protection, and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProtectionRow {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with the protection.
    pub reading: Reading,
    /// What it is worth against the machine, in bytes, by use at the start.
    pub effective: Option<u64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// Judges a protection between two moments.
#[must_use]
pub fn protection(
    setting: &ProtectionSetting,
    first: &MemoryCounts,
    last: &MemoryCounts,
) -> ProtectionRow {
    let (verdict, why) =
        judged(setting, first, last).unwrap_or_else(|why| (Verdict::Void, why.to_owned()));
    ProtectionRow {
        group: setting.group.clone(),
        owner: setting.owner.clone(),
        reading: setting.reading.clone(),
        effective: setting.effective,
        verdict,
        why,
    }
}

/// The verdict and why; the error says why it is void.
fn judged(
    setting: &ProtectionSetting,
    first: &MemoryCounts,
    last: &MemoryCounts,
) -> Result<(Verdict, String), &'static str> {
    let own = grown(first.scanned, last.scanned)?.ok_or("memory.stat has no pgscan here")?;
    let siblings = grown(first.siblings_scanned, last.siblings_scanned)?
        .ok_or("memory.stat of no sibling has pgscan_kswapd here (Linux 6.0)")?;
    let below_low = grown(first.low_events, last.low_events)?.filter(|_| setting.is_low());
    if let Some(times) = below_low.filter(|times| own > 0 && *times > 0) {
        let left = last.siblings_reclaimable.map_or_else(String::new, |bytes| {
            format!("; its siblings had {} left that could be reclaimed", Bytes::new(bytes))
        });
        let why = format!(
            "it was reclaimed {times} times below its memory.low (memory.events.local){left}"
        );
        return Ok((Verdict::Broken, why));
    }
    match (own, siblings) {
        // Its own pages may have been scanned at its own limit, which says nothing about a protection.
        (_, 0) => Err("the machine was not short of memory: kswapd scanned no sibling"),
        (0, pages) if expected(pages, first, last).is_some_and(|own| own < CLUSTER) => {
            Err("it had too little to lose: unprotected, its pages would hardly have been scanned")
        }
        (0, pages) => {
            Ok((Verdict::Kept, format!("{pages} pages of siblings were scanned, none of its own")))
        }
        (pages, _) => Ok(scanned(setting, pages, first, last)),
    }
}

/// How many pages of the group would have been scanned beside so many of its siblings, in proportion to what both had.
fn expected(siblings: u64, first: &MemoryCounts, last: &MemoryCounts) -> Option<f64> {
    let own = first.reclaimable?.min(last.reclaimable?);
    let beside = first.siblings_reclaimable?.max(last.siblings_reclaimable?);
    Some(siblings as f64 * own as f64 / beside.max(1) as f64)
}

/// By how much a counter grew; nothing where there is none.
fn grown(first: Option<u64>, last: Option<u64>) -> Result<Option<u64>, &'static str> {
    match (first, last) {
        (Some(before), Some(now)) => now.checked_sub(before).map(Some).ok_or(ANEW),
        _ => Ok(None),
    }
}

/// The group itself was scanned, which it may be for what it uses beyond its protection.
fn scanned(
    setting: &ProtectionSetting,
    pages: u64,
    first: &MemoryCounts,
    last: &MemoryCounts,
) -> (Verdict, String) {
    // Above its protection at one end only, it may have been scanned while it was below.
    let least = first.used.zip(last.used).map(|(one, other)| one.min(other));
    match (least, setting.effective) {
        (Some(used), Some(effective)) if used > effective => (
            Verdict::Kept,
            format!("{pages} pages were scanned of what it uses beyond {effective} bytes"),
        ),
        _ => (
            Verdict::Undecided,
            format!("{pages} of its pages were scanned, and it was not seen above its protection"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(file: &str) -> ProtectionSetting {
        ProtectionSetting {
            group: "/g".to_owned(),
            owner: None,
            reading: Reading { file: format!("/g/{file}"), value: "4096".to_owned() },
            effective: Some(4096),
            directory: "/g".to_owned(),
            siblings: Vec::new(),
        }
    }

    fn counts(own: u64, siblings: u64, low: u64, used: u64) -> MemoryCounts {
        MemoryCounts {
            scanned: Some(own),
            siblings_scanned: Some(siblings),
            low_events: Some(low),
            used: Some(used),
            reclaimable: Some(64 << 20),
            siblings_reclaimable: Some(64 << 20),
        }
    }

    fn judge(file: &str, own: u64, siblings: u64, low: u64, used: u64) -> Verdict {
        let (first, last) = (counts(5, 5, 1, used), counts(5 + own, 5 + siblings, 1 + low, used));
        protection(&setting(file), &first, &last).verdict
    }

    #[test]
    fn a_protection_is_judged_only_while_memory_was_short() {
        assert_eq!(judge("memory.low", 0, 0, 0, 4096), Verdict::Void);
        assert_eq!(judge("memory.low", 0, 900, 0, 4096), Verdict::Kept);
        assert_eq!(judge("memory.low", 30, 900, 2, 4096), Verdict::Broken);
        assert_eq!(judge("memory.low", 30, 900, 0, 8192), Verdict::Kept);
        assert_eq!(judge("memory.min", 30, 900, 2, 4096), Verdict::Undecided);
    }

    #[test]
    fn a_group_that_had_nothing_to_lose_says_nothing() {
        let judge = |first: u64, last: u64| {
            let had = |counts, bytes| MemoryCounts { reclaimable: Some(bytes), ..counts };
            let (first, last) = (had(counts(5, 5, 1, 9), first), had(counts(5, 905, 1, 9), last));
            protection(&setting("memory.low"), &first, &last).verdict
        };
        assert_eq!(judge(64 << 20, 64 << 20), Verdict::Kept);
        assert_eq!(judge(64 << 20, 8192), Verdict::Void);
        assert_eq!(judge(0, 64 << 20), Verdict::Void, "it came afterwards, perhaps");
    }

    #[test]
    fn a_group_at_its_own_limit_says_nothing_about_its_protection() {
        assert_eq!(judge("memory.low", 30, 0, 0, 8192), Verdict::Void);
        assert_eq!(judge("memory.low", 30, 0, 2, 4096), Verdict::Broken);
    }

    #[test]
    fn counters_that_began_anew_or_are_missing_are_void() {
        let first = counts(500, 500, 5, 4096);
        let judge = |last: MemoryCounts| protection(&setting("memory.low"), &first, &last);
        for last in [counts(0, 900, 5, 4096), counts(500, 20, 5, 4096), counts(500, 900, 0, 4096)] {
            let row = judge(last);
            assert!(row.verdict == Verdict::Void && row.why.contains("anew"), "{row:?}");
        }
        let row = judge(MemoryCounts { siblings_scanned: None, ..first });
        assert!(row.verdict == Verdict::Void && row.why.contains("pgscan_kswapd"), "{row:?}");
    }

    #[test]
    fn scanned_pages_are_excused_only_by_use_beyond_it_at_both_ends() {
        let judge = |first, last| {
            let (first, last) = (counts(5, 5, 1, first), counts(35, 905, 1, last));
            protection(&setting("memory.low"), &first, &last).verdict
        };
        assert_eq!(judge(8192, 8192), Verdict::Kept);
        assert_eq!(judge(8192, 4096), Verdict::Undecided);
        assert_eq!(judge(1024, 8192), Verdict::Undecided);
    }
}
