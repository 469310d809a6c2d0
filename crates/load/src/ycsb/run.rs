//! A run from the first thread to the last: pace, status lines, the end of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use assay_kernel::Root;
use assay_kernel::clock::{monotonic_ns, process_cpu_ns};
use assay_kernel::signal;

use super::client::{Client, Desk, Shared};
use super::outcome::Outcome;
use super::random::Random;
use super::sequence::Acknowledged;
use super::settings::Settings;
use super::status::StatusLine;
use super::store::{Session, Store};
use crate::failure::Failure;
use crate::measured::Backing;
use crate::output::Reporter;

/// A seed of our own where none is given: runs repeat, which those of YCSB do not.
const SEED: u64 = 0x7963_7362;

/// Whoever waits looks this often whether the run is over.
const PATIENCE_NS: u64 = 100_000_000;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// How far all threads are.
struct Course {
    stop: AtomicBool,
    /// Threads that still work.
    left: Mutex<usize>,
    changed: Condvar,
}

/// Runs the settings on the store that `open` opens, from the moment that `ready` returns. Opening and closing are part of the run's
/// time, as in YCSB, where the first and the last thread do it.
pub(super) fn run<S: Store>(
    settings: &Settings,
    seed: Option<u64>,
    open: impl FnOnce() -> Result<S, Failure>,
    ready: impl FnOnce() -> Result<u64, Failure>,
    talk: &dyn Reporter,
) -> Result<(Outcome, Backing), Failure> {
    // The data directory is to be closed even when the user ends the run.
    signal::note_interruptions();
    let came = monotonic_ns();
    let cpu_before = process_cpu_ns(std::process::id());
    let store = Arc::new(open()?);
    let opened = monotonic_ns();
    let opening_ns = opened - came;
    // What is spent at a gate, where others are waited for, belongs to nobody's time.
    let began = came + (ready()? - opened);
    let mut settings = settings.clone();
    settings.measuring.rules.kind.begin(began);
    let settings = &settings;

    let desks: Vec<Desk> = (0..settings.threads).map(|_| Desk::new()).collect();
    let mut status = StatusLine::new(settings, &desks, began);
    work(settings, seed.unwrap_or(SEED), &*store, &desks, &mut status, talk);

    let worked = monotonic_ns();
    let backing = Backing::read(&Root::real());
    let looking_ns = monotonic_ns() - worked;
    let trouble = store.trouble();
    close(settings, &desks, store)?;
    let runtime_ns = monotonic_ns() - began - looking_ns;
    let cpu = process_cpu_ns(std::process::id());
    let (book, status_lines) = status.finish(talk);
    let outcome = Outcome {
        began,
        opening_ns,
        runtime_ms: runtime_ns / MILLISECOND,
        done: desks.iter().map(|desk| desk.done.load(Ordering::Relaxed)).sum(),
        cpu_ns: cpu.zip(cpu_before).map(|(after, before)| after - before),
        book,
        trouble,
        ended_by: signal::interrupted_by(),
        status_lines,
    };
    Ok((outcome, backing))
}

/// Starts the threads and waits for them.
fn work<S: Store>(
    settings: &Settings,
    seed: u64,
    store: &S,
    desks: &[Desk],
    status: &mut StatusLine<'_>,
    talk: &dyn Reporter,
) {
    let next_key = AtomicU64::new(settings.workload.insert_start);
    let inserted = Acknowledged::from(settings.workload.records);
    let shared = Shared { settings, next_key: &next_key, inserted: &inserted, talk };
    let course = Course {
        stop: AtomicBool::new(false),
        left: Mutex::new(desks.len()),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for (id, desk) in desks.iter().enumerate() {
            let (shared, course) = (&shared, &course);
            // Loading and running are not to draw the same numbers.
            let random = Random::of(seed, id as u64 | u64::from(settings.loading) << 32);
            scope.spawn(move || {
                let _leaving = Leaving(course);
                let client = Client::new(shared, desk, store.session(), random.clone());
                thread(client, settings, (id, desk), course, random);
            });
        }
        watch(settings, &course, status, talk);
    });
}

/// Says that a thread is done, even by a panic.
struct Leaving<'c>(&'c Course);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

/// One thread's loop.
fn thread<S: Session>(
    mut client: Client<'_, S>,
    settings: &Settings,
    (id, desk): (usize, &Desk),
    course: &Course,
    mut random: Random,
) {
    let share = share(settings, id as u64);
    // Slow threads begin at different times, so that they do not all come at once.
    if let Some(tick) = settings.tick.filter(|tick| *tick >= MILLISECOND) {
        wait_until(monotonic_ns() + random.below(tick), settings.spin, course);
    }
    let start = monotonic_ns();
    let mut done = 0;
    while (settings.operations == 0 || done < share) && !course.stop.load(Ordering::Relaxed) {
        let goes_on = if settings.loading { client.insert_next() } else { client.operate() };
        if !goes_on {
            break;
        }
        done += 1;
        desk.done.store(done, Ordering::Relaxed);
        if let Some(tick) = settings.tick {
            let deadline = start + done * tick;
            wait_until(deadline, settings.spin, course);
            client.intended = Some(deadline);
        }
    }
}

/// A thread's part of all operations.
fn share(settings: &Settings, id: u64) -> u64 {
    let threads = settings.threads as u64;
    settings.operations / threads + u64::from(id < settings.operations % threads)
}

fn wait_until(deadline: u64, spin: bool, course: &Course) {
    loop {
        let left = deadline.saturating_sub(monotonic_ns());
        if left == 0 || course.stop.load(Ordering::Relaxed) {
            return;
        }
        if !spin {
            std::thread::sleep(Duration::from_nanos(left.min(PATIENCE_NS)));
        }
    }
}

/// Waits for the threads, with status lines in between, and stops them when the time is up.
fn watch(settings: &Settings, course: &Course, status: &mut StatusLine<'_>, talk: &dyn Reporter) {
    let began = monotonic_ns();
    let interval = settings.status.map(|seconds| seconds * SECOND);
    let mut end = (settings.max_seconds > 0).then(|| began + settings.max_seconds * SECOND);
    let mut next_line = interval.map(|interval| began + interval);
    if interval.is_some() {
        status.line(talk);
    }
    if end.is_some() {
        let seconds = settings.max_seconds;
        talk.say(&format!("Maximum execution time specified as: {seconds} secs"));
    }
    loop {
        let patience = monotonic_ns() + PATIENCE_NS;
        let next = next_line.into_iter().chain(end).fold(patience, u64::min);
        if wait_for_threads(course, next) {
            return;
        }
        if signal::interrupted_by().is_some() {
            course.stop.store(true, Ordering::Relaxed);
        }
        let now = monotonic_ns();
        if let (Some(at), Some(interval)) = (next_line, interval)
            && now >= at
        {
            status.line(talk);
            next_line = Some(at + interval);
        }
        if end.is_some_and(|end| now >= end) {
            talk.say("Maximum time elapsed. Requesting stop for the workload.");
            course.stop.store(true, Ordering::Relaxed);
            talk.say("Stop requested for workload. Now Joining!");
            end = None;
        }
    }
}

/// Whether all threads were done before `deadline`.
fn wait_for_threads(course: &Course, deadline: u64) -> bool {
    let mut left = course.left.lock().unwrap_or_else(PoisonError::into_inner);
    while *left > 0 {
        let rest = deadline.saturating_sub(monotonic_ns());
        if rest == 0 {
            return false;
        }
        let waited = course.changed.wait_timeout(left, Duration::from_nanos(rest));
        left = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}

/// Gives back the reference of every thread; the last one closes the store.
fn close<S: Store>(settings: &Settings, desks: &[Desk], store: Arc<S>) -> Result<(), Failure> {
    let mut references = vec![store];
    while references.len() < desks.len() {
        references.push(Arc::clone(&references[0]));
    }
    for (desk, reference) in desks.iter().zip(references) {
        let start = monotonic_ns();
        S::release(reference)?;
        desk.note_cleanup(&settings.measuring.rules, start);
    }
    Ok(())
}
