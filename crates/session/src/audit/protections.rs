//! The counters of protected groups and of those beside them, at the start and at the end.

use std::path::Path;

use assay_audit::snapshot::MAX_FILE;
use assay_audit::{ProtectionSetting, Snapshot, protection_settings};
use assay_contention::{MemoryCounts, ProtectionRow, protection};
use assay_kernel::{Root, counters};

/// Protections that are watched at most, and siblings of each: their files are read for it.
const MOST: usize = 256;

/// The protections of this host with their counters at the start.
pub(super) struct Protections {
    watched: Vec<(ProtectionSetting, MemoryCounts)>,
    /// How many there are beyond [`MOST`].
    pub(super) left_out: usize,
}

impl Protections {
    pub(super) fn start(root: &Root, snapshot: &Snapshot) -> Self {
        let (all, left_out) = protection_settings(snapshot, MOST);
        let swaps = has_swap(root);
        let with_counts = |setting: ProtectionSetting| {
            let counts = counts(root, &setting, swaps);
            (setting, counts)
        };
        Self { watched: all.into_iter().map(with_counts).collect(), left_out }
    }

    /// Whether each of them held until now.
    pub(super) fn rows(&self, root: &Root) -> Vec<ProtectionRow> {
        let swaps = has_swap(root);
        let row = |(setting, first): &(ProtectionSetting, MemoryCounts)| {
            protection(setting, first, &counts(root, setting, swaps))
        };
        self.watched.iter().map(row).collect()
    }
}

fn has_swap(root: &Root) -> bool {
    text(root, Path::new("/proc/swaps")).is_some_and(|text| text.lines().count() > 1)
}

fn counts(root: &Root, setting: &ProtectionSetting, swaps: bool) -> MemoryCounts {
    let own = Path::new(&setting.directory);
    let stat = text(root, &own.join("memory.stat"));
    let siblings = setting.siblings.iter();
    let siblings: Vec<String> =
        siblings.filter_map(|group| text(root, &Path::new(group).join("memory.stat"))).collect();
    // `pgscan` also counts what a sibling reclaims at its own memory.max or memory.high while there is memory enough. kswapd
    // works only when the machine is short of it.
    let scanned = |stat: &String| keyed(stat, "pgscan_kswapd");
    MemoryCounts {
        scanned: stat.as_ref().and_then(|stat| keyed(stat, "pgscan")),
        siblings_scanned: sum(siblings.iter().filter_map(scanned)),
        low_events: text(root, &own.join("memory.events")).and_then(|text| keyed(&text, "low")),
        used: text(root, &own.join("memory.current")).and_then(|text| text.trim().parse().ok()),
        reclaimable: stat.as_ref().and_then(|stat| reclaimable(stat, swaps)),
        siblings_reclaimable: sum(siblings.iter().filter_map(|stat| reclaimable(stat, swaps))),
    }
}

/// What the kernel keeps in its lists for reclaim: page cache, and memory of processes where there is swap.
fn reclaimable(stat: &str, swaps: bool) -> Option<u64> {
    let of = |kind: &str| {
        let [inactive, active] =
            ["inactive", "active"].map(|list| keyed(stat, &format!("{list}_{kind}")));
        Some(inactive?.saturating_add(active?))
    };
    let (cache, anonymous) = (of("file")?, of("anon")?);
    Some(if swaps { cache.saturating_add(anonymous) } else { cache })
}

/// Nothing for no value at all.
fn sum(values: impl Iterator<Item = u64>) -> Option<u64> {
    values.reduce(u64::saturating_add)
}

fn text(root: &Root, file: &Path) -> Option<String> {
    root.read_at_most(file, MAX_FILE).ok()
}

fn keyed(text: &str, key: &str) -> Option<u64> {
    counters::keyed(text.as_bytes(), key)
}
