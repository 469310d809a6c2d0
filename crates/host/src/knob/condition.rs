//! Side conditions of interface files: what must hold for a write to be accepted or to have an
//! effect.

use std::fmt;

/// A side condition of an interface file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// v1: both lists of a cpuset must be set before a process can enter.
    BeforeProcesses,
    /// The list must be a subset of that of the parent group.
    WithinParentList,
    /// v1: quota per period may not exceed that of the parent group.
    QuotaWithinParent,
    /// The burst may not exceed the quota.
    BurstWithinQuota,
    /// The sum over siblings must fit into the budget of the parent group.
    RealTimeWithinParent,
    /// Memory plus swap: written after the limit on memory, and never below it.
    MemoryAndSwapAfterLimit,
    /// A group with processes cannot enable domain controllers for its children, and vice versa.
    NoInternalProcesses,
    /// A controller is enabled from the top down and disabled from the bottom up.
    EnabledAbove,
    /// A group becomes threaded permanently.
    OneWay,
    /// Threads move only within the threaded domain of their process.
    WithinThreadedDomain,
    /// Stored, and without effect until `io.cost.qos` enables iocost for the device.
    NeedsIoCost,
    /// Stored, and without effect unless bfq serves the device.
    NeedsBfq,
    /// Names whole disks by their numbers; a missing device is refused.
    WholeDisks,
    /// Direct and synchronous I/O only: on v1 writeback is charged to the root group.
    DirectWritesOnly,
    /// The last matching rule decides, so the order of rules matters.
    RulesInOrder,
    /// v1: refused while the group has children.
    NoChildren,
    /// A weight reads 0, or 1, and is refused while `cpu.idle` is 1.
    NotWhileIdle,
    /// Refused with EBUSY if the kernel cannot reclaim enough memory.
    ReclaimsFirst,
    /// A partition is valid only with exclusive CPUs below a valid partition.
    ValidPartition,
    /// Whole huge pages of the size in the file's name.
    WholeHugePages,
}

impl fmt::Display for Condition {
    /// A sentence without its full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeProcesses => {
                "on v1 both `cpuset.cpus` and `cpuset.mems` must be set before a process enters \
                 (ENOSPC)"
            }
            Self::WithinParentList => {
                "on v1 the list must be a subset of that of the parent group (EACCES); on v2 what the parent lacks is \
                 left out of the effective list"
            }
            Self::QuotaWithinParent => {
                "on v1 the quota per period may not exceed that of the parent group (EINVAL)"
            }
            Self::BurstWithinQuota => "may not exceed the quota (EINVAL)",
            Self::RealTimeWithinParent => {
                "the children must fit into the budget of the parent group (EINVAL); a group with real-time tasks takes no 0 \
                 (EBUSY)"
            }
            Self::MemoryAndSwapAfterLimit => {
                "must be written after `memory.limit_in_bytes` and may not be below it (EINVAL)"
            }
            Self::NoInternalProcesses => {
                "a group with processes cannot enable domain controllers for its children, and \
                 a group that has enabled one accepts no process (EBUSY); the root is exempt"
            }
            Self::EnabledAbove => {
                "a controller must first be enabled in the parent group (ENOENT), and first be disabled \
                 in the children (EBUSY)"
            }
            Self::OneWay => {
                "only `threaded` can be written, and it is permanent; the group must be empty, and the parent \
                 threaded or without domain controllers (EOPNOTSUPP)"
            }
            Self::WithinThreadedDomain => {
                "threads can move only between groups of one threaded domain (EOPNOTSUPP)"
            }
            Self::NeedsIoCost => {
                "has no effect until `io.cost.qos` of the root enables iocost for the device"
            }
            Self::NeedsBfq => "has no effect unless the device uses the scheduler bfq",
            Self::WholeDisks => "takes the numbers of existing whole disks (ENODEV)",
            Self::DirectWritesOnly => {
                "on v1 buffered writes are charged to the root group and are not limited"
            }
            Self::RulesInOrder => "rules are applied in the order in which they are written",
            Self::NoChildren => "refused while the group has children (EBUSY)",
            Self::NotWhileIdle => "is refused while `cpu.idle` is 1 (EINVAL); `cpu.weight` then reads 0, and 1 since 6.12",
            Self::ReclaimsFirst => {
                "a limit below the usage reclaims first; if that fails, v1 returns EBUSY and v2 kills"
            }
            Self::ValidPartition => {
                "valid only with exclusive CPUs, and below a valid partition or, since 6.7, below groups that list them in \
                 `cpuset.cpus.exclusive`; otherwise it reads `root invalid (reason)`"
            }
            Self::WholeHugePages => "rounded down to whole huge pages of the size in the name",
        })
    }
}
