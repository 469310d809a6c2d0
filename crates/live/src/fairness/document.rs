//! The whole answer of one watch.

use assay_host::facts::Available;
use assay_judge::verdict::Verdict;
use serde::Serialize;

use crate::fairness::answer::LevelAnswer;
use crate::fairness::disks::DiskDivision;
use crate::fairness::limits::LimitRow;
use crate::fairness::look::Look;
use crate::fairness::own_cpus::OwnCpus;
use crate::fairness::protections::ProtectionRow;
use crate::fairness::usage::UsageLevel;

/// What watching added to an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contention {
    /// How long was watched.
    pub seconds: f64,
    /// The usual length of a cell.
    pub cell_ms: u64,
    /// Which switches of threads the eBPF programs were shown.
    pub switches: Available<Switches>,
    /// The levels whose children competed for CPUs.
    pub cpu: Available<Vec<LevelAnswer>>,
    /// Where contention could not be seen: what the groups used by their own counters. It decides nothing.
    pub usage: Vec<UsageLevel>,
    /// The same for disks that weights divide.
    pub disks: Available<Vec<DiskDivision>>,
    /// Whether limits were reached.
    pub limits: Vec<LimitRow>,
    /// Whether protections held.
    pub protection: Vec<ProtectionRow>,
    /// Who ran on CPUs that a group has for itself.
    pub own_cpus: Available<Vec<OwnCpus>>,
    /// What could not be looked at, and why.
    pub not_looked_at: Vec<String>,
    /// What the eBPF programs and reading all this took, in parts of one CPU.
    pub cost: f64,
}

/// Switches of threads on all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Switches {
    /// Those that were shown.
    pub shown: u64,
    /// Those that were not: some virtual machines hide the events of a process.
    pub hidden: u64,
    /// CPU time of which it is not known who used it, since more than one switch in succession was hidden.
    pub unknown_s: f64,
}

impl Switches {
    /// Those up to a look.
    #[must_use]
    pub fn until(look: &Look) -> Self {
        let mut all = Self::default();
        for cpu in &look.cpus {
            all.shown += cpu.timing.events;
            all.hidden += cpu.hidden;
            all.unknown_s += cpu.unknown_ns as f64 * 1e-9;
        }
        all
    }
}

impl Contention {
    /// Whether anything was broken.
    #[must_use]
    pub fn has_broken(&self) -> bool {
        let disks = self.disks.value().into_iter().flatten().flat_map(|disk| &disk.levels);
        let levels = self.cpu.value().into_iter().flatten().chain(disks);
        let divided = levels.flat_map(|level| &level.rows).map(|row| row.verdict);
        let protected = self.protection.iter().map(|row| row.verdict);
        divided.chain(protected).any(|verdict| verdict == Verdict::Broken)
    }
}
