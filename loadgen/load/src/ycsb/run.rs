//! A run: threads, pace, status lines, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use assay_sys::kernel::Root;
use assay_sys::kernel::clock::{monotonic_ns, process_cpu_ns};
use assay_sys::kernel::signal;

use super::client::{Client, Shared, ThreadStats};
use super::outcome::Outcome;
use super::random::Random;
use super::sequence::Acknowledged;
use super::settings::Settings;
use super::status::StatusLine;
use super::store::{Session, Store};
use crate::failure::Failure;
use crate::measured::Backing;
use crate::output::Reporter;

/// The default seed: runs are reproducible, unlike those of YCSB.
const SEED: u64 = 0x7963_7362;

/// How often a waiting thread checks for the end of the run.
const POLL_NS: u64 = 100_000_000;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Shared progress of all threads.
struct Progress {
    stop: AtomicBool,
    /// Number of running threads.
    running: Mutex<usize>,
    changed: Condvar,
}

/// Runs the settings on the store that `open` opens, from the moment `ready` returns. Opening and
/// closing count as run time, as in YCSB, where the first and the last thread do it.
pub(super) fn run<S: Store>(
    settings: &Settings,
    seed: Option<u64>,
    open: impl FnOnce() -> Result<S, Failure>,
    ready: impl FnOnce() -> Result<u64, Failure>,
    reporter: &dyn Reporter,
) -> Result<(Outcome, Backing), Failure> {
    // The data directory must be closed even if the run is interrupted.
    signal::note_interruptions();
    let called_at = monotonic_ns();
    let cpu_before = process_cpu_ns(std::process::id());
    let store = Arc::new(open()?);
    let opened = monotonic_ns();
    let opening_ns = opened - called_at;
    // Time at the start barrier does not count.
    let began = called_at + (ready()? - opened);
    let mut settings = settings.clone();
    settings.measuring.rules.kind.begin(began);
    let settings = &settings;

    let thread_stats: Vec<ThreadStats> =
        (0..settings.threads).map(|_| ThreadStats::new()).collect();
    let mut status = StatusLine::new(settings, &thread_stats, began);
    work(settings, seed.unwrap_or(SEED), &*store, &thread_stats, &mut status, reporter);

    let worked = monotonic_ns();
    let backing = Backing::read(&Root::real());
    let looking_ns = monotonic_ns() - worked;
    let first_error = store.first_error();
    close(settings, &thread_stats, store)?;
    let runtime_ns = monotonic_ns() - began - looking_ns;
    let cpu = process_cpu_ns(std::process::id());
    let (measurements, status_lines) = status.finish(reporter);
    let outcome = Outcome {
        began,
        opening_ns,
        runtime_ms: runtime_ns / MILLISECOND,
        done: thread_stats.iter().map(|stats| stats.done.load(Ordering::Relaxed)).sum(),
        cpu_ns: cpu.zip(cpu_before).map(|(after, before)| after - before),
        measurements,
        first_error,
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
    thread_stats: &[ThreadStats],
    status: &mut StatusLine<'_>,
    reporter: &dyn Reporter,
) {
    let next_key = AtomicU64::new(settings.workload.insert_start);
    let inserted = Acknowledged::from(settings.workload.records);
    let shared = Shared { settings, next_key: &next_key, inserted: &inserted, reporter };
    let progress = Progress {
        stop: AtomicBool::new(false),
        running: Mutex::new(thread_stats.len()),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for (id, stats) in thread_stats.iter().enumerate() {
            let (shared, progress) = (&shared, &progress);
            // Loading and running must not draw the same numbers.
            let random = Random::new(seed, id as u64 | u64::from(settings.loading) << 32);
            scope.spawn(move || {
                let _done = DoneGuard(progress);
                let client = Client::new(shared, stats, store.session(), random.clone());
                thread(client, settings, (id, stats), progress, random);
            });
        }
        watch(settings, &progress, status, reporter);
    });
}

/// Marks a thread as done, even after a panic.
struct DoneGuard<'c>(&'c Progress);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

/// One thread's loop.
fn thread<S: Session>(
    mut client: Client<'_, S>,
    settings: &Settings,
    (id, stats): (usize, &ThreadStats),
    progress: &Progress,
    mut random: Random,
) {
    let share = share(settings, id as u64);
    // Slow threads start at different times, so that their operations do not coincide.
    if let Some(tick) = settings.tick.filter(|tick| *tick >= MILLISECOND) {
        wait_until(monotonic_ns() + random.below(tick), settings.spin, progress);
    }
    let start = monotonic_ns();
    let mut done = 0;
    while (settings.operations == 0 || done < share) && !progress.stop.load(Ordering::Relaxed) {
        let goes_on = if settings.loading { client.insert_next() } else { client.operate() };
        if !goes_on {
            break;
        }
        done += 1;
        stats.done.store(done, Ordering::Relaxed);
        if let Some(tick) = settings.tick {
            let deadline = start + done * tick;
            wait_until(deadline, settings.spin, progress);
            client.intended = Some(deadline);
        }
    }
}

/// A thread's part of all operations.
fn share(settings: &Settings, id: u64) -> u64 {
    let threads = settings.threads as u64;
    settings.operations / threads + u64::from(id < settings.operations % threads)
}

fn wait_until(deadline: u64, spin: bool, progress: &Progress) {
    loop {
        let running = deadline.saturating_sub(monotonic_ns());
        if running == 0 || progress.stop.load(Ordering::Relaxed) {
            return;
        }
        if !spin {
            std::thread::sleep(Duration::from_nanos(running.min(POLL_NS)));
        }
    }
}

/// Waits for the threads, prints status lines, and stops the run when the time is up.
fn watch(
    settings: &Settings,
    progress: &Progress,
    status: &mut StatusLine<'_>,
    reporter: &dyn Reporter,
) {
    let began = monotonic_ns();
    let interval = settings.status.map(|seconds| seconds * SECOND);
    let mut end = (settings.max_seconds > 0).then(|| began + settings.max_seconds * SECOND);
    let mut next_line = interval.map(|interval| began + interval);
    if interval.is_some() {
        status.line(reporter);
    }
    if end.is_some() {
        let seconds = settings.max_seconds;
        reporter.line(&format!("Maximum execution time specified as: {seconds} secs"));
    }
    loop {
        let patience = monotonic_ns() + POLL_NS;
        let next = next_line.into_iter().chain(end).fold(patience, u64::min);
        if wait_for_threads(progress, next) {
            return;
        }
        if signal::interrupted_by().is_some() {
            progress.stop.store(true, Ordering::Relaxed);
        }
        let now = monotonic_ns();
        if let (Some(at), Some(interval)) = (next_line, interval)
            && now >= at
        {
            status.line(reporter);
            next_line = Some(at + interval);
        }
        if end.is_some_and(|end| now >= end) {
            reporter.line("Maximum time elapsed. Requesting stop for the workload.");
            progress.stop.store(true, Ordering::Relaxed);
            reporter.line("Stop requested for workload. Now Joining!");
            end = None;
        }
    }
}

/// Whether all threads finished before `deadline`.
fn wait_for_threads(progress: &Progress, deadline: u64) -> bool {
    let mut running = progress.running.lock().unwrap_or_else(PoisonError::into_inner);
    while *running > 0 {
        let remaining = deadline.saturating_sub(monotonic_ns());
        if remaining == 0 {
            return false;
        }
        let waited = progress.changed.wait_timeout(running, Duration::from_nanos(remaining));
        running = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}

/// Releases the reference of every thread; the last one closes the store.
fn close<S: Store>(
    settings: &Settings,
    thread_stats: &[ThreadStats],
    store: Arc<S>,
) -> Result<(), Failure> {
    let mut references = vec![store];
    while references.len() < thread_stats.len() {
        references.push(Arc::clone(&references[0]));
    }
    for (stats, reference) in thread_stats.iter().zip(references) {
        let start = monotonic_ns();
        S::release(reference)?;
        stats.note_cleanup(&settings.measuring.rules, start);
    }
    Ok(())
}
