//! The interface of rules that end trials early. This module knows no statistics: the rule is `judge::stop`, called by
//! `decided.rs`.

use std::path::Path;

/// Ends trials that are decided.
pub trait StopRule {
    /// Whether a trial is over before all its repeats, which are recorded in this folder. Called before each
    /// further one.
    fn is_over(&mut self, run: &Path, trial: usize) -> bool;
}

/// Lets every trial run to its planned end.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverStop;

impl StopRule for NeverStop {
    fn is_over(&mut self, _: &Path, _: usize) -> bool {
        false
    }
}
