//! Schedules the tests: those that only compute on all CPUs; at the same time, one after another, tests of
//! the host that tolerate a busy CPU, and tests that have a guest; and when all of these have ended, those
//! that measure.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::Choice;
use crate::binary::Binary;
use crate::pass::{Deferred, Kind, Pass, Which};

/// Binaries whose tests compute at the same time.
const SIDE_BY_SIDE: usize = 2;

/// Tests of one binary that use the host.
struct Job<'b> {
    binary: &'b Binary,
    names: Vec<String>,
}

/// Pending and running work, and results.
struct Queue<'b> {
    computing: VecDeque<(&'b Binary, Option<String>)>,
    /// Binaries whose tests are computing.
    computing_now: usize,
    busy: VecDeque<Job<'b>>,
    guests: VecDeque<Job<'b>>,
    /// Whether a test with a guest is running.
    guest_now: bool,
    quiet: VecDeque<Job<'b>>,
    passes: Vec<Pass>,
}

struct Scheduler<'b> {
    queue: Mutex<Queue<'b>>,
    changed: Condvar,
    quick: bool,
}

/// Runs all selected tests.
pub(crate) fn run(binaries: &[Binary], choice: &Choice) -> Vec<Pass> {
    let queue = Queue {
        computing: binaries.iter().map(|binary| (binary, filter(binary, choice))).collect(),
        computing_now: 0,
        busy: VecDeque::new(),
        guests: VecDeque::new(),
        guest_now: false,
        quiet: VecDeque::new(),
        passes: Vec::new(),
    };
    let scheduler =
        Scheduler { queue: Mutex::new(queue), changed: Condvar::new(), quick: choice.quick };
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| scheduler.compute());
        }
        scope.spawn(|| scheduler.run_guest_tests());
        scope.spawn(|| scheduler.run_host_tests());
    });
    scheduler.queue.into_inner().unwrap_or_else(PoisonError::into_inner).passes
}

/// The substring that names of a binary's tests must contain.
fn filter(binary: &Binary, choice: &Choice) -> Option<String> {
    choice.only.clone().filter(|only| only != binary.crate_name())
}

impl<'b> Scheduler<'b> {
    fn queue(&self) -> MutexGuard<'_, Queue<'b>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute(&self) {
        let cpus = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = cpus.div_ceil(SIDE_BY_SIDE);
        loop {
            let mut queue = self.queue();
            let Some((binary, filter)) = queue.computing.pop_front() else { return };
            queue.computing_now += 1;
            drop(queue);
            let pass = one(binary, &Which::Computing { filter, threads });
            let mut queue = self.queue();
            queue.computing_now -= 1;
            let job = |kind: Kind| {
                let of_kind = |later: &&Deferred| later.kind == kind;
                let names: Vec<String> =
                    pass.later.iter().filter(of_kind).map(|later| later.name.clone()).collect();
                (!names.is_empty()).then_some(Job { binary, names })
            };
            queue.busy.extend(job(Kind::Busy));
            queue.guests.extend(job(Kind::Guest));
            queue.quiet.extend(job(Kind::Quiet));
            queue.passes.push(pass);
            self.changed.notify_all();
        }
    }

    fn run_host_tests(&self) {
        while let Some(job) = self.next().filter(|_| !self.quick) {
            let pass = one(job.binary, &Which::These(job.names));
            self.queue().passes.push(pass);
        }
    }

    fn run_guest_tests(&self) {
        while let Some(job) = self.next_guest().filter(|_| !self.quick) {
            let pass = one(job.binary, &Which::These(job.names));
            let mut queue = self.queue();
            queue.guest_now = false;
            queue.passes.push(pass);
            self.changed.notify_all();
        }
    }

    /// The next tests that may use the host, once there are any.
    fn next(&self) -> Option<Job<'b>> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.busy.pop_front() {
                return Some(job);
            }
            let has_guests = queue.guest_now || !queue.guests.is_empty();
            if !queue.computes() && (self.quick || !has_guests) {
                return queue.quiet.pop_front();
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next tests with a guest.
    fn next_guest(&self) -> Option<Job<'b>> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.guests.pop_front() {
                queue.guest_now = true;
                return Some(job);
            }
            if !queue.computes() {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Queue<'_> {
    fn computes(&self) -> bool {
        self.computing_now > 0 || !self.computing.is_empty()
    }
}

/// Runs tests of a binary and prints a line about them.
fn one(binary: &Binary, which: &Which) -> Pass {
    let begun = Instant::now();
    let pass = Pass::run(binary, which);
    let ran = pass.passed + pass.failed - pass.later.len().min(pass.passed);
    let of_host = matches!(which, Which::These(_));
    if ran > 0 {
        let seconds = begun.elapsed().as_secs_f64();
        let what = if of_host { " of the host" } else { "" };
        println!("{seconds:6.1} s  {}: {ran} tests{what}, {} failed", binary.name, pass.failed);
    }
    pass
}
