//! What all threads of a run share, and how a run is started, watched and ended.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_kernel::anonymous_memory::HugePages;
use assay_kernel::signal;

use super::super::files::prepare::Ready;
use super::super::language::Quit;
use super::super::workload::{Process, Thread, Workload};
use super::counters::{Counters, Total};
use super::events::Events;
use super::kind::{Class, Kind};
use super::signals::{Block, Semaphore};
use super::worker::{Stop, Worker};
use crate::failure::Failure;
use crate::output::Reporter;

/// Stacks hold nothing large; 1024 threads of the usual 2 MiB would be address space for nothing.
const STACK: usize = 256 << 10;
/// How often a waiting run looks whether the user wants it to end.
const LOOK: Duration = Duration::from_millis(100);

/// Who a thread is.
#[derive(Debug, Clone)]
pub(super) struct Place<'w> {
    pub(super) process: &'w Process,
    pub(super) thread: &'w Thread,
    /// Among all threads of the run.
    pub(super) number: usize,
    /// Among the instances of this thread of all instances of its process, from 0.
    pub(super) instance: usize,
    /// All threads of the same instance of the process.
    pub(super) siblings: Range<usize>,
}

/// A run.
pub(in crate::filebench) struct Run<'w> {
    pub(super) workload: &'w Workload,
    pub(super) sets: &'w [Ready],
    pub(super) corrected: bool,
    pub(super) huge: HugePages,
    pub(super) seed: u64,
    pub(super) talk: &'w dyn Reporter,
    pub(super) places: Vec<Place<'w>>,
    pub(super) counters: Vec<Counters>,
    pub(super) events: Events,
    /// By line; used by `block` only.
    pub(super) blocks: Vec<Block>,
    /// By line and instance; empty but for `semblock`.
    pub(super) semaphores: Vec<Vec<Semaphore>>,
    epoch: AtomicU32,
    stopping: AtomicBool,
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    ready: usize,
    open: bool,
    ended: usize,
    failure: Option<Failure>,
}

impl<'w> Run<'w> {
    pub(in crate::filebench) fn new(
        workload: &'w Workload,
        sets: &'w [Ready],
        corrected: bool,
        huge: HugePages,
        seed: u64,
        talk: &'w dyn Reporter,
    ) -> Self {
        let places = places(workload);
        let counters =
            places.iter().map(|p| Counters::of(p.thread.lines, workload.histogram)).collect();
        let semaphores = semaphores(workload, &places);
        Self {
            workload,
            sets,
            corrected,
            huge,
            seed,
            talk,
            counters,
            events: Events::at(workload.rate),
            blocks: workload.lines.iter().map(|_| Block::default()).collect(),
            semaphores,
            epoch: AtomicU32::new(0),
            stopping: AtomicBool::new(false),
            gate: Mutex::new(Gate::default()),
            changed: Condvar::new(),
            places,
        }
    }

    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nobody begin another operation, and wakes all who wait.
    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.events.wake();
        self.blocks.iter().for_each(Block::wake);
        self.semaphores.iter().flatten().for_each(Semaphore::wake);
        let _gate = self.gate();
        self.changed.notify_all();
    }

    fn fail(&self, failure: Failure) {
        self.gate().failure.get_or_insert(failure);
        self.stop();
    }

    /// Sleeps, unless the run ends before.
    pub(super) fn sleep(&self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds.min(1 << 30));
        let mut gate = self.gate();
        while !self.stopping() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            gate = self.changed.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Starts all threads, calls `watch` while they work, and waits for their end. The failure is
    /// the first that any thread had.
    pub(in crate::filebench) fn carry_out<T>(
        &self,
        watch: impl FnOnce(&Self) -> T,
    ) -> Result<T, Failure> {
        let watched = std::thread::scope(|scope| {
            let mut started = 0;
            for place in &self.places {
                let name = place.thread.name.chars().take(15).collect();
                let builder = std::thread::Builder::new().name(name).stack_size(STACK);
                if let Err(error) = builder.spawn_scoped(scope, move || self.thread(place, scope)) {
                    self.fail(no_thread(started, self.places.len(), &error));
                    break;
                }
                started += 1;
            }
            let mut gate = self.gate();
            while gate.ready < started {
                gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
            }
            gate.open = true;
            drop(gate);
            if self.events.enabled() {
                scope.spawn(|| self.events.generate(|| self.stopping()));
            }
            self.changed.notify_all();
            let watched = watch(self);
            self.stop();
            watched
        });
        match self.gate().failure.take() {
            Some(failure) => Err(failure),
            None => Ok(watched),
        }
    }

    fn thread<'s>(&'s self, place: &'s Place<'s>, scope: &'s std::thread::Scope<'s, '_>) {
        let worker = Worker::new(self, place, scope);
        let mut gate = self.gate();
        gate.ready += 1;
        self.changed.notify_all();
        while !gate.open {
            gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        drop(gate);
        match worker.and_then(Worker::work) {
            Err(Stop::Failed(failure)) => self.fail(failure),
            Err(Stop::NoResource(what)) => match self.workload.quit {
                Quit::FirstDone => self.stop(),
                Quit::AllDone => {}
                Quit::Timeout => self.fail(stopped_early(&what)),
            },
            Err(Stop::Ending) | Ok(()) => {}
        }
        self.gate().ended += 1;
        self.changed.notify_all();
    }

    /// Waits until `until`, or until the run ends by itself or by the user. True when it has
    /// ended.
    pub(in crate::filebench) fn wait(&self, until: Option<Instant>) -> bool {
        let mut gate = self.gate();
        loop {
            let over = self.stopping() || gate.ended == self.places.len();
            if over || signal::interrupted_by().is_some() {
                return true;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            // A signal is only noted; nobody is woken by it.
            let nap = left.unwrap_or(LOOK).min(LOOK);
            let waited = self.changed.wait_timeout(gate, nap);
            gate = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a thread has failed, so that figures would be of no value.
    pub(in crate::filebench) fn has_failed(&self) -> bool {
        self.gate().failure.is_some()
    }

    /// Figures of all lines, instances merged.
    pub(in crate::filebench) fn totals(&self) -> Vec<Total> {
        let histogram = self.workload.histogram;
        let mut totals = vec![Total::none(histogram); self.workload.lines.len()];
        for (place, counters) in self.places.iter().zip(&self.counters) {
            for line in 0..place.thread.lines {
                let total = &mut totals[place.thread.first_line + line];
                counters.add_to(total, line, self.epoch());
            }
        }
        totals
    }

    /// Begins all figures anew.
    pub(in crate::filebench) fn clear(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// What the operations of one process instance have done: operations and bytes of I/O, and
    /// reads and writes among them.
    pub(super) fn so_far(&self, siblings: &Range<usize>) -> SoFar {
        let mut sum = SoFar::default();
        for number in siblings.clone() {
            let thread = self.places[number].thread;
            for line in 0..thread.lines {
                let kind = self.workload.lines[thread.first_line + line].kind;
                if matches!(kind.class(), Class::Io | Class::Aio) {
                    let (count, bytes) = self.counters[number].so_far(line);
                    sum.count += count;
                    if kind.way() != super::kind::Way::Neither {
                        sum.moves += count;
                        sum.moved += bytes;
                    }
                    sum.bytes += bytes;
                }
            }
        }
        sum
    }
}

/// What limits and ends look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SoFar {
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Reads and writes.
    pub(super) moves: u64,
    /// Their bytes.
    pub(super) moved: u64,
}

fn places(workload: &Workload) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for process in &workload.processes {
        for of_process in 0..process.instances as usize {
            let first = places.len();
            let count: u64 = process.threads.iter().map(|thread| thread.instances).sum();
            let siblings = first..first + count as usize;
            for thread in &process.threads {
                for of_thread in 0..thread.instances as usize {
                    places.push(Place {
                        process,
                        thread,
                        number: places.len(),
                        instance: of_process * thread.instances as usize + of_thread,
                        siblings: siblings.clone(),
                    });
                }
            }
        }
    }
    places
}

fn semaphores(workload: &Workload, places: &[Place<'_>]) -> Vec<Vec<Semaphore>> {
    let mut all: Vec<Vec<Semaphore>> = workload.lines.iter().map(|_| Vec::new()).collect();
    for place in places {
        let mut pending: Vec<_> = place.thread.operations.iter().collect();
        while let Some(operation) = pending.pop() {
            pending.extend(&operation.inner);
            if operation.kind == Kind::SemBlock {
                let line = place.thread.first_line + operation.number;
                all[line].push(Semaphore::with_room(operation.highwater));
            }
        }
    }
    all
}

fn no_thread(started: usize, wanted: usize, error: &std::io::Error) -> Failure {
    Failure::Unable {
        what: format!("only {started} of {wanted} threads could be started: {error}"),
        remedy: "raise pids.max of the control group or `ulimit -u`, or ask for fewer threads"
            .to_owned(),
    }
}

fn stopped_early(what: &str) -> Failure {
    Failure::Ended {
        what: format!("Run stopped early: {what}"),
        remedy: "reduce runtime, increase fileset entries ($nfiles), or switch modes (set mode \
                 quit firstdone ends such a run normally)"
            .to_owned(),
    }
}
