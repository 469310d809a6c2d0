//! What a source is. Each source's file has its own entry; `SOURCES` in `source/mod.rs` lists them, and
//! docs/reference/sources.md describes them.

use std::time::Duration;

use crate::run_folder::Rows;
use assay_sys::kernel::Root;

use crate::sample::target::Targets;

/// How much of a source a round reads.
///
/// With 128 groups the kernel spends 1.6 % of a core on formatting three files per group ten times a second
/// (docs/results/performance.md), and this time is lost to the measured groups. With many files, only bytes
/// are therefore read in every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything, including sources that are not due: the first and the last round.
    Full,
    /// Everything that is due.
    Whole,
    /// Without values that need further files for each group: requests, CPU time, pressure.
    Essential,
}

/// The table of a source, and what it takes to read it.
#[derive(Debug, Clone)]
pub struct TableInfo {
    /// Name of the table.
    pub name: &'static str,
    /// Names of its counters, with units.
    pub columns: Vec<String>,
    /// The subjects of its rows, by index, as far as they are known from the start.
    pub subjects: Vec<String>,
    /// Number of files that a whole round reads: formatting them in the kernel is the main cost of sampling.
    pub files: usize,
    /// Minimum time between two reads. Zero is every round; the first and the last round read everything.
    pub period: Duration,
}

impl TableInfo {
    /// A table that every round reads, from one file for each subject.
    #[must_use]
    pub fn new(name: &'static str, columns: Vec<String>, subjects: Vec<String>) -> Self {
        let files = subjects.len().max(1);
        Self { name, columns, subjects, files, period: Duration::ZERO }
    }
}

/// A source that is read in rounds.
pub trait Source: Send {
    /// Its table.
    fn table(&self) -> &TableInfo;

    /// Name of its table.
    fn name(&self) -> &'static str {
        self.table().name
    }

    /// Counters that this host lacks, as `source.column` with the reason: called before the first round and
    /// after the last.
    fn reasons(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// CPU time spent for it so far by threads other than the sampler's.
    fn helper_thread_ns(&self) -> u64 {
        0
    }

    /// No rows yet of this source, with the clock of their times.
    fn rows(&self, now: fn() -> u64) -> Rows {
        let TableInfo { name, columns, subjects, .. } = self.table();
        Rows::new(name, columns, subjects, now)
    }

    /// Reads every subject once and adds a row for each that has values at this depth; a counter that was not
    /// read is `None`.
    fn read(&mut self, rows: &mut Rows, depth: Depth);
}

/// One source.
#[derive(Debug, Clone, Copy)]
pub struct SourceInfo {
    /// Name of its table.
    pub name: &'static str,
    /// Which runs have it.
    pub inclusion: Inclusion,
    /// Opens its files, once.
    pub open: Open,
}

/// Opens the files of a source; a host that lacks it gives the reason.
pub type Open = fn(&Root, &Targets) -> Result<Box<dyn Source>, String>;

/// Which runs have a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inclusion {
    /// Every run.
    Always,
    /// Runs that request it, and those that request all: it is large.
    OnRequest,
    /// Runs that request it by its name, since other processes wait while the kernel counts.
    ByNameOnly,
}
