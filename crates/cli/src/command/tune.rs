//! `assay tune`

use std::path::PathBuf;
use std::time::Duration;

use assay_cause::experiment::iocost::{IoCostOptions, measure_iocost};
use assay_cause::experiment::tune::{TuneOptions, tune};
use assay_run::overrides::StudyChoice;
use assay_study::DiskOverride;
use assay_sys::exit::{Code, Error};
use clap::Args;
use clap::builder::ArgPredicate;

use crate::observer::{Terminal, load, this_host};
use crate::output;
use crate::parsers::repeat_length;
use crate::shared_arguments::{
    FormatArguments, LOADS, StudyArguments, TrustArguments, YesArguments,
};

/// The study that proves the parameters of iocost.
const PROOF: &str = "io-weight";

/// Arguments of `assay tune`.
#[derive(Debug, Args)]
#[command(mut_arg("study", |study| study.required(false).required_unless_present("iocost")
    .default_value_if("iocost", ArgPredicate::IsPresent, PROOF)), after_help = LOADS)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// Instead measure iocost parameters of DISK
    ///
    /// And prove them with the study, by default io-weight. The disk is written to only if it is an image,
    /// or with --erase.
    #[arg(long, value_name = "DISK", conflicts_with_all = ["disk", "scheduler", "repeats", "duration", "stop", "fix", "vary", "settings"])]
    iocost: Option<DiskOverride>,
    /// Time in all
    #[arg(long = "for", value_name = "DURATION", value_parser = repeat_length, default_value = "5m")]
    length: Duration,
    /// Do not change this; may be repeated
    ///
    /// `scheduler`, `weights`, or an attribute such as `nr_requests`.
    #[arg(long, value_name = "NAME")]
    fix: Vec<String>,
    /// Also vary `iodepth` of the workload
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = ["iodepth"])]
    vary: Vec<String>,
    /// Settings to try at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    settings: Option<u32>,
    /// Run folder
    ///
    /// By default `runs/<time>-<study>-tune`; with --iocost `runs/<time>-iocost`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    yes: YesArguments,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// Searches for the setting that keeps the promise at the highest throughput, without applying it.
pub(crate) fn run(arguments: &TuneArguments) -> Result<Code, Error> {
    if let Some(disk) = &arguments.iocost {
        return iocost(arguments, disk);
    }
    let loaded = load(&arguments.study.choice(), arguments.format.is_json())?;
    arguments.yes.confirm_load()?;
    let options = TuneOptions {
        length: arguments.length,
        keep: arguments.fix.clone(),
        also: arguments.vary.clone(),
        settings: arguments.settings.map(|most| most as usize),
        destination: arguments.trust.destination(arguments.out.as_deref()),
    };
    let tuned = tune(&this_host(), loaded, &options, &mut Terminal)?;
    if arguments.format.is_json() {
        output::json(&tuned.tuning)?;
    } else {
        output::data(&assay_cause::tuning_text(&tuned.tuning, output::width()));
        output::data(&format!("report: {}", tuned.folder.file("report.html").display()));
    }
    Ok(tuned.code)
}

/// Measures the parameters of iocost for a disk, and proves them.
fn iocost(arguments: &TuneArguments, disk: &DiskOverride) -> Result<Code, Error> {
    let choice = arguments.study.choice();
    arguments.yes.confirm_load()?;
    let options = IoCostOptions {
        disk: disk.clone(),
        erase: choice.erase.clone(),
        length: arguments.length,
        proof: StudyChoice { erase: None, ..choice },
        destination: arguments.trust.destination(arguments.out.as_deref()),
    };
    let measured = measure_iocost(&this_host(), &options, &mut Terminal)?;
    if arguments.format.is_json() {
        output::json(&measured.found)?;
    } else {
        output::data(&assay_cause::iocost::text(&measured.found, output::width()));
        output::data(&format!("report: {}", measured.folder.file("report.html").display()));
    }
    Ok(measured.code)
}
