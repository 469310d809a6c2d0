//! What must hold besides the value for a write to be taken, or to mean what it says.

use std::fmt;

/// A side condition of an interface file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// v1: both lists of a cpuset must be set before a process may enter.
    BeforeProcesses,
    /// The list must lie within that of the group above.
    WithinParentList,
    /// A share of CPU time above that of the group above is refused on v1.
    QuotaWithinParent,
    /// The burst may be as long as the quota at most.
    BurstWithinQuota,
    /// The sum over siblings must fit into the group above.
    RealTimeWithinParent,
    /// Memory and swap together: written after the limit on memory, and never below it.
    MemoryAndSwapAfterLimit,
    /// A group with processes enables no domain controller for its children, and the reverse.
    NoInternalProcesses,
    /// A controller is enabled from the top down and disabled from the bottom up.
    EnabledAbove,
    /// A group becomes threaded once and for all.
    OneWay,
    /// Threads move only within the threads of one process's domain.
    WithinThreadedDomain,
    /// Stored, and without effect until `io.cost.qos` enables iocost for the device.
    NeedsIoCost,
    /// Stored, and without effect unless bfq serves the device.
    NeedsBfq,
    /// Names whole disks by their numbers; a device that is not there is refused.
    WholeDisks,
    /// Direct and synchronous I/O only: writeback is charged to the root group on v1.
    DirectWritesOnly,
    /// The last holder of a rule decides, so the order of rules counts.
    RulesInOrder,
    /// v1: refused while a group exists below.
    NoChildren,
    /// A weight reads 0 and is refused while `cpu.idle` is 1.
    NotWhileIdle,
    /// Refused by the kernel's answer EBUSY when it cannot reclaim that much.
    ReclaimsFirst,
    /// A partition is valid only with CPUs of its own below a valid partition.
    ValidPartition,
    /// Whole huge pages of the size in the file's name.
    WholeHugePages,
}

impl fmt::Display for Condition {
    /// A whole sentence without its full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeProcesses => {
                "on v1 both `cpuset.cpus` and `cpuset.mems` must be set before a process enters \
                 (ENOSPC)"
            }
            Self::WithinParentList => "the list must lie within that of the group above",
            Self::QuotaWithinParent => {
                "on v1 the quota per period may not be above that of the group above (EINVAL)"
            }
            Self::BurstWithinQuota => "not above the quota (EINVAL)",
            Self::RealTimeWithinParent => {
                "the groups inside must fit into the budget of the group above (EINVAL, EBUSY)"
            }
            Self::MemoryAndSwapAfterLimit => {
                "written after `memory.limit_in_bytes`, and not below it (EINVAL)"
            }
            Self::NoInternalProcesses => {
                "a group that holds processes enables no domain controller for its children, and \
                 one that does admits no process (EBUSY); the root is exempt"
            }
            Self::EnabledAbove => {
                "a controller must be enabled in the group above first (ENOENT), and is disabled \
                 in the groups below first (EBUSY)"
            }
            Self::OneWay => {
                "only `threaded` may be written, and it is never taken back; the parent must be \
                 threaded, or free of domain controllers (EOPNOTSUPP)"
            }
            Self::WithinThreadedDomain => {
                "threads move only between groups of one threaded domain (EOPNOTSUPP)"
            }
            Self::NeedsIoCost => {
                "without effect until `io.cost.qos` of the root enables iocost for the device"
            }
            Self::NeedsBfq => "without effect unless the scheduler bfq serves the device",
            Self::WholeDisks => "names whole disks, by numbers that exist (ENODEV)",
            Self::DirectWritesOnly => {
                "on v1 buffered writes are charged to the root group and pass unlimited"
            }
            Self::RulesInOrder => "rules are applied in the order of writing",
            Self::NoChildren => "refused while there are groups inside (EBUSY)",
            Self::NotWhileIdle => "reads 0 and is refused while `cpu.idle` is 1 (EINVAL)",
            Self::ReclaimsFirst => {
                "a limit below the use reclaims first; v1 answers EBUSY where that fails, v2 kills"
            }
            Self::ValidPartition => {
                "becomes valid only with CPUs of its own below a valid partition, and reads \
                 `root invalid (reason)` otherwise"
            }
            Self::WholeHugePages => "rounded down to whole huge pages of the size in the name",
        })
    }
}
