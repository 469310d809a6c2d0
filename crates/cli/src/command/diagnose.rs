//! `assay diagnose`

use std::path::PathBuf;
use std::time::Duration;

use assay_cause::experiment::explain::{ExplainOptions, explain};
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::observer::{Terminal, this_host};
use crate::output;
use crate::parsers::repeat_length;
use crate::shared_arguments::{FormatArguments, LOADS, TrustArguments, YesArguments};

/// Arguments of `assay diagnose`.
#[derive(Debug, Args)]
#[command(after_help = LOADS)]
pub(crate) struct DiagnoseArguments {
    /// Run folder
    run: PathBuf,
    /// This trial, by its number
    ///
    /// By default the smallest that failed.
    #[arg(long, value_name = "N")]
    trial: Option<usize>,
    /// Longest time of a repeat
    ///
    /// By default 3s, or that of the run if shorter.
    #[arg(short, long, value_name = "DURATION", value_parser = repeat_length)]
    duration: Option<Duration>,
    /// Rounds of every change
    ///
    /// In each of them every change and the unchanged trial run once; changes that helped get two more
    /// rounds of their own. One round is enough for a failed check; a broken promise needs 2 or more. By
    /// default 4 to 8, until a cause is found.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Test only this cause; may be repeated
    #[arg(long, value_name = "CAUSE")]
    only: Vec<String>,
    /// Folder of the interventions
    ///
    /// By default `runs/<time>-<study>-explain`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    yes: YesArguments,
    #[command(flatten)]
    trust: TrustArguments,
    /// Start a study from another host or user
    #[arg(long = "allow-foreign-run")]
    allow_foreign_run: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// Repeats the smallest failed trial, or the one that was asked for, with one change at a time,
/// interleaved with the unchanged trial, and reports which change moved the error.
pub(crate) fn run(arguments: &DiagnoseArguments) -> Result<Code, Error> {
    let options = ExplainOptions {
        trial: arguments.trial,
        at_most: arguments.duration,
        rounds: arguments.rounds,
        only: arguments.only.clone(),
        destination: arguments.trust.destination(arguments.out.as_deref()),
        trust_run: arguments.allow_foreign_run,
    };
    arguments.yes.confirm_load()?;
    let explained = explain(&this_host(), &arguments.run, &options, &mut Terminal)?;
    if arguments.format.is_json() {
        output::json(&explained.explanation)?;
    } else {
        output::data(&assay_cause::explanation_text(&explained.explanation, output::width()));
        output::data(&format!("details: {}", explained.folder.file("explain.json").display()));
    }
    Ok(explained.code)
}
