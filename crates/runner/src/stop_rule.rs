//! The interface of rules that end repeats early. This crate knows no statistics: it passes what was recorded so
//! far to the rule, which is `judge::stop_when_precise`, called by `look_taker.rs` of `session`.

use std::path::Path;
use std::time::Duration;

use assay_plan::RepeatId;
use assay_run_folder::{LooksRecord, Manifest, RepeatRecord};

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
    /// Whether the trial may stop early; otherwise the result is ignored.
    pub may_stop: bool,
}

/// Watches repeats, and ends those of trials that may stop early.
pub trait StopRule {
    /// A repeat of at most this length has begun.
    fn begin(&mut self, at_most: Duration);
    /// Whether it may end. Called about twenty times a second, so it must return quickly unless an interim
    /// look is due.
    fn is_enough(&mut self, progress: Progress<'_>) -> bool;
    /// Whether a trial is over before all its repeats, which are recorded in this folder. Called before each
    /// further one.
    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        let _ = (run, trial);
        false
    }
    /// The record of the interim looks, after a repeat that may stop early.
    fn looks(&mut self) -> LooksRecord;
}

/// Lets every repeat run to its planned end.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverStop;

impl StopRule for NeverStop {
    fn begin(&mut self, _: Duration) {}

    fn is_enough(&mut self, _: Progress<'_>) -> bool {
        false
    }

    fn looks(&mut self) -> LooksRecord {
        LooksRecord::default()
    }
}
