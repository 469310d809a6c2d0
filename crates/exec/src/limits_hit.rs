//! Whether a limit bound: did the group ask for more than it allows? A pure function of what was
//! set and what was used.

mod cpu;
mod cpuset;
mod io;
mod memory;
mod pids;

use assay_facts::Available;
use serde::Serialize;

use crate::usage::ResourceUsage;

/// Whether the limit made a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// The group wanted more than the limit allows, and was held.
    Bound,
    /// The group never wanted more.
    DidNotBind,
    /// What the kernel counts does not tell.
    Undecided,
    /// The counter that would tell is missing here.
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

/// The answer for one limit, with the figures behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitHit {
    /// The answer.
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

/// A limit as the host has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit<'l> {
    /// The interface file, whose name says what it limits.
    pub(crate) file: &'l str,
    /// What the file says.
    pub(crate) reads: &'l str,
    /// Further files of the same knob with what they say (v1's CFS period).
    pub(crate) also: &'l [(String, String)],
}

/// Judges one limit. `others` are the limits set beside it.
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
        "io.weight" | "io.bfq.weight" | "blkio.bfq.weight" | "blkio.weight" => io::weight(used),
        file => LimitHit::new(
            Binding::Undecided,
            format!("the kernel keeps no counter that tells whether `{file}` made a difference"),
        ),
    }
}

/// `max`, or how v1 spells it: -1 for quotas, and the largest number of whole pages for memory.
fn is_unlimited(reads: &str) -> bool {
    const LARGEST: u64 = 9_200_000_000_000_000_000;
    let reads = reads.trim();
    reads == "max"
        || reads == "-1"
        || reads.starts_with("max ")
        || reads.parse::<u64>().is_ok_and(|number| number >= LARGEST)
}

/// A figure for a sentence: the value as `show` writes it, or that it is not available.
fn figure<T>(found: &Available<T>, show: impl FnOnce(&T) -> String) -> String {
    match found {
        Available::Value(value) => show(value),
        Available::NotAvailable(why) => format!("not available: {why}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
