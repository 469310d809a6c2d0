//! The counters of protected groups and of those beside them, at the start and at the end.

use std::path::Path;

use assay_audit::snapshot::MAX_FILE;
use assay_audit::{Snapshot, ToldProtection, told_protections};
use assay_contention::{MemoryCounts, ProtectionRow, protection};
use assay_kernel::{Root, counters};

/// Protections that are watched at most; the files of all siblings are read for each.
const MOST: usize = 256;
/// Siblings whose files are read.
const MOST_SIBLINGS: usize = 256;

/// The protections of this host with their counters at the start.
pub(super) struct Protections(Vec<(ToldProtection, MemoryCounts)>);

impl Protections {
    pub(super) fn start(root: &Root, told: &Snapshot) -> Self {
        let all = told_protections(told).into_iter().take(MOST);
        Self(
            all.map(|told| {
                let counts = counts(root, &told);
                (told, counts)
            })
            .collect(),
        )
    }

    /// Whether each of them held until now.
    pub(super) fn rows(&self, root: &Root) -> Vec<ProtectionRow> {
        let row = |(told, first): &(ToldProtection, MemoryCounts)| {
            protection(told, first, &counts(root, told))
        };
        self.0.iter().map(row).collect()
    }
}

fn counts(root: &Root, told: &ToldProtection) -> MemoryCounts {
    let own = Path::new(&told.directory);
    let siblings = told.siblings.iter().take(MOST_SIBLINGS);
    let scanned: Vec<u64> = siblings
        .filter_map(|group| keyed(root, Path::new(group), "memory.stat", "pgscan"))
        .collect();
    let used = root.read_at_most(own.join("memory.current"), MAX_FILE).ok();
    MemoryCounts {
        scanned: keyed(root, own, "memory.stat", "pgscan"),
        siblings_scanned: (!scanned.is_empty()).then(|| scanned.iter().sum()),
        low_events: keyed(root, own, "memory.events", "low"),
        used: used.and_then(|text| text.trim().parse().ok()),
    }
}

fn keyed(root: &Root, group: &Path, file: &str, key: &str) -> Option<u64> {
    let text = root.read_at_most(group.join(file), MAX_FILE).ok()?;
    counters::keyed(text.as_bytes(), key)
}
