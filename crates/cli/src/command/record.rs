//! `assay record`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use assay_blame::collect::{BlameTarget, group_of};
use assay_record::run_folder::{Run, RunFolder};
use assay_run::recording::{RecordingOptions, record};
use assay_run::runner::FollowTarget;
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::countdown::Countdown;
use crate::observer::{Terminal, this_host};
use crate::output;
use crate::parsers::duration_in;
use crate::shared_arguments::{FormatArguments, TargetArguments, TrustArguments};

/// Arguments of `assay record`.
#[derive(Debug, Args)]
#[command(after_help = "\
The host is not changed. A command's output goes to logs/command in the run folder.")]
pub(crate) struct RecordArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// How long to record
    ///
    /// By default until the command or process ends, and 10s for a group. A command that is still running
    /// then is stopped.
    #[arg(long = "for", value_name = "DURATION", value_parser = length)]
    length: Option<Duration>,
    /// Time between two rounds
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = interval)]
    interval: Duration,
    /// Also sample a source that costs more
    ///
    /// One that disturbs the host, as `pagetypeinfo`. May be repeated.
    #[arg(long, value_name = "SOURCE", value_parser = source)]
    source: Vec<String>,
    /// Run folder
    ///
    /// By default `runs/<time>-sample`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    format: FormatArguments,
    /// Command to start and follow
    #[arg(trailing_var_arg = true, value_name = "COMMAND", conflicts_with = "target")]
    command: Vec<OsString>,
}

fn source(text: &str) -> Result<String, String> {
    let names: Vec<&str> = assay_record::sample::SOURCES.iter().map(|source| source.name).collect();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected one of {}", names.join(", ")))
}

fn length(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_millis(100).., "must be at least 100ms")
}

fn interval(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(10)..=Duration::from_secs(60);
    duration_in(text, range, "must be from 10ms to 60s")
}

/// Follows the target and shows the result.
pub(crate) fn run(arguments: &RecordArguments) -> Result<Code, Error> {
    let options = RecordingOptions {
        target: target(arguments)?,
        length: arguments.length,
        interval: arguments.interval,
        also: arguments.source.clone(),
        destination: arguments.trust.destination(arguments.out.as_deref()),
    };
    let countdown = Countdown::start(arguments.length);
    let recorded = record(&this_host(), &options, &mut Terminal)?;
    drop(countdown);
    if let Some(run) = &recorded.run {
        show(&recorded.folder, run, arguments.format.is_json());
    }
    let (code, remark) = recorded.code();
    if let Some(remark) = remark {
        output::message(&remark);
    }
    Ok(code)
}

fn target(arguments: &RecordArguments) -> Result<FollowTarget, Error> {
    match arguments.target.target() {
        Some(BlameTarget::Process(pid)) => Ok(FollowTarget::Process(pid)),
        Some(target) => group_of(&this_host().root, &target).map(FollowTarget::Group),
        None if arguments.command.is_empty() => Err(Error::usage(
            "no target given\n  hint: give one of --group, --pid, --unit, --container, --pod, or -- COMMAND",
        )),
        None => Ok(FollowTarget::Command(arguments.command.clone())),
    }
}

fn show(folder: &RunFolder, run: &Run, as_json: bool) {
    if as_json {
        let document = assay_report::recording_document(&run.manifest, &run.samples);
        output::data(&format!("{document:#}"));
        return;
    }
    let (Run { manifest, samples, .. }, width) = (run, output::width());
    output::data_painted(|color| assay_report::recording_text(manifest, samples, width, color));
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
