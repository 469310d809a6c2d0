//! The parts of a valid study.
//!
//! A value that may refer to a factor (`"{groups}"`) is kept as a [`Templated`](crate::Templated) and becomes a plain
//! value when a trial's [`Bindings`] are known. The checker has resolved every template under every
//! combination of factors, so that planning never meets a template that does not resolve.

mod design;
mod disk;
mod host;
mod promise;
mod workload;

use std::collections::BTreeMap;

pub use crate::scalar::{Bindings, Scalar};
pub use design::{Design, Ends, Factor, LeftOut, Order, Sampling, Stop, WarmUp};
pub use disk::{Disk, DiskSize, DiskSource, Format, NullBlk};
pub use host::{DropCaches, HostSettings};
pub(crate) use promise::Every;
pub use promise::{Bound, Pairs, Promise, Reference, Relation};
pub use workload::{After, Group, HUGE_PAGE_MODES, Placement, Tool, Workload};

/// A study: who shares what, what runs, what is promised.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The name by which it was found: a shipped name, or the file's stem.
    pub name: String,
    /// One line for lists and report titles.
    pub title: String,
    /// The question that the study answers.
    pub question: Option<String>,
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// Number, order and length of trials.
    pub design: Design,
    /// Settings of the whole machine during a trial.
    pub settings: HostSettings,
    /// Optional sources, and the sampling interval.
    pub sampling: Sampling,
    /// Disks by name.
    pub disks: BTreeMap<String, Disk>,
    /// Control groups, in the order of the file.
    pub groups: Vec<Group>,
    /// Workloads by name.
    pub workloads: BTreeMap<String, Workload>,
    /// What should hold.
    pub promises: Vec<Promise>,
    /// Published numbers, shown beside the results and never judged.
    pub references: Vec<Reference>,
    /// The folder of its file, for `{study}`; `None` for a shipped study. Set by the caller that
    /// read the file.
    pub folder: Option<String>,
}
