//! Sources: each knows its files, its columns and how to read one round.

mod buddy;
mod cpu;
mod cpu_split;
mod cpus;
mod damon;
mod dirty;
mod disk;
mod group_nodes;
mod host_cpu;
mod io;
mod keyed_file;
mod memory;
mod nodes;
mod pages;
mod perf;
mod pressure;
mod resctrl;
mod threads;
mod throttle;
mod uncore;
mod vmstat;
mod walk;

use std::collections::BTreeMap;
use std::time::Duration;

use assay_kernel::Root;
pub use assay_run_folder::Rows;

pub use perf::COLUMNS as PERF_COLUMNS;
pub use uncore::COLUMNS as UNCORE_COLUMNS;

use crate::registry::{Choice, SourceInfo};
use crate::target::Targets;

/// All sources, in the order in which a round reads them.
pub const SOURCES: &[SourceInfo] = &[
    io::INFO,
    disk::INFO,
    cpu::INFO,
    cpu_split::INFO,
    throttle::INFO,
    memory::INFO,
    dirty::INFO,
    host_cpu::INFO,
    cpus::INFO,
    pressure::INFO,
    vmstat::VMSTAT_INFO,
    vmstat::MEMINFO_INFO,
    nodes::INFO,
    buddy::BUDDYINFO_INFO,
    buddy::PAGETYPEINFO_INFO,
    group_nodes::INFO,
    threads::INFO,
    pages::INFO,
    perf::INFO,
    resctrl::INFO,
    uncore::INFO,
    damon::INFO,
];

/// Period of sources that are expensive or change slowly.
const SECOND: Duration = Duration::from_secs(1);

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

/// A source that is read in rounds.
pub trait Source: Send {
    /// Name of its table.
    fn name(&self) -> &'static str;

    /// Names of its counters, with units.
    fn columns(&self) -> &[String];

    /// The subjects of its rows, by index.
    fn subjects(&self) -> Vec<String>;

    /// Number of files that a whole round reads: formatting them in the kernel is the main cost of sampling.
    fn files(&self) -> usize;

    /// Minimum time between two reads. Zero is every round; the first and the last round read everything.
    fn period(&self) -> Duration {
        Duration::ZERO
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
        Rows::new(self.name(), self.columns(), &self.subjects(), now)
    }

    /// Reads every subject once and adds a row for each that has values at this depth; a counter that was not
    /// read is `None`.
    fn read(&mut self, rows: &mut Rows, depth: Depth);
}

/// The sources available on this host for these targets.
pub struct Prepared {
    /// In the order they are read.
    pub sources: Vec<Box<dyn Source>>,
    /// Sources that could not be opened, with the reason.
    pub not_available: BTreeMap<String, String>,
}

/// Opens every file that the targets need, once, for the sources that every run has.
#[must_use]
pub fn prepare(root: &Root, targets: &Targets) -> Prepared {
    prepare_chosen(root, targets, &Choice::Usual)
}

/// The same for the chosen sources.
#[must_use]
pub fn prepare_chosen(root: &Root, targets: &Targets, choice: &Choice) -> Prepared {
    let mut prepared = Prepared { sources: Vec::new(), not_available: BTreeMap::new() };
    for source in SOURCES {
        let opened = match choice.includes(source.name) {
            true => (source.open)(root, targets),
            false => Err("not requested; a study requests it in [sampling] sources".to_owned()),
        };
        match opened {
            Ok(source) => {
                prepared.not_available.extend(source.reasons());
                prepared.sources.push(source);
            }
            Err(why) => drop(prepared.not_available.insert(source.name.to_owned(), why)),
        }
    }
    prepared
}

/// A source for the list of those that are read.
fn boxed<S: Source + 'static>(opened: Result<S, String>) -> Result<Box<dyn Source>, String> {
    opened.map(|source| Box::new(source) as Box<dyn Source>)
}

/// Owned names of columns.
fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}
