//! The machine: CPUs, caches, nodes, kernel and tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_units::{Bytes, CpuSet, NodeSet};
use serde::{Deserialize, Serialize};

use crate::{Available, CgroupLayout, DamonScheme, Disk};

/// The processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs this process may run on.
    pub allowed: CpuSet,
    /// `model name` of /proc/cpuinfo.
    pub model: String,
    /// Groups of CPUs that share one core (`topology/thread_siblings_list`), one entry a core.
    pub cores: Vec<CpuSet>,
}

/// One level of cache, as `cache/indexN` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u8,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size.
    pub size: Bytes,
    /// Associativity; 0 means fully associative in sysfs.
    pub ways: u32,
    /// Line size in bytes.
    pub line: u32,
    /// CPUs that share this instance.
    pub shared_by: CpuSet,
}

/// One NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The kernel's number.
    pub id: u16,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Its memory.
    pub memory: Bytes,
    /// Distances to all nodes in order of their numbers (10 is local).
    pub distances: Vec<u32>,
    /// What the firmware says of its memory; empty where it says nothing (ACPI has an HMAT for it),
    /// and in records before it was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<NodeAccess>,
}

/// What the firmware says of the memory of a node, from the nodes that are nearest to it
/// (Documentation/admin-guide/mm/numaperf.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAccess {
    /// 0: the nearest of all; 1: the nearest with CPUs (Linux 5.13).
    pub class: u8,
    /// The nodes that are nearest.
    pub initiators: NodeSet,
    /// MB/s.
    pub read_bandwidth: Option<u64>,
    /// MB/s.
    pub write_bandwidth: Option<u64>,
    /// Nanoseconds.
    pub read_latency: Option<u64>,
    /// Nanoseconds.
    pub write_latency: Option<u64>,
}

/// A program that workloads or scratch disks need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Where it is found, and what it says of its version.
    pub found: Available<String>,
    /// The Debian package that brings it; empty where none is known.
    pub package: String,
    /// The file that is started, where it was looked for as part of a study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// One line of the preflight: what a study needs, what was seen, what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// What is needed, as a noun phrase.
    pub what: String,
    /// What was observed.
    pub observed: String,
    /// Whether that is enough.
    pub met: bool,
    /// What to do when it is not: a command to paste, or why nothing can be done.
    pub remedy: Option<String>,
}

/// What to do where a kernel makes no null block devices.
pub const NULL_BLK_REMEDY: &str = "modprobe null_blk nr_devices=0 and mount -t configfs none \
     /sys/kernel/config, or run the study in a virtual machine whose kernel has it (assay lab run)";

/// Everything a plan may depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// `uname -n`.
    pub host_name: String,
    /// By what this machine is told from others, in records since it was looked at: a hash, so that
    /// /etc/machine-id stays here (machine-id(5)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// `PRETTY_NAME` of os-release.
    pub distribution: String,
    /// Effective user id; 0 is root.
    pub effective_user: u32,
    /// Whether this process may do what only root may (loop devices, mounts, queues of disks),
    /// or why not.
    #[serde(default = "as_root")]
    pub root: Available<()>,
    /// What hypervisor runs this kernel, if one can be told.
    pub virtual_machine: Option<String>,
    /// The processors.
    pub cpus: Cpus,
    /// All caches, each instance once.
    pub caches: Vec<Cache>,
    /// NUMA nodes; one even on a machine without NUMA.
    pub nodes: Vec<Node>,
    /// Nodes with memory.
    pub memory_nodes: NodeSet,
    /// `MemTotal`.
    pub memory: Bytes,
    /// `SwapTotal`.
    pub swap: Bytes,
    /// Control groups.
    pub cgroup: CgroupLayout,
    /// Block devices by name.
    pub disks: Vec<Disk>,
    /// I/O schedulers that at least one queue offers.
    pub schedulers: Vec<String>,
    /// Whether null block devices can be made through configfs, or why not.
    #[serde(default = "null_blk_unknown")]
    pub null_blk: Available<()>,
    /// Whether pressure stall information is on, /proc/pressure.
    pub pressure: Available<bool>,
    /// Whether the kernel parses partition tables of scratch disks by itself (CONFIG_MSDOS_PARTITION
    /// or CONFIG_EFI_PARTITION), where that can be known.
    pub parses_partitions: Available<bool>,
    /// Schemes of DAMON that are on: the kernel may take, move or promote memory by itself.
    #[serde(default = "damon_unknown")]
    pub damon: Available<Vec<DamonScheme>>,
    /// What settings of the host say (docs/reference/settings.md), by name, as the files read. Of
    /// choices all are there, the active one in brackets. Empty in records before this was known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Available<String>>,
    /// Programs by name.
    pub tools: BTreeMap<String, Tool>,
}

/// Hosts that were recorded before this was known were all measured as root.
const fn as_root() -> Available<()> {
    Available::Value(())
}

/// Hosts that were recorded before this was looked at.
fn null_blk_unknown() -> Available<()> {
    Available::NotAvailable("not recorded by the version that measured this host".to_owned())
}

/// Hosts that were recorded before this was looked at.
fn damon_unknown() -> Available<Vec<DamonScheme>> {
    Available::NotAvailable("not recorded by the version that measured this host".to_owned())
}
