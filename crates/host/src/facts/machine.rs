//! The machine: CPUs, caches, nodes, kernel and tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_sys::units::{Bytes, CpuSet, NodeSet};
use serde::{Deserialize, Serialize};

use crate::facts::{Available, CgroupLayout, Disk};

/// The processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs this process may run on.
    pub allowed: CpuSet,
    /// `model name` of /proc/cpuinfo.
    pub model: String,
    /// Sets of CPUs that share one core (`topology/thread_siblings_list`), one entry per core.
    pub cores: Vec<CpuSet>,
}

/// A cache, as described by `cache/indexN`.
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

/// A NUMA node.
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
    /// Memory performance reported by the firmware; empty if not reported (ACPI uses an HMAT), and
    /// in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<NodeAccess>,
}

/// Memory performance of a node reported by the firmware, for access from the nearest nodes
/// (Documentation/admin-guide/mm/numaperf.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAccess {
    /// 0: the nearest nodes; 1: the nearest nodes with CPUs (Linux 5.13).
    pub class: u8,
    /// The nearest nodes.
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
    /// Its path and version.
    pub found: Available<String>,
    /// Its Debian package; empty if unknown.
    pub package: String,
    /// The executable file, if it was looked up for a study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// One line of the preflight check: requirement, observation, remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The requirement, as a noun phrase.
    pub what: String,
    /// The observation.
    pub observed: String,
    /// Whether the requirement is met.
    pub met: bool,
    /// The remedy if it is not: a command to paste, or why nothing can be done.
    pub remedy: Option<String>,
}

/// The remedy if a kernel cannot create null block devices.
pub const NULL_BLK_REMEDY: &str = "modprobe null_blk nr_devices=0 and mount -t configfs none \
     /sys/kernel/config, or run the study in a virtual machine whose kernel has it (assay lab run)";

/// Everything that a plan may depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// `uname -n`.
    pub host_name: String,
    /// Identifies this machine, in records since this was added: a hash, so that /etc/machine-id
    /// stays on the host (machine-id(5)).
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
    /// Whether this process may do what only root may (loop devices, mounts, queues of disks), or
    /// the reason why not.
    #[serde(default = "as_root")]
    pub root: Available<()>,
    /// The hypervisor that runs this kernel, if it can be determined.
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
    /// I/O schedulers available on at least one queue.
    pub schedulers: Vec<String>,
    /// Whether null block devices can be created through configfs, or the reason why not.
    #[serde(default = "not_recorded")]
    pub null_blk: Available<()>,
    /// Whether pressure stall information is enabled, /proc/pressure.
    pub pressure: Available<bool>,
    /// Whether the kernel parses partition tables of scratch disks by itself
    /// (CONFIG_MSDOS_PARTITION or CONFIG_EFI_PARTITION), if known.
    pub parses_partitions: Available<bool>,
    /// By which law weights of CPU divide: `smp` before Linux 7.3, since then as /sys/kernel/debug/sched/cgroup_mode says.
    #[serde(default = "not_recorded")]
    pub weight_mode: Available<String>,
    /// Values of host settings (docs/reference/settings.md), by name, as read from the files. For
    /// choices all are listed, the active one in brackets. Empty in records of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Available<String>>,
    /// Programs by name.
    pub tools: BTreeMap<String, Tool>,
}

impl HostFacts {
    /// Whether this is a machine of QEMU without KVM: some ten times slower than its host, and unevenly.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.virtual_machine.as_deref() == Some("QEMU")
    }

    /// Schedulers that loop disks take here, by those that exist; `None` where there are none with a queue. Linux 5.10
    /// offers `none` only (BLK_MQ_F_NO_SCHED in drivers/block/loop.c), 6.1 all that it has.
    #[must_use]
    pub fn loop_schedulers(&self) -> Option<Vec<&str>> {
        let loops = self.disks.iter().filter(|disk| disk.name.starts_with("loop"));
        let queues: Vec<_> = loops.filter_map(|disk| disk.scheduler.as_ref()).collect();
        let offered = queues.iter().flat_map(|queue| &queue.offered).map(String::as_str);
        (!queues.is_empty()).then(|| offered.collect())
    }
}

/// The default for hosts recorded by older versions, which all measured as root.
const fn as_root() -> Available<()> {
    Available::Value(())
}

/// The default for hosts recorded by older versions.
fn not_recorded<T>() -> Available<T> {
    Available::NotAvailable("not recorded by the version that measured this host".to_owned())
}
