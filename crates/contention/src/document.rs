//! The whole answer of one watch.

use assay_facts::Available;
use assay_verdict::Verdict;
use serde::Serialize;

use crate::answer::LevelAnswer;
use crate::disks::DiskDivision;
use crate::limits::LimitRow;
use crate::own_cpus::OwnCpus;
use crate::protections::ProtectionRow;

/// What watching added to an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contention {
    /// How long was watched.
    pub seconds: f64,
    /// The usual length of a cell.
    pub cell_ms: u64,
    /// The levels whose children competed for CPUs.
    pub cpu: Available<Vec<LevelAnswer>>,
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
