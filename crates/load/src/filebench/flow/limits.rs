//! Operations that move no data: waiting for time, for others, for events, for the end.

use std::hint::black_box;

use super::super::workload::Operation;
use super::kind::Kind;
use super::worker::{Flow, Worker};

/// What a limit remembers of its last turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limit {
    last: u64,
    /// What may still be done without an event.
    bucket: i128,
}

/// Bytes for which `bwlimit` takes one event.
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
        self.place.thread.first_line + operation.number
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
        if let Some(own) = semaphores.get(self.place.instance) {
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

    /// What a limit or an end goes by: its target in this thread, or all I/O of the process.
    fn so_far(&self, operation: &Operation) -> u64 {
        match operation.targets.first() {
            Some(target) => {
                let (count, bytes) = self.run.counters[self.place.number].so_far(*target);
                match operation.kind {
                    Kind::BwLimit | Kind::FinishOnBytes => bytes,
                    _ => count,
                }
            }
            None => {
                let all = self.run.so_far(&self.place.siblings);
                match operation.kind {
                    Kind::IopsLimit => all.moves,
                    Kind::BwLimit => all.moved,
                    Kind::FinishOnBytes => all.bytes,
                    _ => all.count,
                }
            }
        }
    }

    /// Takes an event for each operation (or each mebibyte) since its last turn.
    pub(super) fn limit(&mut self, operation: &Operation) -> Flow {
        if !self.run.events.enabled() {
            return Ok(());
        }
        let now = self.so_far(operation);
        let limit = &mut self.limits[operation.number];
        if limit.last == 0 {
            limit.last = now;
            return Ok(());
        }
        // A `psrun` that clears its figures lets them begin at 0 again.
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
        let now = self.so_far(operation);
        let began = self.began();
        let reached = if operation.kind == Kind::FinishOnCount { now >= goal } else { now > goal };
        self.count(operation, began, 0);
        if reached { Err(self.reached(operation)) } else { Ok(()) }
    }
}
