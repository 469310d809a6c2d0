//! In which order groups stand.

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
    /// All, with the key that chooses each while watching.
    pub(super) const KEYS: [(u8, Self); 6] = [
        (b'c', Self::Cpu),
        (b'm', Self::Memory),
        (b'p', Self::Processes),
        (b'r', Self::Read),
        (b'w', Self::Write),
        (b't', Self::Path),
    ];

    /// Above a list in this order, and beside its key.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Path => "tree",
            Self::Cpu => "CPU",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }

    /// How much a group has of it; what is not available counts least.
    pub(super) fn of(self, entry: &Entry, rates: &Rates) -> f64 {
        let found = match self {
            Self::Path => None,
            Self::Cpu => rates.cpus.value().copied(),
            Self::Memory => entry.counts.memory.value().map(|bytes| *bytes as f64),
            Self::Processes => Some(entry.processes.len() as f64),
            Self::Read => rates.read.value().copied(),
            Self::Write => rates.write.value().copied(),
        };
        found.unwrap_or(-1.0)
    }
}
