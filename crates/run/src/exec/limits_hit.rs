//! Decides whether a limit was hit. A pure function of the settings and of the resource usage.

mod cpu;
mod cpuset;
mod io;
mod memory;
mod pids;

use assay_host::facts::Available;
use serde::Serialize;

use crate::exec::usage::ResourceUsage;

/// Whether the limit made a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// The limit held the group back.
    Bound,
    /// The group never reached the limit.
    DidNotBind,
    /// The kernel's counters cannot decide it.
    Undecided,
    /// The counter that would decide it is missing on this host.
    NotAvailable,
}

impl Binding {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::DidNotBind => "did not bind",
            Self::Undecided => "undecided",
            Self::NotAvailable => "not available",
        }
    }
}

/// The result for one limit, with the figures behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitHit {
    /// The result.
    pub binding: Binding,
    /// The figures behind it, as a sentence fragment.
    pub figures: String,
}

impl LimitHit {
    fn new(binding: Binding, figures: impl Into<String>) -> Self {
        Self { binding, figures: figures.into() }
    }

    fn bound_if(bound: bool, figures: impl Into<String>) -> Self {
        Self::new(if bound { Binding::Bound } else { Binding::DidNotBind }, figures)
    }

    fn missing(why: &str) -> Self {
        Self::new(Binding::NotAvailable, why)
    }
}

/// A limit as read back from the host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit<'l> {
    /// The interface file, which determines what is limited.
    pub(crate) file: &'l str,
    /// The contents of the file.
    pub(crate) reads: &'l str,
    /// Further files of the same knob with their contents (v1's CFS period).
    pub(crate) also: &'l [(String, String)],
}

/// Judges one limit. `others` are the files of the other limits set.
pub(crate) fn judge(limit: &Limit, others: &[&str], used: &ResourceUsage) -> LimitHit {
    if is_unlimited(limit.reads) {
        return LimitHit::new(Binding::DidNotBind, "no limit is set");
    }
    match limit.file {
        "cpu.max" | "cpu.cfs_quota_us" => cpu::max(used),
        "cpu.weight" | "cpu.shares" | "cpu.weight.nice" | "cpu.idle" => cpu::weight(others, used),
        "memory.max" | "memory.limit_in_bytes" => memory::max(used),
        "memory.high" => memory::high(used),
        "memory.swap.max" | "memory.memsw.limit_in_bytes" => memory::swap(used),
        "pids.max" => pids::max(used),
        "cpuset.cpus" => cpuset::cpus(limit.reads, others, used),
        "cpuset.mems" => cpuset::mems(limit.reads, used),
        file if file == "io.max" || file.starts_with("blkio.throttle.") => io::max(limit, used),
        "io.weight" | "io.bfq.weight" | "blkio.bfq.weight" => io::weight(used),
        file => LimitHit::new(
            Binding::Undecided,
            format!("no kernel counter shows whether `{file}` made a difference"),
        ),
    }
}

/// `max`, or v1's equivalents: -1 for quotas, and the largest number of whole pages for memory.
fn is_unlimited(reads: &str) -> bool {
    const LARGEST: u64 = 9_200_000_000_000_000_000;
    let reads = reads.trim();
    reads == "max"
        || reads == "-1"
        || reads.starts_with("max ")
        || reads.parse::<u64>().is_ok_and(|number| number >= LARGEST)
}

/// A figure in a sentence: the value as `show` formats it, or the reason why it is not available.
fn figure<T>(available: &Available<T>, show: impl FnOnce(&T) -> String) -> String {
    match available {
        Available::Value(value) => show(value),
        Available::NotAvailable(why) => format!("not available: {why}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
