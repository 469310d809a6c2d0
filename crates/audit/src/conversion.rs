//! What was asked for, and which number stands in the file for it: the translations of the kernel, of systemd,
//! of container runtimes and of the kubelet, as pure functions.

pub(crate) mod kubelet;
pub(crate) mod runtime;
pub(crate) mod systemd;

/// Lowest `cpu.shares` (kernel/sched/sched.h: MIN_SHARES).
pub(crate) const MIN_SHARES: u64 = 2;

/// Highest `cpu.shares` (MAX_SHARES).
pub(crate) const MAX_SHARES: u64 = 262_144;
