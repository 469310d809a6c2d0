//! State shared by all threads of a run, and its start, supervision and end.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_sys::kernel::anonymous_memory::HugePages;
use assay_sys::kernel::signal;

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

/// Nothing large is kept on the stack; 2 MiB each for 1024 threads would waste address space.
const STACK_BYTES: usize = 256 << 10;
/// How often a waiting run checks for interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Identity of a thread within the run.
#[derive(Debug, Clone)]
pub(super) struct ThreadIdentity<'w> {
    pub(super) process: &'w Process,
    pub(super) thread: &'w Thread,
    /// Number among all threads of the run.
    pub(super) number: usize,
    /// Number among the instances of this thread over all instances of its process, from 0.
    pub(super) instance: usize,
    /// All threads of the same process instance.
    pub(super) siblings: Range<usize>,
}

/// A run.
pub(in crate::filebench) struct Run<'w> {
    pub(super) workload: &'w Workload,
    pub(super) sets: &'w [Ready],
    pub(super) corrected: bool,
    pub(super) huge: HugePages,
    pub(super) seed: u64,
    pub(super) reporter: &'w dyn Reporter,
    pub(super) identities: Vec<ThreadIdentity<'w>>,
    pub(super) counters: Vec<Counters>,
    pub(super) events: Events,
    /// Indexed by line; used by `block` only.
    pub(super) blocks: Vec<Block>,
    /// Indexed by line and instance; empty except for `semblock`.
    pub(super) semaphores: Vec<Vec<Semaphore>>,
    epoch: AtomicU32,
    stopping: AtomicBool,
    state: Mutex<RunState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RunState {
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
        reporter: &'w dyn Reporter,
    ) -> Self {
        let identities = identities(workload);
        let counters =
            identities.iter().map(|p| Counters::new(p.thread.lines, workload.histogram)).collect();
        let semaphores = semaphores(workload, &identities);
        Self {
            workload,
            sets,
            corrected,
            huge,
            seed,
            reporter,
            counters,
            events: Events::new(workload.rate),
            blocks: workload.lines.iter().map(|_| Block::default()).collect(),
            semaphores,
            epoch: AtomicU32::new(0),
            stopping: AtomicBool::new(false),
            state: Mutex::new(RunState::default()),
            changed: Condvar::new(),
            identities,
        }
    }

    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prevents new operations, and wakes all waiters.
    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.events.wake();
        self.blocks.iter().for_each(Block::wake);
        self.semaphores.iter().flatten().for_each(Semaphore::wake);
        let _state = self.state();
        self.changed.notify_all();
    }

    fn fail(&self, failure: Failure) {
        self.state().failure.get_or_insert(failure);
        self.stop();
    }

    /// Sleeps, but wakes when the run ends.
    pub(super) fn sleep(&self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds.min(1 << 30));
        let mut state = self.state();
        while !self.stopping() {
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            state = self
                .changed
                .wait_timeout(state, remaining)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Starts all threads, calls `watch` while they work, and waits for their end. Returns the
    /// first failure of any thread.
    pub(in crate::filebench) fn execute<T>(
        &self,
        watch: impl FnOnce(&Self) -> T,
    ) -> Result<T, Failure> {
        let watched = std::thread::scope(|scope| {
            let mut started = 0;
            for identity in &self.identities {
                let name = identity.thread.name.chars().take(15).collect();
                let builder = std::thread::Builder::new().name(name).stack_size(STACK_BYTES);
                if let Err(error) =
                    builder.spawn_scoped(scope, move || self.thread(identity, scope))
                {
                    self.fail(no_thread(started, self.identities.len(), &error));
                    break;
                }
                started += 1;
            }
            let mut state = self.state();
            while state.ready < started {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.open = true;
            drop(state);
            if self.events.enabled() {
                scope.spawn(|| self.events.generate(|| self.stopping()));
            }
            self.changed.notify_all();
            let watched = watch(self);
            self.stop();
            watched
        });
        match self.state().failure.take() {
            Some(failure) => Err(failure),
            None => Ok(watched),
        }
    }

    fn thread<'s>(
        &'s self,
        identity: &'s ThreadIdentity<'s>,
        scope: &'s std::thread::Scope<'s, '_>,
    ) {
        let worker = Worker::new(self, identity, scope);
        let mut state = self.state();
        state.ready += 1;
        self.changed.notify_all();
        while !state.open {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        match worker.and_then(Worker::work) {
            Err(Stop::Failed(failure)) => self.fail(failure),
            Err(Stop::NoResource(what)) => match self.workload.quit {
                Quit::FirstDone => self.stop(),
                Quit::AllDone => {}
                Quit::Timeout => self.fail(stopped_early(&what)),
            },
            Err(Stop::Ending) | Ok(()) => {}
        }
        self.state().ended += 1;
        self.changed.notify_all();
    }

    /// Waits until `until`, or until the run ends by itself or is interrupted. Returns true if it
    /// has ended.
    pub(in crate::filebench) fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = self.state();
        loop {
            let over = self.stopping() || state.ended == self.identities.len();
            if over || signal::interrupted_by().is_some() {
                return true;
            }
            let remaining = until.map(|until| until.saturating_duration_since(Instant::now()));
            if remaining.is_some_and(|remaining| remaining.is_zero()) {
                return false;
            }
            // A signal handler only sets a flag; it wakes no waiter.
            let nap = remaining.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
            let waited = self.changed.wait_timeout(state, nap);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a thread has failed, which makes the statistics useless.
    pub(in crate::filebench) fn has_failed(&self) -> bool {
        self.state().failure.is_some()
    }

    /// Statistics of all lines, instances merged.
    pub(in crate::filebench) fn totals(&self) -> Vec<Total> {
        let histogram = self.workload.histogram;
        let mut totals = vec![Total::none(histogram); self.workload.lines.len()];
        for (identity, counters) in self.identities.iter().zip(&self.counters) {
            for line in 0..identity.thread.lines {
                let total = &mut totals[identity.thread.first_line + line];
                counters.add_to(total, line, self.epoch());
            }
        }
        totals
    }

    /// Resets all statistics.
    pub(in crate::filebench) fn clear(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Progress of one process instance: operations and bytes of I/O, and the reads and writes
    /// among them.
    pub(super) fn progress(&self, siblings: &Range<usize>) -> IoProgress {
        let mut sum = IoProgress::default();
        for number in siblings.clone() {
            let thread = self.identities[number].thread;
            for line in 0..thread.lines {
                let kind = self.workload.lines[thread.first_line + line].kind;
                if matches!(kind.class(), Class::Io | Class::Aio) {
                    let (count, bytes) = self.counters[number].progress(line);
                    sum.count += count;
                    if kind.data_direction() != super::kind::DataDirection::Neither {
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

/// Counters that limits and end conditions use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct IoProgress {
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Reads and writes.
    pub(super) moves: u64,
    /// Their bytes.
    pub(super) moved: u64,
}

fn identities(workload: &Workload) -> Vec<ThreadIdentity<'_>> {
    let mut identities = Vec::new();
    for process in &workload.processes {
        for of_process in 0..process.instances as usize {
            let first = identities.len();
            let count: u64 = process.threads.iter().map(|thread| thread.instances).sum();
            let siblings = first..first + count as usize;
            for thread in &process.threads {
                for of_thread in 0..thread.instances as usize {
                    identities.push(ThreadIdentity {
                        process,
                        thread,
                        number: identities.len(),
                        instance: of_process * thread.instances as usize + of_thread,
                        siblings: siblings.clone(),
                    });
                }
            }
        }
    }
    identities
}

fn semaphores(workload: &Workload, identities: &[ThreadIdentity<'_>]) -> Vec<Vec<Semaphore>> {
    let mut all: Vec<Vec<Semaphore>> = workload.lines.iter().map(|_| Vec::new()).collect();
    for identity in identities {
        let mut pending: Vec<_> = identity.thread.operations.iter().collect();
        while let Some(operation) = pending.pop() {
            pending.extend(&operation.inner);
            if operation.kind == Kind::SemBlock {
                let line = identity.thread.first_line + operation.number;
                all[line].push(Semaphore::with_limit(operation.highwater));
            }
        }
    }
    all
}

fn no_thread(started: usize, total: usize, error: &std::io::Error) -> Failure {
    Failure::Unable {
        what: format!("only {started} of {total} threads could be started: {error}"),
        remedy: "raise pids.max of the control group or `ulimit -u`, or use fewer threads"
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
