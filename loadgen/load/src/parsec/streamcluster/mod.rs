//! streamcluster: the k-median of a stream of points, chunk by chunk. Definitions and how they are
//! met: docs/load/compute.md.

mod centers;
mod check;
mod gain;
mod points;
mod run;
mod search;
mod shape;
mod stream;

use std::path::PathBuf;

use clap::Args;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::Footprint;
use crate::generator::{Finished, Generator};
use crate::output::Reporter;
use shape::{Shape, by_name, parse_words};
use stream::Source;

/// Arguments: those of the original, or the name of one of its inputs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Streamcluster {
    /// The original's arguments; if N is 0, the points are read from INFILE as little-endian
    /// single-precision numbers
    #[arg(num_args = 9, conflicts_with_all = ["input", "centers"])]
    #[arg(value_names = ["K1", "K2", "D", "N", "CHUNK", "CLUSTERSIZE", "INFILE", "OUTFILE", "NPROC"])]
    original: Vec<String>,
    /// One of the original's inputs: test, simdev, simsmall, simmedium, simlarge, native [default:
    /// simlarge]
    #[arg(long, value_name = "SIZE")]
    input: Option<String>,
    /// Write the centres into this file, in the original's format
    #[arg(long, value_name = "FILE")]
    centers: Option<PathBuf>,
    /// How often the stream is clustered
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "time")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Cluster repeatedly for this many seconds instead
    #[arg(long, value_name = "SECONDS")]
    time: Option<f64>,
}

/// The parsed arguments.
#[derive(Debug, Clone, PartialEq)]
struct Job {
    shape: Shape,
    source: Source,
    threads: usize,
    seed: u64,
    centers_to: Option<PathBuf>,
    rounds: u32,
    /// Duration, instead of `rounds`.
    for_ns: Option<u64>,
}

impl Streamcluster {
    fn job(&self, shared: &Shared) -> Result<Job, Failure> {
        let seed = shared.seed.unwrap_or(1);
        let for_ns = crate::parsec::for_ns(self.time)?;
        if self.original.is_empty() {
            let (shape, points) = by_name(self.input.as_deref().unwrap_or("simlarge"))?;
            return Ok(Job {
                shape,
                source: Source::Drawn { points },
                threads: shared.workers(),
                seed,
                centers_to: self.centers.clone(),
                rounds: self.rounds,
                for_ns,
            });
        }
        let (shape, source, outfile, threads) = parse_words(&self.original)?;
        if shared.threads.is_some_and(|count| usize::from(count) != threads) {
            return Err(Failure::usage("NPROC and --threads differ"));
        }
        source.check(shape.dimension)?;
        let centers_to = Some(outfile);
        Ok(Job { shape, source, threads, seed, centers_to, rounds: self.rounds, for_ns })
    }
}

impl Generator for Streamcluster {
    const NAME: &'static str = "streamcluster";
    const ABOUT: &'static str = "Clusters of a stream of points: streams through memory (PARSEC)";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let job = self.job(shared)?;
        Ok(job.shape.footprint(job.threads))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        run::run(&self.job(shared)?, shared, reporter)
    }
}
