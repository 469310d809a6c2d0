//! Whether `memory.min` and `memory.low` held while memory was short.

use assay_audit::{ProtectionSetting, Reading};
use assay_facts::owner::Owner;
use assay_verdict::Verdict;
use serde::Serialize;

/// The counters of a group and its siblings at one moment; `None` for one that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryCounts {
    /// Pages of the group that the kernel looked at to reclaim them.
    pub scanned: Option<u64>,
    /// The same of its siblings.
    pub siblings_scanned: Option<u64>,
    /// How often it was reclaimed although it was below its `memory.low`.
    pub low_events: Option<u64>,
    /// Bytes in use.
    pub used: Option<u64>,
}

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
    let grown = |of: fn(&MemoryCounts) -> Option<u64>| Some(of(last)?.saturating_sub(of(first)?));
    let own = grown(|counts| counts.scanned);
    let siblings = grown(|counts| counts.siblings_scanned);
    let below_low = grown(|counts| counts.low_events).filter(|_| setting.is_low());
    let (verdict, why) = match (own, siblings) {
        (None, _) | (_, None) => (Verdict::Void, "memory.stat has no pgscan here".to_owned()),
        (Some(0), Some(0)) => {
            (Verdict::Void, "memory was not short: the kernel scanned no sibling".to_owned())
        }
        (Some(0), Some(pages)) => {
            (Verdict::Kept, format!("{pages} pages of siblings were scanned, none of its own"))
        }
        (Some(pages), _) => scanned(setting, pages, below_low, first, last),
    };
    ProtectionRow {
        group: setting.group.clone(),
        owner: setting.owner.clone(),
        reading: setting.reading.clone(),
        effective: setting.effective,
        verdict,
        why,
    }
}

/// The group itself was scanned, which it may be for what it uses beyond its protection.
fn scanned(
    setting: &ProtectionSetting,
    pages: u64,
    below_low: Option<u64>,
    first: &MemoryCounts,
    last: &MemoryCounts,
) -> (Verdict, String) {
    if let Some(times) = below_low.filter(|times| *times > 0) {
        let why = format!("it was reclaimed {times} times below its memory.low (memory.events)");
        return (Verdict::Broken, why);
    }
    let highest = first.used.zip(last.used).map(|(one, other)| one.max(other));
    match (highest, setting.effective) {
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

    fn judge(file: &str, own: u64, siblings: u64, low: u64, used: u64) -> Verdict {
        let setting = ProtectionSetting {
            group: "/g".to_owned(),
            owner: None,
            reading: Reading { file: format!("/g/{file}"), value: "4096".to_owned() },
            effective: Some(4096),
            directory: "/g".to_owned(),
            siblings: Vec::new(),
        };
        let counts = |own, siblings, low| MemoryCounts {
            scanned: Some(own),
            siblings_scanned: Some(siblings),
            low_events: Some(low),
            used: Some(used),
        };
        protection(&setting, &counts(5, 5, 1), &counts(5 + own, 5 + siblings, 1 + low)).verdict
    }

    #[test]
    fn a_protection_is_judged_only_while_memory_was_short() {
        assert_eq!(judge("memory.low", 0, 0, 0, 4096), Verdict::Void);
        assert_eq!(judge("memory.low", 0, 900, 0, 4096), Verdict::Kept);
        assert_eq!(judge("memory.low", 30, 900, 2, 4096), Verdict::Broken);
        assert_eq!(judge("memory.low", 30, 900, 0, 8192), Verdict::Kept);
        assert_eq!(judge("memory.min", 30, 900, 2, 4096), Verdict::Undecided);
    }
}
