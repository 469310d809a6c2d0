//! Settings of the host in a run: what was asked, what the files said.

use assay_facts::Available;
use serde::{Deserialize, Serialize};

use crate::manifest::Drift;

/// A setting of the host as asked in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// Its name, `vm.dirty_ratio` or `thp.enabled`.
    pub setting: String,
    /// The value in the study, as text.
    pub asked: String,
    /// The file.
    pub path: String,
    /// What it should read.
    pub written: String,
    /// Whether it is only expected and not written: the kernel zeroes it when its rival is set.
    #[serde(default)]
    pub implied: bool,
}

/// What one setting of the host said in one repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingReading {
    /// Its name, as in [`SettingRecord`].
    pub setting: String,
    /// Before it was written; of choices the active one.
    pub found: Available<String>,
    /// After it was written.
    pub at_start: Available<String>,
    /// At the end of the repeat.
    pub at_end: Available<String>,
    /// Readings in between that differ from the one at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// That caches were dropped before the common start, which nothing takes back.
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
