//! blackscholes: prices of European options in single precision, computed repeatedly. Definitions
//! and how they are met: docs/load/compute.md.

mod check;
mod options;
mod price;
mod run;
mod table;

use std::path::PathBuf;

use clap::Args;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};
use crate::generator::{Finished, Generator};
use crate::output::Reporter;
use options::{BYTES_PER_OPTION, Source};

/// Arguments: those of the original, or the name of one of its inputs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Blackscholes {
    /// The original's arguments: threads, file of options, file for the prices
    #[arg(value_names = ["NTHREADS", "INFILE", "OUTFILE"], num_args = 3)]
    #[arg(conflicts_with_all = ["input", "prices"])]
    original: Vec<String>,
    /// Generated options, drawn from the ranges of the original's: test, simdev, simsmall,
    /// simmedium, simlarge, native, or a number [default: simlarge]
    #[arg(long, value_name = "SIZE")]
    input: Option<String>,
    /// Write the options into this file, in the original's format
    #[arg(long, value_name = "FILE")]
    write_options: Option<PathBuf>,
    /// Write the prices into this file, in the original's format
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// How often all options are priced
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Price repeatedly for this many seconds instead
    #[arg(long, value_name = "SECONDS", conflicts_with = "runs")]
    time: Option<f64>,
    /// Compare the prices with those in the file of options, and print how many differ by more than
    /// 1e-4
    #[arg(long, requires = "original")]
    references: bool,
}

/// The parsed arguments.
#[derive(Debug, Clone, PartialEq)]
struct Job {
    threads: usize,
    source: Source,
    options_to: Option<PathBuf>,
    prices_to: Option<PathBuf>,
    runs: u32,
    /// Duration, instead of `runs`.
    for_ns: Option<u64>,
    references: bool,
}

impl Blackscholes {
    fn job(&self, shared: &Shared) -> Result<Job, Failure> {
        let job = Job {
            threads: shared.workers(),
            source: Source::Drawn { count: 0, seed: shared.seed.unwrap_or(1) },
            options_to: self.write_options.clone(),
            prices_to: self.prices.clone(),
            runs: self.runs,
            for_ns: crate::parsec::for_ns(self.time)?,
            references: self.references,
        };
        let [threads, infile, outfile] = self.original.as_slice() else {
            let count = options::parse_count(self.input.as_deref().unwrap_or("simlarge"))?;
            let source = Source::Drawn { count, seed: shared.seed.unwrap_or(1) };
            return Ok(Job { source, ..job });
        };
        let wrong = || {
            let text = "the first of the three arguments is the number of threads";
            Failure::usage(format!("{text}, not `{threads}`"))
        };
        let threads = threads.parse().ok().filter(|threads| *threads > 0).ok_or_else(wrong)?;
        if shared.threads.is_some_and(|count| usize::from(count) != threads) {
            return Err(Failure::usage("NTHREADS and --threads differ"));
        }
        let source = Source::file(infile.into())?;
        Ok(Job { threads, source, prices_to: Some(outfile.into()), ..job })
    }
}

impl Generator for Blackscholes {
    const NAME: &'static str = "blackscholes";
    const ABOUT: &'static str = "Prices of options: bound by computation (PARSEC)";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let job = self.job(shared)?;
        let mut parts = vec![("options and prices", job.source.count() * BYTES_PER_OPTION)];
        if job.references {
            parts.push(("reference prices", job.source.count() * 4));
        }
        Ok(Footprint::new(vec![Phase { name: "pricing", parts }]))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        run::run(&self.job(shared)?, shared, reporter)
    }
}
