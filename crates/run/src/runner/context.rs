//! What a run is asked for, who follows it, and the state shared by all its parts.

use std::path::PathBuf;
use std::time::Duration;

use assay_host::{Ledger, scratch};
use assay_record::run_folder::{EventLog, Manifest, RunFolder};
use assay_study::plan::{Plan, RepeatId};
use assay_sys::files::Trust;
use assay_sys::kernel::Root;

use crate::runner::stop_rule::StopRule;

/// What to run and where to record it.
#[derive(Debug)]
pub struct Request {
    /// The plan, free of refusals.
    pub plan: Plan,
    /// The record of the run, before its first trial.
    pub manifest: Manifest,
    /// Identifies the run in group names and in the ledger; letters, digits and `-`.
    pub run_id: String,
    /// The run folder.
    pub folder: RunFolder,
    /// Whether directories named by the study may be ones that other users can change.
    pub trust: Trust,
    /// Directory of the ledger.
    pub state_dir: PathBuf,
}

/// Receives the progress of a run.
pub trait Observer {
    /// A new phase of a repeat has begun.
    fn phase(&mut self, slot: RepeatId, text: &str);
    /// Part of a long phase is done.
    fn progress(&mut self, done: f64);
    /// Called with the time since the common start of a repeat.
    fn running(&mut self, slot: RepeatId, elapsed: Duration, of: Duration);
    /// A notable event, shown on a line of its own.
    fn remark(&mut self, text: &str);
    /// A repeat has been recorded: its samples are in `folder`, and `manifest` is that of the run so far,
    /// including the changes of the host.
    fn ended(&mut self, slot: RepeatId, manifest: &Manifest, folder: &RunFolder);
    /// All repeats are over, or the run ends early: the host is restored from here on.
    fn restoring(&mut self);
}

/// State shared by all parts of a run.
pub(crate) struct Context<'r> {
    pub(crate) request: &'r Request,
    pub(crate) root: Root,
    pub(crate) ledger: Ledger,
    pub(crate) events: EventLog,
    pub(crate) manifest: Manifest,
    pub(crate) observer: &'r mut dyn Observer,
    pub(crate) stop_rule: &'r mut dyn StopRule,
}

/// Completed fraction of a disk's set-up. Only filling an image takes long enough to be reported.
pub(crate) fn fraction(progress: &scratch::Progress) -> f64 {
    match progress {
        scratch::Progress::Filling { done, total } => *done as f64 / (*total).max(1) as f64,
        scratch::Progress::Partitioning { .. } | scratch::Progress::Formatting { .. } => 1.0,
    }
}
