//! The benchmark run: all threads execute the loops together, repeatedly.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assay_sys::kernel::anonymous_memory::Pages;
use assay_sys::kernel::{affinity, clock, signal};

use super::check;
use super::kernels::{Kernel, Part, Stores};
use super::times::Times;
use crate::arguments::Shared;
use crate::failure::Failure;
use crate::output::Reporter;
use crate::parallel_region::{ParallelRegion, Worker, cut};

/// Elements per cache line: threads do not share a line.
const LINE: usize = 8;

/// Parameters of a run.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) kernels: Vec<Kernel>,
    pub(super) stores: Stores,
    /// Elements of each array.
    pub(super) items: usize,
    /// Rounds, the first of which does not count.
    pub(super) repeats: u64,
    /// Duration in nanoseconds, instead of a number of rounds.
    pub(super) for_ns: Option<u64>,
    /// Bind each thread to its own CPU.
    pub(super) pin: bool,
}

/// Results of a run.
#[derive(Debug)]
pub(super) struct Streamed {
    pub(super) threads: usize,
    /// One for each loop of the job.
    pub(super) times: Vec<Times>,
    /// The largest relative error of all checks.
    pub(super) error: f64,
    /// The signal that ended it early.
    pub(super) ended_by: Option<&'static str>,
}

/// The three arrays.
#[derive(Debug)]
pub(super) struct Arrays {
    a: Pages<f64>,
    b: Pages<f64>,
    c: Pages<f64>,
}

impl Arrays {
    pub(super) fn new(items: usize, shared: &Shared) -> Result<Self, Failure> {
        let array = || Pages::zeroed(items, shared.huge_pages.into());
        Ok(Self { a: array()?, b: array()?, c: array()? })
    }
}

/// Start and end time of each loop of the round, per thread.
struct Marks(Vec<Vec<[AtomicU64; 2]>>);

impl Marks {
    fn new(threads: usize, kernels: usize) -> Self {
        let row = || (0..kernels).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        Self((0..threads).map(|_| row()).collect())
    }

    /// Seconds from the first thread's start to the last thread's end.
    fn seconds(&self, kernel: usize) -> f64 {
        let all = |which: usize| self.0.iter().map(move |row| &row[kernel][which]);
        let begin = all(0).map(|mark| mark.load(Ordering::Acquire)).min().unwrap_or(0);
        let end = all(1).map(|mark| mark.load(Ordering::Acquire)).max().unwrap_or(0);
        // Avoids dividing by zero if the clock did not advance.
        end.saturating_sub(begin).max(1) as f64 * 1e-9
    }
}

/// State shared by the threads, besides the arrays.
struct Round<'r> {
    job: &'r Job,
    marks: Marks,
    stop: AtomicBool,
    /// Sums of the errors of each array over all threads, at the last check.
    errors: Mutex<[f64; 3]>,
    cpus: Vec<u16>,
}

/// Runs the job. `shared.ready` is called once each thread has filled its own part of the arrays,
/// so that each part lies on the memory node of its thread.
pub(super) fn run(
    job: &Job,
    arrays: &mut Arrays,
    shared: &Shared,
    reporter: &dyn Reporter,
) -> Result<Streamed, Failure> {
    let region = ParallelRegion::new(shared.workers());
    let round = Round {
        job,
        marks: Marks::new(region.size(), job.kernels.len()),
        stop: AtomicBool::new(false),
        errors: Mutex::new([0.0; 3]),
        cpus: if job.pin { affinity::allowed_cpus(std::process::id())? } else { Vec::new() },
    };
    let ranges: Vec<_> = region
        .shares(job.items.div_ceil(LINE))
        .into_iter()
        .map(|lines| lines.start * LINE..(lines.end * LINE).min(job.items))
        .collect();
    let Arrays { a, b, c } = arrays;
    let parts = cut(a, &ranges).into_iter().zip(cut(b, &ranges)).zip(cut(c, &ranges));
    let parts = parts.map(|((a, b), c)| Part { a, b, c }).collect();
    let results = region.each(parts, |worker, part| round.work(worker, part, shared, reporter));
    let (times, error) = results.into_iter().collect::<Result<Vec<_>, _>>()?.swap_remove(0);
    Ok(Streamed { threads: region.size(), times, error, ended_by: signal::interrupted_by() })
}

impl Round<'_> {
    /// One thread's work. Worker 0 records the times and decides when to stop; the return values of
    /// the others are not used.
    fn work(
        &self,
        worker: &Worker<'_>,
        mut part: Part<'_>,
        shared: &Shared,
        reporter: &dyn Reporter,
    ) -> Result<(Vec<Times>, f64), Failure> {
        let bound = match self.cpus.get(worker.id % self.cpus.len().max(1)) {
            Some(cpu) => affinity::bind_self(&[*cpu]),
            None => Ok(()),
        };
        check::fill(&mut part);
        worker.wait();
        let began = if worker.id == 0 { shared.ready() } else { Ok(0) };
        self.stop.fetch_or(began.is_err() || bound.is_err(), Ordering::Release);
        worker.wait();
        let (began, ()) = (began?, bound?);
        if self.stop.load(Ordering::Acquire) {
            // The other thread returns the reason.
            return Ok((Vec::new(), 0.0));
        }
        let mut times = vec![Times::empty(); self.job.kernels.len()];
        let (mut error, mut since) = (0.0_f64, 0);
        for number in 0_u64.. {
            self.all_loops(worker, &mut part);
            since += 1;
            if worker.id == 0 {
                self.note(number, began, &mut times, reporter);
            }
            worker.wait();
            let is_last = self.stop.load(Ordering::Acquire);
            if is_last || since == check::ROUNDS {
                let round_error = self.check(worker, &part, since);
                error = check::worse(error, round_error);
                since = 0;
                if is_last {
                    break;
                }
                check::fill(&mut part);
            }
        }
        Ok((times, error))
    }

    /// Records the times of a finished round and returns whether it was the last.
    fn note(&self, number: u64, began: u64, times: &mut [Times], reporter: &dyn Reporter) {
        if number > 0 {
            (0..).zip(times).for_each(|(at, times)| times.add(self.marks.seconds(at)));
        }
        let now = clock::monotonic_ns();
        let (what, done, all) = match self.job.for_ns {
            Some(length) => ("milliseconds", (now - began) / 1_000_000, length / 1_000_000),
            None => ("repeats", number + 1, self.job.repeats),
        };
        reporter.progress(what, done as usize, all as usize);
        let enough = done >= all || signal::interrupted_by().is_some();
        // The second round always counts.
        self.stop.store(number > 0 && enough, Ordering::Release);
    }

    /// Runs one round; returns when all threads have finished it.
    fn all_loops(&self, worker: &Worker<'_>, part: &mut Part<'_>) {
        for (kernel, mark) in self.job.kernels.iter().zip(&self.marks.0[worker.id]) {
            worker.wait();
            mark[0].store(clock::monotonic_ns(), Ordering::Release);
            part.run(*kernel, self.job.stores);
            mark[1].store(clock::monotonic_ns(), Ordering::Release);
        }
        worker.wait();
    }

    /// All threads check their parts; returns the largest relative error of an array.
    fn check(&self, worker: &Worker<'_>, part: &Part<'_>, rounds: u64) -> f64 {
        let expected = check::expected(&self.job.kernels, rounds);
        let own = check::errors(part, expected);
        if let Ok(mut sums) = self.errors.lock() {
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        worker.wait();
        let sums = self.errors.lock().map_or([f64::NAN; 3], |sums| *sums);
        worker.wait();
        if let (0, Ok(mut sums)) = (worker.id, self.errors.lock()) {
            *sums = [0.0; 3];
        }
        worker.wait();
        check::relative(sums, self.job.items as u64, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Silence;

    fn job(repeats: u64) -> Job {
        let kernels = Kernel::ALL.to_vec();
        Job { kernels, stores: Stores::Cached, items: 10_007, repeats, for_ns: None, pin: false }
    }

    #[test]
    fn all_rounds_but_the_first_are_timed_and_checked() {
        for threads in [1, 3] {
            for (stores, repeats) in [(Stores::Cached, 5), (Stores::Streaming, 450)] {
                let job = Job { stores, ..job(repeats) };
                let shared = Shared::with_threads(threads);
                let mut arrays = Arrays::new(job.items, &shared).unwrap();
                let results = run(&job, &mut arrays, &shared, &Silence).unwrap();
                assert!(
                    results.times.iter().all(|times| times.count == repeats - 1),
                    "{results:?}"
                );
                assert_eq!(results.error, 0.0);
                assert_eq!(results.threads, usize::from(threads));
            }
        }
    }

    #[test]
    fn a_time_limit_ends_the_run() {
        let job = Job { for_ns: Some(20_000_000), pin: true, ..job(2) };
        let shared = Shared::with_threads(2);
        let mut arrays = Arrays::new(job.items, &shared).unwrap();
        let began = clock::monotonic_ns();
        let results = run(&job, &mut arrays, &shared, &Silence).unwrap();
        assert!(clock::monotonic_ns() - began >= 20_000_000);
        assert!(results.times[0].count > 2, "{results:?}");
    }
}
