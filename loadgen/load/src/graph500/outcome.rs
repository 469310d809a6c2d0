//! The raw results of a run: the numbers of every search, before any statistics.

use super::dialect::Dialect;
use super::size::Size;

/// The result of one search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Searched {
    pub(super) root: u32,
    pub(super) seconds: f64,
    /// Traversed edges, as the dialect counts them.
    pub(super) edges: u64,
    /// Duration of the validation; `None` if it was skipped.
    pub(super) validation: Option<f64>,
}

impl Searched {
    /// Traversed edges per second.
    pub(super) fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.edges as f64 / self.seconds } else { 0.0 }
    }
}

/// The results of a whole run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) size: Size,
    pub(super) dialect: Dialect,
    pub(super) seeds: (u64, u64),
    pub(super) threads: usize,
    pub(super) generation: f64,
    pub(super) construction: f64,
    /// Kernel 2.
    pub(super) searches: Vec<Searched>,
    /// Kernel 3; empty if it was not run.
    pub(super) paths: Vec<Searched>,
    pub(super) validated: bool,
}

/// One value of each search.
pub(super) fn column(searches: &[Searched], value: impl Fn(&Searched) -> f64) -> Vec<f64> {
    searches.iter().map(value).collect()
}
