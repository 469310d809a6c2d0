//! Looks at running repeats for the live view, and at trials, which end once they are decided.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use assay_judge::verdict::PromiseJudgement;
use assay_judge::{interim, is_enough, source};
use assay_record::run_folder::{Run, Table, read_growing};
use assay_sys::kernel::clock::thread_cpu_ns;

use crate::runner::{Progress, StopRule};

/// The latest look at the current repeat: its time and its judgements.
pub type SharedLook = Rc<RefCell<Option<(Duration, Vec<PromiseJudgement>)>>>;

/// The largest part of a CPU for looks of the live view: less than one percent together with drawing.
const MAX_DISPLAY_CPU: f64 = 0.008;

/// Shortest time between two looks of the live view, seconds: a faster view is not easier to read.
const DISPLAY_INTERVAL_S: f64 = 1.0;

/// The first look of the live view, seconds; one second more for every 20 groups, since its cost is not
/// yet known.
const FIRST_DISPLAY_S: f64 = 2.0;

/// Takes the looks.
pub struct LookTaker {
    not_before_s: f64,
    /// CPU seconds that looks of the live view have cost in this repeat.
    display_cpu_s: f64,
    shared_look: Option<SharedLook>,
}

impl LookTaker {
    /// Looks at repeats are written to `shared_look`, if there is one.
    pub fn new(shared_look: Option<SharedLook>) -> Self {
        Self { not_before_s: 0.0, display_cpu_s: 0.0, shared_look }
    }
}

impl StopRule for LookTaker {
    fn begin(&mut self) {
        *self = Self::new(self.shared_look.take());
    }

    fn watch(&mut self, progress: Progress<'_>) {
        let elapsed = progress.elapsed.as_secs_f64();
        let Some(shared) = self.shared_look.as_ref().filter(|_| elapsed >= self.not_before_s)
        else {
            return;
        };
        let trial = progress.slot.trial;
        let groups = progress.manifest.trials.get(trial).map_or(0, |trial| trial.groups.len());
        if elapsed < FIRST_DISPLAY_S + groups as f64 / 20.0 {
            return;
        }
        let before = thread_cpu_ns();
        if let Some(tables) = tables(&progress) {
            let seen = interim(progress.manifest, trial, progress.record, &tables);
            *shared.borrow_mut() = Some((progress.elapsed, seen));
        }
        self.display_cpu_s += thread_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.not_before_s =
            (elapsed + DISPLAY_INTERVAL_S).max(self.display_cpu_s / MAX_DISPLAY_CPU);
    }

    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        // Data that cannot be read does not end a trial; the error is reported at the end of the run.
        Run::load(run).is_ok_and(|run| is_enough(&run.manifest, trial, &run.samples))
    }
}

/// The tables that the promises of the trial are decided by; `None` if they cannot be read. The sampler
/// or the end of the repeat reports the error.
fn tables(progress: &Progress<'_>) -> Option<Vec<Table>> {
    let trial = progress.manifest.trials.get(progress.slot.trial)?;
    let mut sources: Vec<&str> = Vec::new();
    for found in trial.promises.iter().filter_map(|promise| source(&promise.measure)) {
        if !sources.contains(&found) {
            sources.push(found);
        }
    }
    let read = |source: &&str| read_growing(progress.samples, source).ok().flatten();
    sources.iter().map(read).collect()
}
