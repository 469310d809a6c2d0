//! The sort order of groups.

use assay_cgroup::inventory::{Entry, Rates};
use clap::ValueEnum;

/// What groups are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// As a tree
    Path,
    /// CPU time
    Cpu,
    /// Memory now
    Memory,
    /// Processes in the group itself
    Processes,
    /// Bytes read from disks
    Read,
    /// Bytes written to disks
    Write,
}

impl Order {
    /// All orders with their keys in `--watch`.
    pub(super) const KEYS: [(u8, Self); 6] = [
        (b'c', Self::Cpu),
        (b'm', Self::Memory),
        (b'p', Self::Processes),
        (b'r', Self::Read),
        (b'w', Self::Write),
        (b't', Self::Path),
    ];

    /// The name in the heading and in the list of keys.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Path => "tree",
            Self::Cpu => "CPU",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }

    /// The value of a group to sort by; unavailable values sort last.
    pub(super) fn value(self, entry: &Entry, rates: &Rates) -> f64 {
        let value = match self {
            Self::Path => None,
            Self::Cpu => rates.cpus.value().copied(),
            Self::Memory => entry.counts.memory.value().map(|bytes| *bytes as f64),
            Self::Processes => Some(entry.processes.len() as f64),
            Self::Read => rates.read.value().copied(),
            Self::Write => rates.write.value().copied(),
        };
        value.unwrap_or(-1.0)
    }
}
