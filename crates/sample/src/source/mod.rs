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
use assay_run_folder::{RowBuffer, Table};

pub use perf::COLUMNS as PERF_COLUMNS;
pub use uncore::COLUMNS as UNCORE_COLUMNS;

use crate::registry::{Choice, SOURCES};
use crate::target::Targets;

/// The pace of sources that are dear, or whose counters move slowly.
const SECOND: Duration = Duration::from_secs(1);

/// How much of a source a round reads.
///
/// With 128 groups the kernel spends 1.6 % of a core on writing out three files a group ten times
/// a second (docs/results/performance.md), and what is spent on looking is taken from what is looked at.
/// So where files are many, bytes alone are read in every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything, also what has a pace of its own: the first and the last round.
    Full,
    /// Everything that is due.
    Whole,
    /// Without what takes further files for each group: requests, CPU time, pressure.
    Essential,
}

/// Something that is read once a round.
pub trait Source: Send {
    /// Name of its table.
    fn name(&self) -> &'static str;

    /// Names of its counters, with units.
    fn columns(&self) -> &[String];

    /// Whom its rows are about, by index.
    fn subjects(&self) -> Vec<String>;

    /// How many files a whole round reads: the kernel's work of writing them out is what sampling
    /// costs.
    fn files(&self) -> usize;

    /// The least time between two reads. Zero is every round; the first and the last round read
    /// everything.
    fn period(&self) -> Duration {
        Duration::ZERO
    }

    /// What of it this host lacks, as `source.column` with the reason: asked for before the first
    /// round and after the last.
    fn reasons(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// CPU time that threads beside the sampler's have spent on it so far.
    fn aside_ns(&self) -> u64 {
        0
    }

    /// Reads every subject once and adds a row for each that has something to tell at this depth;
    /// a counter that was not read is `None`.
    fn read(&mut self, rows: &mut Rows, depth: Depth);
}

/// Rows of one source that wait to be written. Adding one allocates nothing once there has been a
/// batch of that size.
#[derive(Debug)]
pub struct Rows {
    source: &'static str,
    columns: Vec<String>,
    waiting: RowBuffer,
    now: fn() -> u64,
}

impl Rows {
    /// An empty set of rows for `source`.
    #[must_use]
    pub fn new(source: &dyn Source, now: fn() -> u64) -> Self {
        let columns = source.columns().to_vec();
        let mut waiting = RowBuffer::new(columns.len());
        for subject in source.subjects() {
            waiting.add_subject(&subject);
        }
        Self { source: source.name(), columns, waiting, now }
    }

    /// The time that a row added now would bear.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.now)()
    }

    /// A new subject, for sources that learn of theirs as they go. The caller sees to it that no
    /// two have the same name.
    pub fn subject(&mut self, name: &str) -> usize {
        self.waiting.add_subject(name)
    }

    /// Adds a row about `subject`, stamped now. A counter without a value is `None`.
    pub fn add(&mut self, subject: usize, values: &[Option<u64>]) {
        self.add_at((self.now)(), subject, values);
    }

    /// Adds a row that was read at this time, for files that tell of many subjects at once.
    pub fn add_at(&mut self, time_ns: u64, subject: usize, values: &[Option<u64>]) {
        self.waiting.push(time_ns, subject, values);
    }

    /// The rows so far.
    #[must_use]
    pub const fn waiting(&self) -> &RowBuffer {
        &self.waiting
    }

    /// The rows so far, as the table that readers see.
    #[must_use]
    pub fn table(&self) -> Table {
        self.waiting.table(self.source, &self.columns)
    }

    /// Forgets the rows and keeps their memory.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

/// The sources that this host has for these targets.
pub struct Prepared {
    /// In the order they are read.
    pub sources: Vec<Box<dyn Source>>,
    /// What could not be opened, by source, with the reason.
    pub not_available: BTreeMap<String, String>,
}

/// Opens every file that the targets need, once: the sources that every run has.
#[must_use]
pub fn prepare(root: &Root, targets: &Targets) -> Prepared {
    prepare_chosen(root, targets, &Choice::Usual)
}

/// The same with the sources that are chosen.
#[must_use]
pub fn prepare_chosen(root: &Root, targets: &Targets, choice: &Choice) -> Prepared {
    let mut prepared = Prepared { sources: Vec::new(), not_available: BTreeMap::new() };
    for source in SOURCES {
        if choice.takes(source.name) {
            prepared.open(source.name, root, targets);
        } else {
            let why = "not asked for; a study names it in [sampling] sources".to_owned();
            prepared.not_available.insert(source.name.to_owned(), why);
        }
    }
    prepared
}

impl Prepared {
    fn open(&mut self, name: &str, root: &Root, targets: &Targets) {
        match name {
            "io" => self.take(name, io::GroupIo::open(root, targets)),
            "disk" => self.take(name, disk::Disks::open(root, targets)),
            "cpu" => self.take(name, cpu::GroupCpu::open(root, targets)),
            "cpu_split" => self.take(name, cpu_split::CpuSplit::open(root, targets)),
            "throttle" => self.take(name, throttle::Throttle::open(root, targets)),
            "memory" => self.take(name, memory::Memory::open(root, targets)),
            "dirty" => self.take(name, dirty::Dirty::open(root)),
            "host_cpu" => self.take(name, host_cpu::HostCpu::open(root)),
            "cpus" => self.take(name, cpus::Cpus::open(root)),
            "pressure" => self.take(name, pressure::Pressure::open(root, targets)),
            "vmstat" => self.take(name, vmstat::HostMemory::vmstat(root)),
            "meminfo" => self.take(name, vmstat::HostMemory::meminfo(root)),
            "nodes" => self.take(name, nodes::NodeMemory::open(root)),
            "buddyinfo" => self.take(name, buddy::Buddy::buddyinfo(root)),
            "pagetypeinfo" => self.take(name, buddy::Buddy::pagetypeinfo(root)),
            "group_nodes" => self.take(name, group_nodes::GroupNodes::open(root, targets)),
            "threads" => self.take(name, threads::Threads::open(root, targets)),
            "pages" => self.take(name, pages::Pages::open(root, targets)),
            "perf" => self.take(name, perf::Perf::open(root, targets)),
            "resctrl" => self.take(name, resctrl::Resctrl::open(root)),
            "uncore" => self.take(name, uncore::Uncore::open(root)),
            "damon" => self.take(name, damon::Damon::open(root)),
            _ => {}
        }
    }

    fn take<S: Source + 'static>(&mut self, name: &str, opened: Result<S, String>) {
        match opened {
            Ok(source) => {
                self.not_available.extend(source.reasons());
                self.sources.push(Box::new(source));
            }
            Err(reason) => {
                self.not_available.insert(name.to_owned(), reason);
            }
        }
    }
}

/// Names of columns as sources keep them.
fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}
