//! How each limit is tried: what the copy may do, what its twin does, and what that shows.

mod cpu;
mod cpuset;
mod io;
mod memory;
mod pids;

use std::path::Path;

use assay_sys::kernel::Error;

use crate::probe::Verdict;
use crate::probe::beside::Beside;
use crate::probe::limit::Limit;

/// What a proof has shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proof {
    pub(crate) verdict: Verdict,
    /// Why it is not enforced, or cannot be shown.
    pub(crate) reason: String,
    /// What the copy and the twin did.
    pub(crate) measured: Vec<String>,
}

impl Proof {
    pub(crate) fn enforced(measured: impl Into<String>) -> Self {
        Self { verdict: Verdict::Enforced, reason: String::new(), measured: vec![measured.into()] }
    }

    pub(crate) fn not_enforced(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotEnforced, reason: reason.into(), measured: Vec::new() }
    }

    pub(crate) fn not_provable(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotProvable, reason: reason.into(), measured: Vec::new() }
    }

    /// Adds what was seen.
    pub(crate) fn with(mut self, line: impl Into<String>) -> Self {
        self.measured.push(line.into());
        self
    }
}

/// Tries a limit of `amount`, whose file in `group` it is.
pub(crate) fn prove(
    limit: Limit,
    beside: &Beside<'_>,
    group: &Path,
    amount: f64,
) -> Result<Proof, Error> {
    match limit {
        Limit::MemoryMax => memory::max(beside, amount),
        Limit::MemoryHigh => memory::high(beside, amount),
        Limit::PidsMax => pids::max(beside, amount),
        Limit::CpuMax => cpu::max(beside, amount),
        Limit::CpuWeight => cpu::weight(beside),
        Limit::CpusetCpus => cpuset::cpus(beside, group),
        Limit::IoMax => io::max(beside, group),
    }
}

/// Memory that a proof may need beside the group, with a margin for what the group asks for meanwhile.
pub(crate) const MEMORY: f64 = (56 << 20) as f64;
/// The same of tasks.
pub(crate) const TASKS: f64 = 40.0;
