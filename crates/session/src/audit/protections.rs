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
        let with_counts = |setting: ProtectionSetting| {
            let counts = counts(root, &setting);
            (setting, counts)
        };
        Self { watched: all.into_iter().map(with_counts).collect(), left_out }
    }

    /// Whether each of them held until now.
    pub(super) fn rows(&self, root: &Root) -> Vec<ProtectionRow> {
        let row = |(setting, first): &(ProtectionSetting, MemoryCounts)| {
            protection(setting, first, &counts(root, setting))
        };
        self.watched.iter().map(row).collect()
    }
}

fn counts(root: &Root, setting: &ProtectionSetting) -> MemoryCounts {
    let own = Path::new(&setting.directory);
    let siblings = || setting.siblings.iter().map(Path::new);
    let swaps =
        root.read_at_most("/proc/swaps", MAX_FILE).is_ok_and(|text| text.lines().count() > 1);
    // `pgscan` also counts what a sibling reclaims at its own memory.max or memory.high while there is memory enough. kswapd
    // works only when the machine is short of it.
    let scanned: Vec<u64> =
        siblings().filter_map(|group| keyed(root, group, "memory.stat", "pgscan_kswapd")).collect();
    let beside: Vec<u64> = siblings().filter_map(|group| reclaimable(root, group, swaps)).collect();
    let used = root.read_at_most(own.join("memory.current"), MAX_FILE).ok();
    MemoryCounts {
        scanned: keyed(root, own, "memory.stat", "pgscan"),
        siblings_scanned: (!scanned.is_empty()).then(|| scanned.iter().sum()),
        low_events: keyed(root, own, "memory.events", "low"),
        used: used.and_then(|text| text.trim().parse().ok()),
        reclaimable: reclaimable(root, own, swaps),
        siblings_reclaimable: (!beside.is_empty()).then(|| beside.iter().sum()),
    }
}

/// What the kernel keeps in its lists for reclaim: page cache, and memory of processes where there is swap.
fn reclaimable(root: &Root, group: &Path, swaps: bool) -> Option<u64> {
    let text = root.read_at_most(group.join("memory.stat"), MAX_FILE).ok()?;
    let of = |key| counters::keyed(text.as_bytes(), key);
    let cache = of("inactive_file")?.saturating_add(of("active_file")?);
    let anonymous = of("inactive_anon")?.saturating_add(of("active_anon")?);
    Some(if swaps { cache.saturating_add(anonymous) } else { cache })
}

fn keyed(root: &Root, group: &Path, file: &str, key: &str) -> Option<u64> {
    let text = root.read_at_most(group.join(file), MAX_FILE).ok()?;
    counters::keyed(text.as_bytes(), key)
}
