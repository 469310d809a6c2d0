//! Measures the cost and precision of Assay on this host, and prints one table. Figures and methods
//! are described in `docs/results/performance.md`.

mod assay;
mod audit;
mod bias;
mod blame;
mod browser;
mod causes;
mod child;
mod csv;
mod equivalence;
mod failure;
mod faults;
mod figure;
mod filebench;
mod graph500;
mod groups;
mod help_time;
mod idle_wait;
mod leftovers;
mod merge;
mod multichase;
mod observer;
mod pages;
mod paired;
mod pairs;
mod parsec;
mod peer_programs;
mod peers;
mod report_time;
mod requests;
mod sampling;
mod shape;
mod starts;
mod statistics;
mod stream;
mod study;
mod switches;
mod synthetic;
mod with_ledger;
mod ycsb;

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use assay_kernel::{Root, signal};
use clap::{Parser, ValueEnum};

use crate::assay::Assay;
use crate::bias::Resource;
use crate::failure::Failure;
use crate::figure::{Figure, table};
use crate::idle_wait::HostLock;

/// Measure start skew, sampling cost, report time and observer effect on this host
///
/// Needs root and fio. Exits with 0 if everything could be measured, whether or not targets were
/// reached: a host may be too noisy or too small.
#[derive(Debug, Parser)]
#[command(name = "assay-bench")]
struct Arguments {
    /// The `assay` binary, built with --release
    #[arg(default_value = "target/release/assay")]
    assay: PathBuf,
    /// Fewer groups, repeats and pairs
    #[arg(long)]
    quick: bool,
    /// Pairs of runs with and without Assay
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pairs: Option<u32>,
    /// Runs with a hidden bias, or with and without each cause
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Only runs with and without these causes; may be repeated
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    cause: Vec<String>,
    /// Measure only this part
    #[arg(long, value_name = "WHAT")]
    only: Option<Part>,
    /// Seconds of each run with and without a cause; what each takes to be decided unless given
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(3..))]
    seconds: Option<u64>,
    /// Begin no run of `blame` or `causes` that would end later than this many seconds
    #[arg(long, value_name = "S")]
    at_most: Option<u64>,
    /// Append a line for each run of `blame` (each class of it) or of `causes` to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Keep the runs of `causes` in this folder; those that are there already are judged again instead of made
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Start skew, sampling and report
    Runs,
    /// Only the report of 256 groups: time, size, and drawing in a browser
    Report,
    /// `assay --help`
    Help,
    /// Memory for merging a thousand runs
    Merge,
    /// Runs with and without Assay
    Observer,
    /// Throughput of a loop disk with requests followed by eBPF programs, and without; only on request
    Requests,
    /// The sampler with a thousand threads and 256 groups, compared with pidstat
    Sampling,
    /// fio, chase and graph500 with and without the sampler; only on request
    Equivalence,
    /// Creating, setting, reading and removing groups
    Groups,
    /// `assay audit`: a snapshot of a thousand groups, and watching 256; only on request
    Audit,
    /// Ten injected faults, and how many are named first
    Faults,
    /// What the programs of `assay blame` add to a switch; only on request
    Switches,
    /// Causes put into runs, and how often the kernel's events prove them; only on request
    Causes,
    /// `assay blame` beside groups of which the truth is known, and its proofs; only on request. Needs no `assay`
    Blame,
    /// Verdicts on runs with a hidden bias; only on request, since it takes long
    Bias,
    /// The same on the CPU only, while the rest of the host may be busy
    BiasCpu,
    /// The same on a disk only
    BiasDisk,
    /// graph500 compared with the reference code in PEER_GRAPH500
    Graph500,
    /// fileserver compared with filebench in PEER_FILEBENCH
    Filebench,
    /// ycsb compared with the Java client named by PEER_YCSB
    Ycsb,
    /// blackscholes and streamcluster compared with PARSEC's in PEER_PARSEC
    Parsec,
    /// chase compared with multichase in PEER_MULTICHASE
    Multichase,
    /// bandwidth compared with STREAM in PEER_STREAM
    Stream,
}

/// Extent of the measurement.
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
    /// Runs with a hidden bias.
    runs: usize,
    only: Option<Part>,
}

impl Extent {
    fn new(arguments: &Arguments) -> Self {
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

    /// Duration of programs whose throughput is compared with and without the sampler.
    fn length(&self) -> equivalence::Length {
        equivalence::Length {
            seconds: if self.scale < 20 { 2 } else { 4 },
            scale: self.scale.max(18),
        }
    }
}

/// Groups of each merged run.
const MERGED: u32 = 8;

/// The largest run whose report must stay fast.
const LARGEST: u32 = 256;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    signal::note_interruptions();
    match measure(&arguments) {
        Ok(figures) => {
            // A closed pipe is not an error.
            let _ = write!(stdout().lock(), "{}", table(&figures));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            progress(&format!("error: {failure}"));
            match failure {
                Failure::Interrupted(_) => ExitCode::from(130),
                Failure::Failed(_) => ExitCode::from(4),
            }
        }
    }
}

/// All files are written to one folder, which is removed afterwards, or by the next bench if this one is killed.
fn measure(arguments: &Arguments) -> Result<Vec<Figure>, Failure> {
    progress("waiting for the host lock");
    let _lock = HostLock::acquire()?;
    leftovers::remove(&std::env::temp_dir(), &Root::real())?;
    let folder = tempfile::Builder::new()
        .prefix(leftovers::PREFIX)
        .tempdir()
        .map_err(|cause| Failure::Failed(format!("cannot create a folder: {cause}")))?;
    if let Some(figures) = campaign(arguments, folder.path()) {
        return figures;
    }
    let assay = Assay::new(&arguments.assay, folder.path())?;
    all(&assay, &arguments.assay, &Extent::new(arguments), folder.path())
}

/// The parts that are made on several pairs of CPUs at once, where a host has them.
fn campaign(arguments: &Arguments, folder: &Path) -> Option<Result<Vec<Figure>, Failure>> {
    let runs = |usual| arguments.runs.unwrap_or(usual) as usize;
    let at_most = arguments.at_most.map(Duration::from_secs);
    let csv = arguments.csv.clone();
    match arguments.only? {
        Part::Blame => {
            let campaign = blame::Campaign { runs: runs(blame::RUNS), at_most, csv };
            Some(blame::measure(folder, &campaign))
        }
        Part::Causes => {
            let campaign = causes::Campaign {
                program: &arguments.assay,
                folder,
                runs: runs(causes::RUNS),
                seconds: arguments.seconds,
                only: &arguments.cause,
                at_most,
                csv,
                keep: arguments.keep.clone(),
            };
            Some(causes::measure(&campaign))
        }
        _ => None,
    }
}

/// Repetitions of `assay --help`.
const HELPS: usize = 50;

fn all(
    assay: &Assay,
    program: &Path,
    extent: &Extent,
    folder: &Path,
) -> Result<Vec<Figure>, Failure> {
    let is_selected = |part| extent.only.is_none_or(|only| only == part);
    let mut figures = Vec::new();
    if is_selected(Part::Runs) {
        progress(&format!("{} groups, {} repeats", extent.groups, extent.repeats));
        let (start_figures, model) = starts::measure(assay, extent.groups, extent.repeats)?;
        figures.extend(start_figures);
        progress("report of a run of ten minutes");
        figures.extend(report_time::measure(assay, &model, folder, extent.reports)?);
    }
    if is_selected(Part::Report) {
        progress(&format!("report of a run of ten minutes, {LARGEST} groups"));
        let model = starts::model(assay, LARGEST)?;
        figures.extend(report_time::measure(assay, &model, folder, extent.reports)?);
    }
    if is_selected(Part::Help) {
        progress("help");
        figures.push(help_time::measure(program, HELPS)?);
    }
    if is_selected(Part::Merge) {
        progress("a thousand runs merged");
        figures.extend(merge::measure(assay, &starts::model(assay, MERGED)?, folder)?);
    }
    if is_selected(Part::Observer) {
        progress(&format!("{} pairs with and without Assay", extent.pairs));
        figures.push(observer::measure(assay, folder, extent.pairs)?);
    }
    if extent.only == Some(Part::Requests) {
        progress(&format!("requests followed and not, {} rounds", extent.pairs));
        figures.extend(requests::measure(folder, extent.pairs)?);
    }
    if extent.only == Some(Part::Switches) {
        progress(&format!("switches with and without programs, {} rounds", extent.pairs));
        figures.extend(switches::measure(extent.pairs)?);
    }
    if is_selected(Part::Sampling) {
        progress(&format!("sampler, {} rounds", extent.rounds));
        figures.extend(sampling::measure(folder, extent.rounds)?);
        figures.extend(pages::measure(folder, extent.rounds)?);
    }
    if is_selected(Part::Groups) {
        progress(&format!("{} groups created and removed, {} rounds", extent.made, extent.rounds));
        figures.extend(groups::measure(folder, extent.made, extent.rounds)?);
    }
    if extent.only == Some(Part::Audit) {
        progress(&format!("audits, {} rounds", extent.rounds));
        figures.extend(audit::measure(assay, program, folder, extent.rounds)?);
    }
    if is_selected(Part::Faults) {
        progress("ten injected faults");
        figures.push(faults::measure(program, folder)?);
    }
    // Slow parts run only on request.
    if extent.only == Some(Part::Equivalence) {
        progress(&format!("three programs with and without the sampler, {} rounds", extent.pairs));
        figures.extend(equivalence::measure(program, folder, extent.length(), extent.pairs)?);
    }
    let biased: &[Resource] = match extent.only {
        Some(Part::Bias) => &[Resource::Cpu, Resource::Disk],
        Some(Part::BiasCpu) => &[Resource::Cpu],
        Some(Part::BiasDisk) => &[Resource::Disk],
        _ => &[],
    };
    figures.extend(bias::measure(assay, biased, extent.runs)?);
    figures.extend(peers::measure(program, extent, folder)?);
    Ok(figures)
}

fn progress(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}
