//! Sources: each knows its files, its columns and how to read one round.

mod cpu;
mod cpu_split;
mod cpus;
mod dirty;
mod disk;
mod host_cpu;
mod io;
mod memory;
mod pressure;
mod throttle;

use std::collections::BTreeMap;

use assay_kernel::Root;
use assay_record::{Column, Table};

use crate::target::Targets;

/// How much of a source a round reads.
///
/// With 128 groups the kernel spends 1.6 % of a core on writing out three files a group ten times
/// a second (docs/performance.md), and what is spent on looking is taken from what is looked at.
/// So where files are many, bytes alone are read in every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything.
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

    /// Reads every subject once and adds a row for each that has something to tell at this depth;
    /// a counter that was not read is `None`.
    fn read(&mut self, rows: &mut Rows, depth: Depth);
}

/// Rows of one source that wait to be written.
#[derive(Debug)]
pub struct Rows {
    table: Table,
    now: fn() -> u64,
}

impl Rows {
    /// An empty set of rows for `source`.
    #[must_use]
    pub fn new(source: &dyn Source, now: fn() -> u64) -> Self {
        let column = |name: &String| Column { name: name.clone(), values: Vec::new() };
        let table = Table {
            source: source.name().to_owned(),
            subjects: source.subjects(),
            columns: source.columns().iter().map(column).collect(),
            ..Table::default()
        };
        Self { table, now }
    }

    /// Adds a row about `subject`, stamped now. A counter without a value is `None`.
    pub fn add(&mut self, subject: usize, values: &[Option<u64>]) {
        self.table.time_ns.push((self.now)());
        self.table.subject.push(u32::try_from(subject).unwrap_or(u32::MAX));
        for (column, value) in self.table.columns.iter_mut().zip(values) {
            column.values.push(*value);
        }
    }

    /// The rows so far.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// Forgets the rows and keeps their memory.
    pub fn clear(&mut self) {
        self.table.time_ns.clear();
        self.table.subject.clear();
        for column in &mut self.table.columns {
            column.values.clear();
        }
    }
}

/// The sources that this host has for these targets.
pub struct Prepared {
    /// In the order they are read.
    pub sources: Vec<Box<dyn Source>>,
    /// What could not be opened, by source, with the reason.
    pub not_available: BTreeMap<String, String>,
}

/// Opens every file that the targets need, once.
#[must_use]
pub fn prepare(root: &Root, targets: &Targets) -> Prepared {
    let mut prepared = Prepared { sources: Vec::new(), not_available: BTreeMap::new() };
    prepared.take("io", io::GroupIo::open(root, targets));
    prepared.take("disk", disk::Disks::open(root, targets));
    prepared.take("cpu", cpu::GroupCpu::open(root, targets));
    prepared.take("cpu_split", cpu_split::CpuSplit::open(root, targets));
    prepared.take("throttle", throttle::Throttle::open(root, targets));
    prepared.take("memory", memory::Memory::open(root, targets));
    prepared.take("dirty", dirty::Dirty::open(root));
    prepared.take("host_cpu", host_cpu::HostCpu::open(root));
    prepared.take("cpus", cpus::Cpus::open(root));
    prepared.take("pressure", pressure::Pressure::open(root, targets));
    prepared
}

impl Prepared {
    fn take<S: Source + 'static>(&mut self, name: &str, opened: Result<S, String>) {
        match opened {
            Ok(source) => self.sources.push(Box::new(source)),
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
