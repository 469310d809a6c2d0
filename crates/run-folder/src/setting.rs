//! Settings of the host in a run: as requested and as read back.

use assay_facts::Available;
use serde::{Deserialize, Serialize};

use crate::drift::Drift;

/// A setting of the host as requested in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// Its name, `vm.dirty_ratio` or `thp.enabled`.
    pub setting: String,
    /// The value in the study, as text.
    pub asked: String,
    /// The file.
    pub path: String,
    /// The expected content.
    pub written: String,
    /// Whether it is only expected and not written: the kernel zeroes it when its counterpart is set.
    #[serde(default)]
    pub implied: bool,
}

/// The readings of one setting of the host in one repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingReading {
    /// Its name, as in [`SettingRecord`].
    pub setting: String,
    /// Before it was written; of a list of choices the active one.
    pub found: Available<String>,
    /// After it was written.
    pub at_start: Available<String>,
    /// At the end of the repeat.
    pub at_end: Available<String>,
    /// Readings in between that differ from the one at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// Caches dropped before the common start; this cannot be restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// What was written to /proc/sys/vm/drop_caches: 1 the page cache, 2 what the kernel can free
    /// of its own objects, 3 both.
    pub what: u8,
    /// Seconds that it took, with the sync before it: dirty pages cannot be dropped.
    pub seconds: f64,
    /// `Cached` and `SReclaimable` of /proc/meminfo before, bytes.
    pub before_bytes: Available<u64>,
    /// The same after.
    pub after_bytes: Available<u64>,
}
