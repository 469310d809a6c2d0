//! Looks at repeats while they run: the engine asks, the judge answers. A repeat that is to stop
//! once precise ends by such a look; of the others one is taken where somebody watches.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use assay_judge::{InterimLook, InterimLooks, is_enough, look};
use assay_kernel::clock::thread_cpu_ns;
use assay_run_folder::{LooksRecord, Run, Table, read_growing};
use assay_runner::{Progress, StopRule};

use crate::progress::Board;

/// Looking may take this part of the time at most: after a look that cost more than planned, the
/// next one waits.
const MOST_OF_TIME: f64 = 0.02;

/// Looks that are only shown may take this part of a CPU: with the drawing less than one percent.
const MOST_TO_SHOW: f64 = 0.008;

/// Nobody learns more from a picture that changes more often, seconds.
const BETWEEN_SHOWN: f64 = 1.0;

/// The first look that is only shown, seconds: with every twentieth group one more, since its
/// cost is not known before.
const FIRST_SHOWN: f64 = 2.0;

/// The looks at one repeat after the other.
pub(crate) struct Stop {
    looks: InterimLooks,
    record: LooksRecord,
    not_before_s: f64,
    /// CPU seconds that looks to be shown have cost in this repeat.
    shown_s: f64,
    board: Option<Rc<RefCell<Board>>>,
}

impl Stop {
    /// What looks have shown is written to `board`, where there is one.
    pub(crate) fn showing(board: Option<Rc<RefCell<Board>>>) -> Self {
        Self {
            looks: InterimLooks::of(Duration::ZERO),
            record: LooksRecord::default(),
            not_before_s: 0.0,
            shown_s: 0.0,
            board,
        }
    }

    /// A look that may end the repeat.
    fn decide(&mut self, progress: &Progress<'_>) -> bool {
        let elapsed = progress.elapsed.as_secs_f64();
        if elapsed < self.not_before_s || !self.looks.is_due(progress.elapsed) {
            return false;
        }
        let before = thread_cpu_ns();
        self.looks.take(progress.elapsed);
        let found = self.look(progress).unwrap_or_default();
        self.record.decided = found.precise;
        self.record.judged_until_ns = found.precise.then_some(found.until_ns);
        let cost = thread_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.record.cpu_s += cost;
        self.not_before_s = elapsed + cost / MOST_OF_TIME;
        self.record.decided
    }

    /// A look for those who watch.
    fn show(&mut self, progress: &Progress<'_>) {
        let elapsed = progress.elapsed.as_secs_f64();
        if self.board.is_none() || elapsed < self.not_before_s {
            return;
        }
        let trial = progress.slot.trial;
        let groups = progress.manifest.trials.get(trial).map_or(0, |trial| trial.groups.len());
        if elapsed < FIRST_SHOWN + groups as f64 / 20.0 {
            return;
        }
        let before = thread_cpu_ns();
        self.look(progress);
        self.shown_s += thread_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.not_before_s = (elapsed + BETWEEN_SHOWN).max(self.shown_s / MOST_TO_SHOW);
    }

    /// Looks, and shows what it has seen.
    fn look(&self, progress: &Progress<'_>) -> Option<InterimLook> {
        let tables = tables(progress)?;
        let found = look(progress.manifest, progress.slot.trial, progress.record, &tables);
        if let Some(board) = &self.board {
            board.borrow_mut().seen = Some((progress.elapsed, found.promises.clone()));
        }
        Some(found)
    }
}

impl StopRule for Stop {
    fn begin(&mut self, at_most: Duration) {
        *self = Self { looks: InterimLooks::of(at_most), ..Self::showing(self.board.take()) };
    }

    fn is_enough(&mut self, progress: Progress<'_>) -> bool {
        if progress.may_stop {
            return self.decide(&progress);
        }
        self.show(&progress);
        false
    }

    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        // What cannot be read is not known well enough; the end of the run will say what is wrong.
        let Ok(run) = Run::load(run) else { return false };
        let samples = run.samples.get(trial).map_or(&[][..], Vec::as_slice);
        is_enough(&run.manifest, trial, samples)
    }

    fn looks(&mut self) -> LooksRecord {
        LooksRecord { taken: self.looks.taken(), ..self.record }
    }
}

/// The tables that the promises of the trial are decided by. Samples that cannot be read decide
/// nothing; the sampler or the end of the repeat will say what is wrong with them.
fn tables(progress: &Progress<'_>) -> Option<Vec<Table>> {
    let trial = progress.manifest.trials.get(progress.slot.trial)?;
    let mut sources: Vec<&str> = Vec::new();
    for promise in &trial.promises {
        match InterimLooks::source(&promise.measure) {
            Some(source) if !sources.contains(&source) => sources.push(source),
            Some(_) => {}
            // What a workload says of itself is known at its end: nothing can be decided before.
            None if progress.may_stop => return None,
            None => {}
        }
    }
    let read = |source: &&str| read_growing(progress.samples, source).ok().flatten();
    sources.iter().map(read).collect()
}
