//! `assay compare --interleaved`: both sides in one run.

use std::path::PathBuf;
use std::time::Duration;

use assay_cause::experiment::compare::{Interleaved, Sides, compare_interleaved};
use assay_judge::verdict::RunComparison;
use assay_run::overrides::StudyChoice;
use assay_run::prepare::Destination;
use assay_study::DiskOverride;
use assay_sys::exit::Error;
use assay_sys::files::Trust;
use clap::Args;

use super::How;
use crate::observer::{Terminal, this_host};
use crate::parsers::repeat_length;
use crate::shared_arguments::YesArguments;

/// The study to run and its overrides.
#[derive(Debug, Clone, Args)]
pub(crate) struct InterleavedArguments {
    /// Run STUDY with two levels interleaved
    ///
    /// A B B A; the factor is the one that `--set` names twice.
    #[arg(long = "interleaved", value_name = "STUDY", conflicts_with = "runs")]
    pub(super) study: Option<String>,
    /// A level: `--set x=1 --set x=2`
    ///
    /// Other factors as in `assay run`.
    #[arg(short, long, value_name = "FACTOR=VALUE", requires = "study")]
    set: Vec<String>,
    /// Repeats of each side
    ///
    /// An even number lets drift cancel.
    #[arg(short = 'n', long, value_name = "N", requires = "study", value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Longest time of a repeat
    #[arg(short, long, value_name = "DURATION", value_parser = repeat_length, requires = "study")]
    duration: Option<Duration>,
    /// Run folder
    #[arg(long, value_name = "DIR", requires = "study")]
    out: Option<PathBuf>,
    /// Use this disk, as in `assay run`
    #[arg(long, value_name = "DISK", requires = "study")]
    disk: Option<DiskOverride>,
    #[command(flatten)]
    yes: YesArguments,
    /// Seed for random data
    #[arg(long, value_name = "N", requires = "study")]
    seed: Option<u64>,
}

/// Runs the study and compares the two levels.
pub(super) fn run(
    study: &str,
    arguments: &InterleavedArguments,
    how: &How,
) -> Result<RunComparison, Error> {
    let named = StudyChoice::named(study);
    let what = Interleaved {
        sides: Sides::parse(&arguments.set)?,
        choice: StudyChoice {
            repeats: arguments.repeats,
            at_most: arguments.duration,
            disk: arguments.disk.clone(),
            seed: arguments.seed.unwrap_or(named.seed),
            ..named
        },
        destination: Destination { out: arguments.out.clone(), trust: Trust::Checked },
    };
    arguments.yes.confirm_load()?;
    compare_interleaved(&this_host(), &what, &how.terms(false), &mut Terminal)
}
