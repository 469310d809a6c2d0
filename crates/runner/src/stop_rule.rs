//! Someone who may say that a repeat has shown enough. The engine knows no statistics: it shows
//! what was recorded so far, and asks.

use std::path::Path;
use std::time::Duration;

use assay_plan::Slot;
use assay_run_folder::{LooksRecord, Manifest, RepeatRecord};

/// What there is of a repeat that is still running.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'r> {
    /// The run so far, without this repeat.
    pub manifest: &'r Manifest,
    /// Which repeat it is.
    pub slot: Slot,
    /// The repeat as it would be recorded if it ended now, without what is only known at the end:
    /// the last readings of its knobs and queues, and what its workloads say.
    pub record: &'r RepeatRecord,
    /// The folder that its samples are written to, once a second.
    pub samples: &'r Path,
    /// Time since the common start.
    pub elapsed: Duration,
    /// Whether the trial is to stop once precise; else nobody heeds the answer.
    pub may_stop: bool,
}

/// Looks at repeats while they run, and ends those of trials that are to stop once precise.
pub trait StopRule {
    /// A repeat has begun that lasts at most so long.
    fn begin(&mut self, at_most: Duration);
    /// Whether it may end. Asked about twenty times a second, so that it must be quick unless
    /// there is reason to look.
    fn is_enough(&mut self, progress: Progress<'_>) -> bool;
    /// Whether a trial is over before all its repeats, which are recorded in this folder. Asked before
    /// each further one.
    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        let _ = (run, trial);
        false
    }
    /// What to record of the looks, once a repeat that might have been ended is over.
    fn looks(&mut self) -> LooksRecord;
}

/// Lets every repeat run to its end.
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
