//! `assay run`

mod founding;
mod studies;

use std::path::PathBuf;
use std::time::Duration;

use assay_cause::conclude::conclude;
use assay_run::error_record::ErrorRecord;
use assay_run::execute::execute;
use assay_run::plan_text::steps_text;
use assay_run::prepare::{RunOptions, prepare};
use assay_run::recorded_run::open_run;
use assay_run::runner::Request;
use assay_sys::exit::{Code, Error};
use clap::Args;
use clap::builder::ArgPredicate;

use crate::command::check::{StepsArguments, check};
use crate::command::compare;
use crate::command::judge::show;
use crate::for_ci::CiArguments;
use crate::observer::{Terminal, load, this_host};
use crate::output;
use crate::parsers::duration_in;
use crate::shared_arguments::{
    FormatArguments, JobFileArguments, LOADS, StudyArguments, TrustArguments, YesArguments,
};

/// Arguments of `assay run`.
#[derive(Debug, Args)]
#[command(mut_arg("study", |study| study.required(false).required_unless_present("list")
    .default_value_if("list", ArgPredicate::IsPresent, "")), after_help = LOADS)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    study: StudyArguments,
    #[command(flatten)]
    job_files: JobFileArguments,
    /// List shipped studies, or print STUDY
    ///
    /// `--list founding`: what the founding documents state, and what runs in runs/ say of it.
    #[arg(long)]
    list: bool,
    /// Run folder
    ///
    /// By default `runs/<time>-<study>`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    yes: YesArguments,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    format: FormatArguments,
    /// Print the plan and stop, like `check`
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    steps: StepsArguments,
    /// Wait for a run in progress
    ///
    /// At most this long; one hour without a value.
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "1h", value_parser = patience)]
    wait: Option<Duration>,
    #[command(flatten)]
    ci: CiArguments,
    /// Compare with this run afterwards
    ///
    /// A regression ends with code 1 too.
    #[arg(long, value_name = "RUN")]
    baseline: Option<PathBuf>,
    /// Write the exit code and all errors
    #[arg(long, value_name = "FILE")]
    errors_json: Option<PathBuf>,
}

fn patience(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_secs(1).., "waiting takes at least 1 s")
}

/// Runs a study from its file to its verdict.
pub(crate) fn run(arguments: &RunArguments) -> Result<Code, Error> {
    if arguments.list {
        return studies::run(arguments.study.study.as_str(), arguments.format.is_json());
    }
    let mut observer = ErrorRecord::new(Terminal);
    let result = carry_out(arguments, &mut observer);
    match &arguments.errors_json {
        Some(out) => observer.write(out, result),
        None => result,
    }
}

fn carry_out(
    arguments: &RunArguments,
    observer: &mut ErrorRecord<Terminal>,
) -> Result<Code, Error> {
    let choice = arguments.job_files.with(&arguments.study);
    if arguments.dry_run {
        let is_json = arguments.format.is_json();
        return check(&choice, arguments.out.as_deref(), is_json, arguments.steps);
    }
    if let Some(baseline) = &arguments.baseline {
        // A baseline that cannot be read is refused before it costs a run.
        open_run(baseline, observer)?;
    }
    let ci = arguments.ci.open()?;
    let context = this_host();
    let loaded = load(&choice, arguments.format.is_json())?;
    arguments.yes.confirm_load()?;
    let options = RunOptions {
        destination: arguments.trust.destination(arguments.out.as_deref()),
        wait: arguments.wait.unwrap_or(Duration::ZERO),
    };
    let request = prepare(&context, loaded, &options, observer)?;
    let finished = execute(&context, &request, observer)?;
    let ended = conclude(&request, &finished, observer);
    let mut code = ended.code;
    if let Some(judgement) = &ended.judgement {
        if !ci.has_stdout() {
            show(&request.folder, &finished.manifest, judgement, arguments.format.is_json());
        }
        code = ci.conclude(judgement, &finished.manifest, code);
    }
    if arguments.steps.explain_steps && !arguments.format.is_json() {
        output::data(&format!("\n{}", steps_text(&request.manifest.study, &request.plan)));
    }
    Ok(with_baseline(arguments, &request, code))
}

/// The exit code of the run, or of its comparison with the baseline.
fn with_baseline(arguments: &RunArguments, request: &Request, code: Code) -> Code {
    match (&arguments.baseline, code) {
        (Some(baseline), Code::Kept | Code::Broken | Code::Undecided) => {
            compare::after_run(baseline, &request.folder, code)
        }
        (_, code) => code,
    }
}
