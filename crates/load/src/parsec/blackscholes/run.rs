//! The whole program in its order: options, the runs that count, checks, files.

use std::hint::black_box;

use assay_kernel::pages::Pages;
use assay_kernel::{Root, clock};
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
use crate::parsec::BANNER;
use crate::parsec::lrand48::Lrand48;
use crate::talk::Talk;
use crate::team::{Team, cut};

pub(super) fn run(job: &Job, shared: &Shared, talk: &dyn Talk) -> Result<Finished, Failure> {
    let huge = shared.huge_pages.into();
    let count = usize::try_from(job.source.count()).unwrap_or(usize::MAX);
    let mut options = Options::room(count, huge, job.references)?;
    obtain(&job.source, &mut options)?;
    if let Some(path) = &job.options_to {
        table::write(path, &options)?;
    }
    let mut prices: Pages<f32> = Pages::zeroed(count, huge)?;
    let threads = job.threads.min(count);
    if threads < job.threads {
        talk.say(&format!("WARNING: Not enough work, reducing number of threads to {threads}."));
    }
    shared.ready()?;
    let seconds = measure(Team::of(threads), &options, &mut prices, job.runs, talk);
    let checked = check(&options, &prices)?;
    talk.say(&format!("{count} prices checked: at most {:.1e} off", checked.price));
    if let Some(path) = &job.prices_to {
        table::write_prices(path, &prices)?;
    }
    Ok(Finished {
        report: report(job, threads, count, seconds, checked),
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

/// Prices everything `runs` times and returns the seconds. Each thread has a contiguous part, the
/// remainder of an uneven division included, and nothing is shared.
fn measure(team: Team, options: &Options, prices: &mut [f32], runs: u32, talk: &dyn Talk) -> f64 {
    let shares = team.shares(options.len());
    let parts = shares.iter().cloned().zip(cut(prices, &shares)).collect();
    let spans = team.each(parts, |worker, (range, prices)| {
        let columns = options.columns(range);
        worker.wait();
        let began = clock::monotonic_ns();
        for run in 1..=runs {
            price(black_box(&columns), black_box(prices));
            if worker.id == 0 {
                talk.progress("runs", run as usize, runs as usize);
            }
        }
        worker.wait();
        clock::monotonic_ns() - began
    });
    spans[0] as f64 * 1e-9
}

fn report(job: &Job, threads: usize, count: usize, seconds: f64, checked: Checked) -> Report {
    let priced = count as f64 * f64::from(job.runs);
    let mut text = format!(
        "{BANNER}\nNum of Options: {count}\nNum of Runs: {}\nSize of data: {}\n",
        job.runs,
        count * 40
    );
    if let Some(unlike) = checked.unlike_reference {
        text.push_str(&format!("Num Errors: {unlike}\n"));
    }
    text.push_str(&format!("time = {seconds:.6}\noptions/s = {:.0}\n", priced / seconds));
    let json = json!({
        "options": count,
        "runs": job.runs,
        "threads": threads,
        "roi_s": seconds,
        "checked": {
            "largest_error": checked.price,
            "largest_parity_error": checked.parity,
            "unlike_reference": checked.unlike_reference,
        },
        "metrics": {
            "options_per_s": priced / seconds,
            "options_per_s_per_thread": priced / seconds / threads as f64,
            "roi_s": seconds,
        },
    });
    Report { text, json }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::Silence;
    use assay_kernel::pages::HugePages;

    #[test]
    fn prices_do_not_depend_on_the_number_of_threads_and_no_remainder_is_left() {
        let mut options = Options::room(1009, HugePages::System, false).unwrap();
        obtain(&Source::Drawn { count: 1009, seed: 9 }, &mut options).unwrap();
        let priced = |threads| {
            let mut prices = vec![f32::NAN; 1009];
            measure(Team::of(threads), &options, &mut prices, 2, &Silence);
            prices
        };
        let alone = priced(1);
        assert!(alone.iter().all(|price| price.is_finite()));
        for threads in [2, 3, 7] {
            assert_eq!(priced(threads), alone, "{threads} threads");
        }
    }
}
