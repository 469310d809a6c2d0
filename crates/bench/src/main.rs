//! Measures what Assay itself costs and how precise it is, on this host, and prints one table.
//! What is measured and how stands in `docs/results/performance.md`.

mod assay;
mod bias;
mod browser;
mod child;
mod equivalence;
mod failure;
mod faults;
mod figure;
mod filebench;
mod graph500;
mod groups;
mod help_time;
mod idle_wait;
mod merge;
mod multichase;
mod observer;
mod pages;
mod paired;
mod parsec;
mod peers;
mod predict;
mod report_time;
mod sampling;
mod shape;
mod starts;
mod statistics;
mod stream;
mod study;
mod synthetic;
mod with_ledger;
mod ycsb;

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use assay_kernel::signal;
use clap::{Parser, ValueEnum};

use crate::assay::Assay;
use crate::bias::Resource;
use crate::failure::Failure;
use crate::figure::{Figure, table};
use crate::idle_wait::HostLock;
use crate::predict::Campaign;

/// Measure start skew, sampling cost, report time and observer effect on this host
///
/// Needs root and fio. Ends with 0 when everything could be measured, whether or not a target was
/// reached: a host may be too noisy or too small.
#[derive(Debug, Parser)]
#[command(name = "assay-bench")]
struct Arguments {
    /// The `assay` binary, built with --release
    assay: PathBuf,
    /// Fewer groups, repeats and pairs
    #[arg(long)]
    quick: bool,
    /// Pairs of runs with and without Assay
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pairs: Option<u32>,
    /// Runs with a secret bias
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Measure only this
    #[arg(long, value_name = "WHAT")]
    only: Option<Part>,
    /// Configurations to predict and run; five make a family that differs in the number of groups
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    configs: u32,
    /// Seconds of each of them
    #[arg(long, value_name = "S", default_value_t = 6, value_parser = clap::value_parser!(u64).range(3..))]
    seconds: u64,
    /// Draws them
    #[arg(long, value_name = "N", default_value_t = 20261121)]
    seed: u64,
    /// Only those that the model, before they run, says it can stand behind
    #[arg(long)]
    inside: bool,
}

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Start skew, sampling and report
    Runs,
    /// The report of 256 groups alone: time, size, and the browser that draws it
    Report,
    /// `assay --help`
    Help,
    /// A thousand runs merged: memory
    Merge,
    /// Runs with and without Assay
    Observer,
    /// The sampler with a thousand threads and 256 groups, beside pidstat
    Sampling,
    /// fio, chase and graph500 with the sampler on them and without; only where it is asked for
    Equivalence,
    /// Predictions beside the runs that they are about; only when asked for
    Predict,
    /// Making, setting, reading and removing groups
    Groups,
    /// Ten injected faults, and how many are named first
    Faults,
    /// Verdicts on runs with a secret bias; only where it is asked for, since it takes long
    Bias,
    /// The same on the CPU alone, where the others of the host may be busy
    BiasCpu,
    /// The same on a disk alone
    BiasDisk,
    /// graph500 against the reference code in PEER_GRAPH500
    Graph500,
    /// fileserver against filebench in PEER_FILEBENCH
    Filebench,
    /// ycsb beside the Java client that PEER_YCSB names
    Ycsb,
    /// blackscholes and streamcluster beside PARSEC's in PEER_PARSEC
    Parsec,
    /// chase beside multichase in PEER_MULTICHASE
    Multichase,
    /// bandwidth beside STREAM in PEER_STREAM
    Stream,
}

/// How much is measured.
struct Extent {
    groups: u32,
    repeats: usize,
    reports: usize,
    pairs: usize,
    made: usize,
    rounds: usize,
    /// SCALE of the graphs.
    scale: u32,
    records: u64,
    /// Samples of half a second of each chase.
    samples: u32,
    /// Runs with a secret bias.
    runs: usize,
    only: Option<Part>,
}

impl Extent {
    fn of(arguments: &Arguments) -> Self {
        let only = arguments.only;
        let extent = if arguments.quick {
            Self {
                groups: 32,
                repeats: 3,
                reports: 3,
                pairs: 3,
                made: 200,
                rounds: 3,
                scale: 16,
                records: 100_000,
                samples: 2,
                runs: 4,
                only,
            }
        } else {
            Self {
                groups: 128,
                repeats: 7,
                reports: 5,
                pairs: 8,
                made: 1000,
                rounds: 5,
                scale: 20,
                records: 1_000_000,
                samples: 5,
                runs: 100,
                only,
            }
        };
        let pairs = arguments.pairs.map_or(extent.pairs, |pairs| pairs as usize);
        let runs = arguments.runs.map_or(extent.runs, |runs| runs as usize);
        Self { pairs, runs, ..extent }
    }

    /// How much programs do whose throughput is compared with itself.
    fn length(&self) -> equivalence::Length {
        equivalence::Length {
            seconds: if self.scale < 20 { 2 } else { 4 },
            scale: self.scale.max(18),
        }
    }
}

/// Groups of each run that is merged.
const MERGED: u32 = 8;

/// The largest run that a report must stay quick for.
const LARGEST: u32 = 256;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    signal::note_interruptions();
    match measure(&arguments) {
        Ok(figures) => {
            // A reader that has gone away is no error.
            let _ = write!(stdout().lock(), "{}", table(&figures));
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            say(&format!("error: {trouble}"));
            match trouble {
                Failure::Interrupted(_) => ExitCode::from(130),
                Failure::Failed(_) => ExitCode::from(4),
            }
        }
    }
}

/// Everything that is written lies in one folder, which is gone afterwards.
fn measure(arguments: &Arguments) -> Result<Vec<Figure>, Failure> {
    let place = tempfile::Builder::new()
        .prefix("assay-bench-")
        .tempdir()
        .map_err(|cause| Failure::Failed(format!("cannot make a folder: {cause}")))?;
    let assay = Assay::new(&arguments.assay, place.path())?;
    say("waiting for this host's turn to be measured");
    let _lock = HostLock::take()?;
    if arguments.only == Some(Part::Predict) {
        let campaign = Campaign {
            configurations: arguments.configs as usize,
            seconds: arguments.seconds,
            seed: arguments.seed,
            inside: arguments.inside,
        };
        return predict::measure(&assay, place.path(), campaign, &say);
    }
    all(&assay, &arguments.assay, &Extent::of(arguments), place.path())
}

/// How often help is asked for.
const HELPS: usize = 50;

fn all(
    assay: &Assay,
    program: &Path,
    extent: &Extent,
    place: &Path,
) -> Result<Vec<Figure>, Failure> {
    let wanted = |part| extent.only.is_none_or(|only| only == part);
    let mut figures = Vec::new();
    if wanted(Part::Runs) {
        say(&format!("{} groups, {} repeats", extent.groups, extent.repeats));
        let (found, model) = starts::measure(assay, extent.groups, extent.repeats)?;
        figures.extend(found);
        say("report of a run of ten minutes");
        figures.extend(report_time::measure(assay, &model, place, extent.reports)?);
    }
    if wanted(Part::Report) {
        say(&format!("report of a run of ten minutes, {LARGEST} groups"));
        let model = starts::model(assay, LARGEST)?;
        figures.extend(report_time::measure(assay, &model, place, extent.reports)?);
    }
    if wanted(Part::Help) {
        say("help");
        figures.push(help_time::measure(program, HELPS)?);
    }
    if wanted(Part::Merge) {
        say("a thousand runs merged");
        figures.extend(merge::measure(assay, &starts::model(assay, MERGED)?, place)?);
    }
    if wanted(Part::Observer) {
        say(&format!("{} pairs with and without Assay", extent.pairs));
        figures.push(observer::measure(assay, place, extent.pairs)?);
    }
    if wanted(Part::Sampling) {
        say(&format!("sampler, {} rounds", extent.rounds));
        figures.extend(sampling::measure(place, extent.rounds)?);
        figures.extend(pages::measure(place, extent.rounds)?);
    }
    if wanted(Part::Groups) {
        say(&format!("{} groups made and removed, {} rounds", extent.made, extent.rounds));
        figures.extend(groups::measure(place, extent.made, extent.rounds)?);
    }
    if wanted(Part::Faults) {
        say("ten injected faults");
        figures.push(faults::measure(program, place)?);
    }
    // What takes long is asked for by name.
    if extent.only == Some(Part::Equivalence) {
        say(&format!("three programs with the sampler and without, {} rounds", extent.pairs));
        figures.extend(equivalence::measure(program, place, extent.length(), extent.pairs)?);
    }
    let biased: &[Resource] = match extent.only {
        Some(Part::Bias) => &[Resource::Cpu, Resource::Disk],
        Some(Part::BiasCpu) => &[Resource::Cpu],
        Some(Part::BiasDisk) => &[Resource::Disk],
        _ => &[],
    };
    figures.extend(bias::measure(assay, biased, extent.runs)?);
    figures.extend(peers::measure(program, extent, place)?);
    Ok(figures)
}

fn say(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}
