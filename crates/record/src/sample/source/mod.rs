//! Sources: each knows its files, its columns and how to read one round.

mod aside;
mod buddy;
mod cpu;
mod cpu_split;
mod cpus;
mod dirty;
mod disk;
mod host_cpu;
mod io;
mod keyed_file;
mod memory;
mod memory_stat;
mod nodes;
mod pages;
mod perf;
mod pressure;
mod threads;
mod throttle;
mod uncore;
mod vmstat;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub use crate::run_folder::Rows;
use assay_sys::kernel::{RereadFile, Root};

pub use io::disk_bytes;
pub use perf::COLUMNS as PERF_COLUMNS;
pub use uncore::COLUMNS as UNCORE_COLUMNS;

pub use crate::sample::registry::{Depth, Source};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::Targets;

/// All sources, in the order in which a round reads them.
pub const SOURCES: &[SourceInfo] = &[
    io::INFO,
    disk::INFO,
    cpu::INFO,
    cpu_split::INFO,
    throttle::INFO,
    memory::INFO,
    memory_stat::INFO,
    dirty::INFO,
    host_cpu::INFO,
    cpus::INFO,
    pressure::INFO,
    vmstat::VMSTAT_INFO,
    vmstat::MEMINFO_INFO,
    nodes::INFO,
    buddy::BUDDYINFO_INFO,
    buddy::PAGETYPEINFO_INFO,
    threads::INFO,
    pages::INFO,
    perf::INFO,
    uncore::INFO,
];

/// Period of sources that are expensive or change slowly.
const SECOND: Duration = Duration::from_secs(1);

/// Selection of sources for a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// The sources that every run has.
    #[default]
    Usual,
    /// The usual sources and these.
    Also(Vec<String>),
    /// The usual sources, those that are optional because of their size, and these: everything that does not
    /// disturb the host.
    Most(Vec<String>),
}

impl Choice {
    /// Whether the source of this name is included.
    #[must_use]
    pub fn includes(&self, name: &str) -> bool {
        let inclusion = |source: &&SourceInfo| source.name == name;
        let inclusion = SOURCES.iter().find(inclusion).map(|source| source.inclusion);
        let usual = inclusion == Some(Inclusion::Always);
        match self {
            Self::Usual => usual,
            Self::Also(more) => usual || more.iter().any(|more| more == name),
            Self::Most(more) => {
                inclusion != Some(Inclusion::ByNameOnly) || more.iter().any(|more| more == name)
            }
        }
    }
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

/// The table of a source with a row for each group.
fn of_groups(
    name: &'static str,
    columns: Vec<String>,
    targets: &Targets,
) -> Result<TableInfo, String> {
    if targets.groups.is_empty() {
        return Err("no group is sampled".to_owned());
    }
    let groups = targets.groups.iter().map(|group| group.name.clone()).collect();
    Ok(TableInfo::new(name, columns, groups))
}

/// Opens a file for all rounds.
fn keep(root: &Root, path: impl AsRef<Path>) -> Result<RereadFile, String> {
    root.open_reread(path).map_err(|error| error.to_string())
}

/// Owned names of columns.
fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}
