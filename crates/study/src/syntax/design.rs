//! What varies between trials, and their number, order and length.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Scalar;

/// A factor: something that varies between trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name in templates.
    pub name: String,
    /// Its levels, in the order of the file.
    pub values: Vec<Scalar>,
}

/// In which order trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Shuffled by the seed, so that drift of the host does not line up with a factor.
    #[default]
    Random,
    /// As written.
    #[serde(rename = "given")]
    AsWritten,
    /// As written in one round of repeats and backwards in the next (A B B A), so that a steady
    /// drift of the host affects all trials alike.
    Interleaved,
}

/// The time cut from the start of a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarmUp {
    /// The first half second, and at most a fifth.
    #[default]
    Auto,
    /// This long.
    Fixed(Duration),
}

/// When a trial ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After all its repeats.
    AtMost,
    /// At the first look that decides its promises.
    #[default]
    Decided,
}

/// Number, order and length of trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// How often each combination runs at most, at least once.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// The time cut from the start of a repeat.
    pub warm_up: WarmUp,
    /// The longest time of a repeat, from the common start.
    pub at_most: Duration,
    /// Which workload's end ends a repeat early.
    pub ends: Ends,
    /// Whether a trial ends once it is decided.
    pub stop: Stop,
    /// Combinations that are left out.
    pub leave_out: Vec<LeftOut>,
}

/// Combinations to leave out: those with one of these levels of every factor named.
pub type LeftOut = Vec<(String, Vec<Scalar>)>;

/// Which workload's end ends a repeat early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// The end of the first workload that has done all its work.
    #[default]
    First,
    /// The end of the last workload that has an end.
    All,
    /// None: the repeat takes its whole time.
    Time,
}

/// Optional sources, the sampling interval, and evidence from inside the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Sources in addition to those of every run, each once.
    pub sources: Vec<String>,
    /// Time between two rounds.
    pub interval: Duration,
    /// Whether eBPF programs record where the waiting of each group went.
    pub evidence: bool,
}

impl Default for Sampling {
    /// Ten samples per second: finer than a service round of BFQ with a handful of groups, and less
    /// than a hundredth of a core with 128 of them (docs/results/performance.md).
    fn default() -> Self {
        Self { sources: Vec::new(), interval: Duration::from_millis(100), evidence: false }
    }
}
