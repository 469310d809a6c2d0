//! Influences besides the study's knobs on how resources are divided: limits, priorities, another scheduler.

use std::collections::BTreeMap;

use assay_facts::Available;
use serde::{Deserialize, Serialize};

/// The overrides found in one repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverridesRecord {
    /// Limits and classes that are set on a group of the trial, or on a group around the run's
    /// own. A file that holds nothing but its default is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitReading>,
    /// How the threads of each group are scheduled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadReading>,
    /// `/sys/kernel/sched_ext/state`, with the name of the scheduler where one is loaded.
    pub sched_ext: Available<String>,
    /// The devices that a disk is composed of (its `slaves`), by the study's name of the disk. Disks without
    /// an entry are not stacked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stacked: BTreeMap<String, Vec<String>>,
}

/// One file that limits a group or assigns it a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReading {
    /// The group's name in the trial; `above:/path` for one around the run's own.
    pub group: String,
    /// The interface file: `io.max`, `blkio.throttle.read_bps_device`, `cpu.max`.
    pub file: String,
    /// The content; of a file with a line per device, the lines of the trial's disks. Empty if it held its
    /// default.
    pub at_start: String,
    /// The same at the end of the repeat.
    pub at_end: String,
}

impl LimitReading {
    /// What it held at the start, or at the end if that was its default.
    #[must_use]
    pub fn text(&self) -> &str {
        if self.at_start.is_empty() { &self.at_end } else { &self.at_start }
    }
}

/// Threads of one group with equal scheduling attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReading {
    /// The group's name.
    pub group: String,
    /// `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext` (sched(7)).
    pub policy: String,
    /// -20 to 19.
    pub nice: i32,
    /// `none`, `rt`, `best-effort`, `idle` (ioprio_get(2)); `unknown` where the kernel did not report it.
    pub io_class: String,
    /// The largest number of such threads in any reading.
    pub threads: u64,
}
