//! Measures the cost of Assay on this host, and prints one table. Figures and methods are described in
//! `docs/results/performance.md`.

mod assay;
mod audit;
mod child;
mod failure;
mod figure;
mod help_time;
mod idle_wait;
mod leftovers;
mod observer;
mod report_time;
mod sampling;
mod shape;
mod starts;
mod statistics;
mod study;
mod synthetic;
mod with_ledger;

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use assay_sys::kernel::{Root, signal};
use clap::{Parser, ValueEnum};

use crate::assay::Assay;
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
    /// Measure only this part
    #[arg(long, value_name = "WHAT")]
    only: Option<Part>,
}

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Start skew, sampling and report
    Runs,
    /// Only the report of 256 groups
    Report,
    /// `assay --help`
    Help,
    /// Runs with and without Assay
    Observer,
    /// The sampler with a thousand threads and 256 groups
    Sampling,
    /// `assay audit --snapshot` of a thousand groups
    Audit,
}

/// The largest run whose report must stay fast.
const LARGEST: u32 = 256;

/// Repetitions of `assay --help`.
const HELPS: usize = 50;

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
    all(&Assay::new(&arguments.assay, folder.path())?, arguments, folder.path())
}

fn all(assay: &Assay, arguments: &Arguments, folder: &Path) -> Result<Vec<Figure>, Failure> {
    let is_selected = |part| arguments.only.is_none_or(|only| only == part);
    let [groups, repeats, reports, pairs, rounds] =
        if arguments.quick { [32, 3, 3, 3, 3] } else { [128, 7, 5, 8, 5] };
    let pairs = arguments.pairs.unwrap_or(pairs);
    let mut figures = Vec::new();
    if is_selected(Part::Runs) {
        progress(&format!("{groups} groups, {repeats} repeats"));
        let (start_figures, model) = starts::measure(assay, groups, repeats as usize)?;
        figures.extend(start_figures);
        progress("report of a run of ten minutes");
        figures.extend(report_time::measure(assay, &model, folder, reports as usize)?);
    }
    if is_selected(Part::Report) {
        progress(&format!("report of a run of ten minutes, {LARGEST} groups"));
        let model = starts::model(assay, LARGEST)?;
        figures.extend(report_time::measure(assay, &model, folder, reports as usize)?);
    }
    if is_selected(Part::Help) {
        progress("help");
        figures.push(help_time::measure(&arguments.assay, HELPS)?);
    }
    if is_selected(Part::Observer) {
        progress(&format!("{pairs} pairs with and without Assay"));
        figures.push(observer::measure(assay, folder, pairs as usize)?);
    }
    if is_selected(Part::Sampling) {
        progress(&format!("sampler, {rounds} rounds"));
        figures.push(sampling::measure(folder, rounds as usize)?);
    }
    if is_selected(Part::Audit) {
        progress(&format!("audits, {rounds} rounds"));
        figures.extend(audit::measure(assay, folder, rounds as usize)?);
    }
    Ok(figures)
}

fn progress(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}
