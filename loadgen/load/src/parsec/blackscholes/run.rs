//! The whole program in order: options, the timed runs, checks, files.

use std::hint::black_box;

use assay_sys::kernel::anonymous_memory::Pages;
use assay_sys::kernel::{Root, clock, signal};
use serde_json::json;

use super::Job;
use super::check::{Checked, check};
use super::options::{Options, Source, draw};
use super::price::price;
use super::table;
use crate::arguments::Shared;
use crate::failure::Failure;
use crate::generator::{Finished, Report};
use crate::measured::Backing;
use crate::output::Reporter;
use crate::parallel_region::{ParallelRegion, cut};
use crate::parsec::BANNER;
use crate::parsec::lrand48::Lrand48;

/// Results of the pricing.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Priced {
    seconds: f64,
    /// Number of prices over all runs.
    options: u64,
    /// Runs of the thread with the fewest; all do the same number with `--runs`.
    runs: u32,
}

/// When pricing ends.
#[derive(Debug, Clone, Copy)]
enum Until {
    Runs(u32),
    /// At this CLOCK_MONOTONIC time in nanoseconds, or at a signal.
    Time(u64),
}

impl Until {
    fn is_over(self, done: u32) -> bool {
        match self {
            Self::Runs(runs) => done >= runs,
            Self::Time(end) => {
                done == u32::MAX
                    || clock::monotonic_ns() >= end
                    || signal::interrupted_by().is_some()
            }
        }
    }
}

pub(super) fn run(
    job: &Job,
    shared: &Shared,
    reporter: &dyn Reporter,
) -> Result<Finished, Failure> {
    if job.for_ns.is_some() {
        signal::note_interruptions();
    }
    let huge = shared.huge_pages.into();
    let count = usize::try_from(job.source.count()).unwrap_or(usize::MAX);
    let mut options = Options::allocate(count, huge, job.references)?;
    obtain(&job.source, &mut options)?;
    if let Some(path) = &job.options_to {
        table::write(path, &options)?;
    }
    let mut prices: Pages<f32> = Pages::zeroed(count, huge)?;
    let threads = job.threads.min(count);
    if threads < job.threads {
        reporter
            .line(&format!("WARNING: Not enough work, reducing number of threads to {threads}."));
    }
    let began = shared.ready()?;
    let until = job.for_ns.map_or(Until::Runs(job.runs), |length| Until::Time(began + length));
    let priced = measure(ParallelRegion::new(threads), &options, &mut prices, until, reporter);
    let checked = check(&options, &prices)?;
    reporter.line(&format!("{count} prices checked: at most {:.1e} off", checked.price));
    if let Some(path) = &job.prices_to {
        table::write_prices(path, &prices)?;
    }
    Ok(Finished {
        report: report(job, threads, count, priced, checked),
        backing: Backing::read(&Root::real()),
    })
}

fn obtain(source: &Source, options: &mut Options) -> Result<(), Failure> {
    match source {
        Source::File { path, .. } => table::read(path, options),
        Source::Drawn { seed, .. } => {
            let mut random = Lrand48::seeded(*seed);
            for at in 0..options.len() {
                options.set(at, draw(&mut random));
            }
            Ok(())
        }
    }
}

/// Prices everything repeatedly, at least once. Each thread has a contiguous part, the remainder of
/// an uneven division included, and nothing is shared.
fn measure(
    region: ParallelRegion,
    options: &Options,
    prices: &mut [f32],
    until: Until,
    reporter: &dyn Reporter,
) -> Priced {
    let shares = region.shares(options.len());
    let parts = shares.iter().cloned().zip(cut(prices, &shares)).collect();
    let spans = region.each(parts, |worker, (range, prices)| {
        let length = range.len() as u64;
        let columns = options.columns(range);
        worker.wait();
        let began = clock::monotonic_ns();
        let mut runs = 0;
        while runs == 0 || !until.is_over(runs) {
            price(black_box(&columns), black_box(prices));
            runs += 1;
            if let (0, Until::Runs(all)) = (worker.id, until) {
                reporter.progress("runs", runs as usize, all as usize);
            }
        }
        worker.wait();
        (clock::monotonic_ns() - began, runs, u64::from(runs) * length)
    });
    Priced {
        seconds: spans[0].0 as f64 * 1e-9,
        options: spans.iter().map(|(_, _, options)| options).sum(),
        runs: spans.iter().map(|(_, runs, _)| *runs).min().unwrap_or(0),
    }
}

fn report(job: &Job, threads: usize, count: usize, priced: Priced, checked: Checked) -> Report {
    let Priced { seconds, runs, .. } = priced;
    let rate = priced.options as f64 / seconds;
    let mut text = format!(
        "{BANNER}\nNum of Options: {count}\nNum of Runs: {runs}\nSize of data: {}\n",
        count * 40
    );
    if let Some(mismatches) = checked.unlike_reference {
        text.push_str(&format!("Num Errors: {mismatches}\n"));
    }
    text.push_str(&format!("time = {seconds:.6}\noptions/s = {rate:.0}\n"));
    let mut json = json!({
        "options": count,
        "runs": runs,
        "threads": threads,
        "roi_s": seconds,
        "checked": {
            "largest_error": checked.price,
            "largest_parity_error": checked.parity,
            "unlike_reference": checked.unlike_reference,
        },
        "metrics": {
            "options_per_s": rate,
            "options_per_s_per_thread": rate / threads as f64,
            "roi_s": seconds,
        },
    });
    if let Some(signal) = job.for_ns.and_then(|_| signal::interrupted_by()) {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Silence;
    use assay_sys::kernel::anonymous_memory::HugePages;

    #[test]
    fn prices_do_not_depend_on_the_number_of_threads() {
        let mut options = Options::allocate(1009, HugePages::System, false).unwrap();
        obtain(&Source::Drawn { count: 1009, seed: 9 }, &mut options).unwrap();
        let priced = |threads| {
            let mut prices = vec![f32::NAN; 1009];
            let priced = measure(
                ParallelRegion::new(threads),
                &options,
                &mut prices,
                Until::Runs(2),
                &Silence,
            );
            assert_eq!((priced.runs, priced.options), (2, 2018));
            prices
        };
        let alone = priced(1);
        assert!(alone.iter().all(|price| price.is_finite()));
        for threads in [2, 3, 7] {
            assert_eq!(priced(threads), alone, "{threads} threads");
        }
    }

    #[test]
    fn an_expired_time_still_prices_everything_once() {
        let mut options = Options::allocate(10, HugePages::System, false).unwrap();
        obtain(&Source::Drawn { count: 10, seed: 9 }, &mut options).unwrap();
        let mut prices = vec![f32::NAN; 10];
        let priced =
            measure(ParallelRegion::new(3), &options, &mut prices, Until::Time(1), &Silence);
        assert_eq!((priced.runs, priced.options), (1, 10));
        assert!(prices.iter().all(|price| price.is_finite()));
    }
}
