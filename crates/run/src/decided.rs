//! Trials end once they are decided.

use std::path::Path;

use assay_judge::is_enough;
use assay_record::run_folder::Run;

use crate::runner::StopRule;

/// Judges what was recorded so far.
pub struct Decided;

impl StopRule for Decided {
    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        // Data that cannot be read does not end a trial; the error is reported at the end of the run.
        Run::load(run).is_ok_and(|run| is_enough(&run.manifest, trial, &run.samples))
    }
}
