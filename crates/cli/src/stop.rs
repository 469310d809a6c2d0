//! Ends a repeat as soon as its promises are decided: the engine asks, the judge answers.

use std::time::Duration;

use assay_engine::{Decider, Progress};
use assay_judge::{Looks, decides};
use assay_kernel::clock::thread_cpu_ns;
use assay_record::{LooksRecord, Table, read_growing};

/// Looking may take this part of the time at most: after a look that cost more than planned, the
/// next one waits.
const MOST_OF_TIME: f64 = 0.02;

/// The looks at one repeat after the other.
pub(crate) struct Stop {
    looks: Looks,
    record: LooksRecord,
    not_before_s: f64,
}

impl Default for Stop {
    fn default() -> Self {
        Self { looks: Looks::of(Duration::ZERO), record: LooksRecord::default(), not_before_s: 0.0 }
    }
}

impl Decider for Stop {
    fn begin(&mut self, at_most: Duration) {
        *self = Self { looks: Looks::of(at_most), ..Self::default() };
    }

    fn is_enough(&mut self, progress: Progress<'_>) -> bool {
        let elapsed = progress.elapsed.as_secs_f64();
        if elapsed < self.not_before_s || !self.looks.is_due(progress.elapsed) {
            return false;
        }
        let before = thread_cpu_ns();
        let part = self.looks.take(progress.elapsed);
        let trial = progress.slot.trial;
        self.record.decided = tables(&progress).is_some_and(|tables| {
            decides(progress.manifest, trial, progress.record, &tables, part)
        });
        if self.record.decided {
            self.record.part = part;
        }
        let cost = thread_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.record.cpu_s += cost;
        self.not_before_s = elapsed + cost / MOST_OF_TIME;
        self.record.decided
    }

    fn looks(&mut self) -> LooksRecord {
        let part = if self.record.decided { self.record.part } else { self.looks.left() };
        LooksRecord { taken: self.looks.taken(), part, ..self.record }
    }
}

/// The tables that the promises of the trial are decided by. Samples that cannot be read decide
/// nothing; the sampler or the end of the repeat will say what is wrong with them.
fn tables(progress: &Progress<'_>) -> Option<Vec<Table>> {
    let trial = progress.manifest.trials.get(progress.slot.trial)?;
    let mut sources: Vec<&str> = Vec::new();
    for promise in &trial.promises {
        let source = Looks::source(&promise.measure)?;
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let read = |source: &&str| read_growing(progress.samples, source).ok().flatten();
    sources.iter().map(read).collect()
}
