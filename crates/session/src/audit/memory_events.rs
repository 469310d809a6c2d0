//! Events of memory of a group itself.

use std::path::Path;

use assay_audit::snapshot::MAX_FILE;
use assay_kernel::{Root, counters};

/// The number of such events, `low` or `max`, in this directory of a group: `memory.events` counts those of the groups below
/// too, where the other file exists (Linux 5.3).
pub(super) fn own_memory_events(root: &Root, group: &Path, key: &str) -> Option<u64> {
    let of = |file: &str| {
        let text = root.read_at_most(group.join(file), MAX_FILE).ok()?;
        counters::keyed(text.as_bytes(), key)
    };
    of("memory.events.local").or_else(|| of("memory.events"))
}
