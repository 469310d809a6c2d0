//! Interim looks at running repeats. With `stop = "precise"` a look may end the repeat; otherwise looks
//! are only taken for the live view.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use assay_judge::{InterimLook, InterimLooks, is_enough, look};
use assay_kernel::clock::thread_cpu_ns;
use assay_run_folder::{LooksRecord, Run, Table, read_growing};
use assay_runner::{Progress, StopRule};
use assay_verdict::PromiseJudgement;

/// The latest interim look at the current repeat: its time and its judgements. Shared by the stop rule
/// and a live view.
pub type SharedLook = Rc<RefCell<Option<(Duration, Vec<PromiseJudgement>)>>>;

/// The largest part of the time that looks may take: after an expensive look the next one is delayed.
const MAX_TIME_SHARE: f64 = 0.02;

/// The largest part of a CPU for looks of the live view: less than one percent together with drawing.
const MAX_DISPLAY_CPU: f64 = 0.008;

/// Shortest time between two looks of the live view, seconds: a faster view is not easier to read.
const DISPLAY_INTERVAL_S: f64 = 1.0;

/// The first look of the live view, seconds; one second more for every 20 groups, since its cost is not
/// yet known.
const FIRST_DISPLAY_S: f64 = 2.0;

/// Takes the interim looks of one repeat after the other.
pub(crate) struct LookTaker {
    looks: InterimLooks,
    record: LooksRecord,
    not_before_s: f64,
    /// CPU seconds that looks of the live view have cost in this repeat.
    display_cpu_s: f64,
    shared_look: Option<SharedLook>,
}

impl LookTaker {
    /// Looks are also written to `shared_look`, if there is one.
    pub(crate) fn new(shared_look: Option<SharedLook>) -> Self {
        Self {
            looks: InterimLooks::new(Duration::ZERO),
            record: LooksRecord::default(),
            not_before_s: 0.0,
            display_cpu_s: 0.0,
            shared_look,
        }
    }

    /// Takes a look that may end the repeat.
    fn decide(&mut self, progress: &Progress<'_>) -> bool {
        let elapsed = progress.elapsed.as_secs_f64();
        if elapsed < self.not_before_s || !self.looks.is_due(progress.elapsed) {
            return false;
        }
        let before = thread_cpu_ns();
        self.looks.take(progress.elapsed);
        let look = self.look(progress).unwrap_or_default();
        self.record.decided = look.precise;
        self.record.judged_until_ns = look.precise.then_some(look.until_ns);
        let cost = thread_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.record.cpu_s += cost;
        self.not_before_s = elapsed + cost / MAX_TIME_SHARE;
        self.record.decided
    }

    /// Takes a look for the live view.
    fn show(&mut self, progress: &Progress<'_>) {
        let elapsed = progress.elapsed.as_secs_f64();
        if self.shared_look.is_none() || elapsed < self.not_before_s {
            return;
        }
        let trial = progress.slot.trial;
        let groups = progress.manifest.trials.get(trial).map_or(0, |trial| trial.groups.len());
        if elapsed < FIRST_DISPLAY_S + groups as f64 / 20.0 {
            return;
        }
        let before = thread_cpu_ns();
        self.look(progress);
        self.display_cpu_s += thread_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.not_before_s =
            (elapsed + DISPLAY_INTERVAL_S).max(self.display_cpu_s / MAX_DISPLAY_CPU);
    }

    /// Judges the data so far and shares the result with the live view.
    fn look(&self, progress: &Progress<'_>) -> Option<InterimLook> {
        let tables = tables(progress)?;
        let interim = look(progress.manifest, progress.slot.trial, progress.record, &tables);
        if let Some(shared) = &self.shared_look {
            *shared.borrow_mut() = Some((progress.elapsed, interim.promises.clone()));
        }
        Some(interim)
    }
}

impl StopRule for LookTaker {
    fn begin(&mut self, at_most: Duration) {
        *self = Self { looks: InterimLooks::new(at_most), ..Self::new(self.shared_look.take()) };
    }

    fn is_enough(&mut self, progress: Progress<'_>) -> bool {
        if progress.may_stop {
            return self.decide(&progress);
        }
        self.show(&progress);
        false
    }

    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        // Data that cannot be read does not end a repeat; the error is reported at the end of the run.
        let Ok(run) = Run::load(run) else { return false };
        let samples = run.samples.get(trial).map_or(&[][..], Vec::as_slice);
        is_enough(&run.manifest, trial, samples)
    }

    fn looks(&mut self) -> LooksRecord {
        LooksRecord { taken: self.looks.taken(), ..self.record }
    }
}

/// The tables that the promises of the trial are decided by; `None` if they cannot be read. The sampler
/// or the end of the repeat reports the error.
fn tables(progress: &Progress<'_>) -> Option<Vec<Table>> {
    let trial = progress.manifest.trials.get(progress.slot.trial)?;
    let mut sources: Vec<&str> = Vec::new();
    for promise in &trial.promises {
        match InterimLooks::source(&promise.measure) {
            Some(source) if !sources.contains(&source) => sources.push(source),
            Some(_) => {}
            // A workload's own metrics are known only at its end, so nothing can be decided before.
            None if progress.may_stop => return None,
            None => {}
        }
    }
    let read = |source: &&str| read_growing(progress.samples, source).ok().flatten();
    sources.iter().map(read).collect()
}
