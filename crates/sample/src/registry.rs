//! What is known of a source, and which sources a run has. Each source's file has its own entry; `SOURCES` in
//! `source/mod.rs` lists them, and docs/reference/sources.md is generated from it.

use assay_kernel::Root;

pub use crate::source::SOURCES;
use crate::source::Source;
use crate::target::Targets;

/// One source.
#[derive(Debug, Clone, Copy)]
pub struct SourceInfo {
    /// Name of its table.
    pub name: &'static str,
    /// The subject of its rows.
    pub subject: &'static str,
    /// What it measures, in a few words.
    pub what: &'static str,
    /// The files it reads.
    pub files: &'static str,
    /// How often it is read.
    pub pace: &'static str,
    /// Which runs have it.
    pub inclusion: Inclusion,
    /// The kernel version that introduced it, if later than 4.15, or the configuration it depends on.
    pub since: &'static str,
    /// CPU time of the kernel for one read, on the machine of docs/results/performance.md.
    pub cost: &'static str,
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

/// The pace of a source without a period of its own.
pub(crate) const EVERY_ROUND: &str = "every round";

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
