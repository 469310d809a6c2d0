//! The interface of rules that end trials early, and of looks at running repeats. This module knows no statistics: it
//! passes what was recorded so far to the rule, which is `judge::stop`, called by `look_taker.rs` of `session`.

use std::path::Path;
use std::time::Duration;

use assay_record::run_folder::{Manifest, RepeatRecord};
use assay_study::plan::RepeatId;

/// State of a running repeat.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'r> {
    /// The run so far, without this repeat.
    pub manifest: &'r Manifest,
    /// Trial and repeat.
    pub slot: RepeatId,
    /// The repeat as it would be recorded if it ended now, without what is only known at the end: the last
    /// readings of its knobs and queues, and the results of its workloads.
    pub record: &'r RepeatRecord,
    /// The folder that receives its samples, once a second.
    pub samples: &'r Path,
    /// Time since the common start.
    pub elapsed: Duration,
}

/// Watches repeats, and ends trials that are decided.
pub trait StopRule {
    /// A repeat has begun.
    fn begin(&mut self) {}
    /// A repeat is running. Called about twenty times a second, so it must return quickly.
    fn watch(&mut self, progress: Progress<'_>) {
        let _ = progress;
    }
    /// Whether a trial is over before all its repeats, which are recorded in this folder. Called before each
    /// further one.
    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        let _ = (run, trial);
        false
    }
}

/// Lets every trial run to its planned end.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverStop;

impl StopRule for NeverStop {}
