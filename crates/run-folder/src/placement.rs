//! Placement of workloads: as requested, and as the kernel reports it for threads and pages.

use std::collections::BTreeMap;

use assay_facts::Available;
use assay_units::{CpuSet, MemoryPolicy};
use serde::{Deserialize, Serialize};

/// The placement of one workload in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementRecord {
    /// The workload's name in the trial.
    pub workload: String,
    /// Its group.
    pub group: String,
    /// The CPUs as the study names them: `siblings`, `0-3`.
    pub asked_cpus: Option<String>,
    /// The CPUs on this host.
    pub cpus: Option<CpuSet>,
    /// The memory policy.
    pub memory: Option<MemoryPolicy>,
    /// The mode of huge pages.
    pub huge_pages: Option<String>,
    /// The part of its anonymous memory that should be on each node; empty if the policy promises nothing
    /// about single nodes.
    pub pages: BTreeMap<u16, f64>,
}

/// The observed placement of one workload in one repeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacementReading {
    /// The workload's name in the trial.
    pub workload: String,
    /// How often its threads were examined during the window.
    pub looks: u64,
    /// The largest number of threads at once.
    pub threads: u64,
    /// Samples of a thread with the CPU it ran on last, all examinations together.
    pub samples: u64,
    /// Samples on the requested CPUs; all of them if none were requested.
    pub on_cpus: u64,
    /// Samples by CPU.
    pub by_cpu: BTreeMap<u16, u64>,
    /// Samples of a thread that had been examined before, 0 in records of older versions.
    #[serde(default)]
    pub followed: u64,
    /// Those of them with another CPU than the time before.
    #[serde(default)]
    pub moved: u64,
    /// Samples by the CPUs the thread was allowed to use (`Cpus_allowed_list`).
    pub allowed_cpus: BTreeMap<String, u64>,
    /// Samples by the nodes the thread was allowed to use (`Mems_allowed_list`).
    pub allowed_nodes: BTreeMap<String, u64>,
    /// Samples by `THP_enabled` of /proc/PID/status, where the kernel shows it (5.0).
    pub huge_pages: BTreeMap<String, u64>,
    /// Bytes of anonymous memory on each node at the end of the window, or at the last count before
    /// the workload ended by itself; all processes together.
    pub pages: Option<Available<BTreeMap<u16, u64>>>,
    /// Bytes of mapped files on each node at the same time, by path: the largest ones, without programs and
    /// their libraries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, BTreeMap<u16, u64>>,
    /// Bytes of anonymous memory by the policy of their area, as the kernel spells it.
    pub policies: BTreeMap<String, u64>,
}

/// A counter of the host at the start of a repeat, before its workloads started, and at the end of its
/// window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterSpan {
    /// At the start.
    pub before: u64,
    /// At the end.
    pub after: u64,
}

impl CounterSpan {
    /// The increase in between.
    #[must_use]
    pub const fn since(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}

/// The host's counters of placement during a repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeCounts {
    /// `numa_miss` of each node: pages allocated there because the preferred node had none free.
    pub missed_pages: BTreeMap<u16, u64>,
    /// The counters of numastat(8) by node and by name, in pages; empty in records from before this field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numastat: BTreeMap<u16, BTreeMap<String, CounterSpan>>,
    /// Pages that automatic balancing moved (`numa_pages_migrated`).
    pub moved_pages: Available<u64>,
    /// `kernel.numa_balancing` at the start.
    pub balancing: Available<String>,
    /// The weights of weighted interleaving at the start, by node; empty if there are none.
    pub weights: BTreeMap<u16, u64>,
}
