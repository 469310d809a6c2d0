//! Operations without data transfer: waiting for time, other threads, events or the end.

use std::hint::black_box;

use super::super::workload::Operation;
use super::kind::Kind;
use super::worker::{Flow, Worker};

/// State of a limit between two calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limit {
    last: u64,
    /// Operations (or mebibytes) that may still be done without an event.
    bucket: i128,
}

/// Bytes per event of `bwlimit`.
const PER_EVENT: u64 = 1 << 20;

impl Worker<'_> {
    pub(super) fn hog(&mut self, operation: &Operation) -> Flow {
        let stores = operation.value.get();
        let began = self.began();
        if self.has_memory() {
            let byte = &mut self.bytes(0..1)[0];
            for _ in 0..stores {
                *black_box(&mut *byte) = 1;
            }
        }
        self.count(operation, began, 0);
        Ok(())
    }

    pub(super) fn delay(&mut self, operation: &Operation) -> Flow {
        let began = self.began();
        self.run.sleep(operation.value.get());
        self.count(operation, began, 0);
        Ok(())
    }

    fn line(&self, operation: &Operation) -> usize {
        self.identity.thread.first_line + operation.number
    }

    pub(super) fn block(&mut self, operation: &Operation) -> Flow {
        let began = self.began();
        self.run.blocks[self.line(operation)].wait(|| self.run.stopping());
        self.count(operation, began, 0);
        Ok(())
    }

    pub(super) fn wakeup(&mut self, operation: &Operation) -> Flow {
        for line in &operation.targets {
            let began = self.began();
            self.run.blocks[*line].wake();
            self.count(operation, began, 0);
        }
        Ok(())
    }

    pub(super) fn sem_block(&mut self, operation: &Operation) -> Flow {
        let began = self.began();
        let semaphores = &self.run.semaphores[self.line(operation)];
        if let Some(own) = semaphores.get(self.identity.instance) {
            own.block(operation.value.get(), || self.run.stopping());
        }
        self.count(operation, began, 0);
        Ok(())
    }

    pub(super) fn sem_post(&mut self, operation: &Operation) -> Flow {
        let began = self.began();
        for semaphore in operation.targets.iter().flat_map(|line| &self.run.semaphores[*line]) {
            let value = operation.value.get();
            semaphore.post(value, operation.blocking, || self.run.stopping());
        }
        self.count(operation, began, 0);
        Ok(())
    }

    pub(super) fn event_limit(&mut self, operation: &Operation) -> Flow {
        if self.run.events.enabled() {
            let began = self.began();
            self.run.events.consume(1, || self.run.stopping());
            self.count(operation, began, 0);
        }
        Ok(())
    }

    /// Operations and bytes that a limit or end condition counts: those of its target in this
    /// thread, or all I/O of the process.
    fn progress(&self, operation: &Operation) -> u64 {
        match operation.targets.first() {
            Some(target) => {
                let (count, bytes) = self.run.counters[self.identity.number].progress(*target);
                match operation.kind {
                    Kind::BwLimit | Kind::FinishOnBytes => bytes,
                    _ => count,
                }
            }
            None => {
                let all = self.run.progress(&self.identity.siblings);
                match operation.kind {
                    Kind::IopsLimit => all.moves,
                    Kind::BwLimit => all.moved,
                    Kind::FinishOnBytes => all.bytes,
                    _ => all.count,
                }
            }
        }
    }

    /// Consumes an event for each operation (or each mebibyte) since the last call.
    pub(super) fn limit(&mut self, operation: &Operation) -> Flow {
        if !self.run.events.enabled() {
            return Ok(());
        }
        let now = self.progress(operation);
        let limit = &mut self.limits[operation.number];
        if limit.last == 0 {
            limit.last = now;
            return Ok(());
        }
        // A `psrun` that clears its statistics resets them to 0.
        limit.bucket -= i128::from(now.saturating_sub(limit.last));
        limit.last = now;
        let lacking = u64::try_from(-limit.bucket).unwrap_or(0);
        let began = self.began();
        if lacking > 0 {
            let (events, worth) = match operation.kind {
                Kind::BwLimit => (lacking / PER_EVENT + 1, PER_EVENT),
                _ => (lacking, 1),
            };
            if self.run.events.consume(events, || self.run.stopping()) {
                self.limits[operation.number].bucket += i128::from(events) * i128::from(worth);
            }
        }
        self.count(operation, began, 0);
        Ok(())
    }

    pub(super) fn finish(&mut self, operation: &Operation) -> Flow {
        let goal = operation.value.get();
        let now = self.progress(operation);
        let began = self.began();
        let reached = if operation.kind == Kind::FinishOnCount { now >= goal } else { now > goal };
        self.count(operation, began, 0);
        if reached { Err(self.reached(operation)) } else { Ok(()) }
    }
}
