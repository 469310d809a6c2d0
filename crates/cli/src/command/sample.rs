//! `assay sample`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use assay_kernel::signal;
use assay_run_folder::{Run, RunFolder};
use assay_runner::{FinishedRecording, FollowTarget, SampleRequest, sample};
use assay_session::{RecordingOptions, conclude_recording, prepare_recording, update_index};
use clap::Args;

use crate::exit::Code;
use crate::observer::{Terminal, refuse, this_host};
use crate::output;

/// Arguments of `assay sample`.
#[derive(Debug, Args)]
#[command(after_help = "\
The host is not changed. A command's output goes to logs/command in the run folder.")]
pub(crate) struct SampleArguments {
    /// Follow this group and its descendants; a path below the mounts
    #[arg(long, value_name = "PATH", conflicts_with_all = ["pid", "command"])]
    group: Option<String>,
    /// Follow this process and all that it forks
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,
    /// Length, e.g. `5s`; a command that is still running then is stopped [default: until the command or
    /// process ends; 10s for a group]
    #[arg(long = "for", value_name = "DURATION", value_parser = length)]
    length: Option<Duration>,
    /// Time between two rounds, at least 10ms
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = interval)]
    interval: Duration,
    /// Also sample a source that disturbs the host, e.g. pagetypeinfo; may be repeated
    #[arg(long, value_name = "SOURCE", value_parser = source)]
    also: Vec<String>,
    /// Run folder [default: `runs/<time>-sample`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: crate::args::TrustArguments,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Command to start and follow, with its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn source(text: &str) -> Result<String, String> {
    let names: Vec<&str> = assay_sample::SOURCES.iter().map(|source| source.name).collect();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected one of {}", names.join(", ")))
}

fn length(text: &str) -> Result<Duration, String> {
    let duration = assay_units::parse_duration(text).map_err(|error| error.to_string())?;
    let shortest = Duration::from_millis(100);
    if duration >= shortest { Ok(duration) } else { Err("must be at least 100ms".to_owned()) }
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = assay_units::parse_duration(text).map_err(|error| error.to_string())?;
    let within = (Duration::from_millis(10)..=Duration::from_secs(60)).contains(&duration);
    if within { Ok(duration) } else { Err("must be from 10ms to 60s".to_owned()) }
}

/// Follows the target and shows the result.
pub(crate) fn run(arguments: &SampleArguments) -> Code {
    let Some(target) = target(arguments) else {
        output::error(&"no target given\n  hint: give one of --group PATH, --pid PID, -- COMMAND");
        return Code::Usage;
    };
    let options = RecordingOptions {
        target,
        length: arguments.length,
        interval: arguments.interval,
        also: arguments.also.clone(),
        destination: arguments.trust.destination(arguments.out.as_deref()),
    };
    let request = match prepare_recording(&this_host(), &options) {
        Ok(request) => request,
        Err(error) => return refuse(&error),
    };
    signal::note_interruptions();
    output::message(&format!("recording into {}", request.folder.path().display()));
    match sample(&request, |_| ()) {
        Ok(sampled) => conclude(&request, &sampled, arguments.json),
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

fn target(arguments: &SampleArguments) -> Option<FollowTarget> {
    match (&arguments.group, arguments.pid) {
        (Some(path), _) => Some(FollowTarget::Group(path.clone())),
        (None, Some(pid)) => Some(FollowTarget::Process(pid)),
        (None, None) if arguments.command.is_empty() => None,
        (None, None) => Some(FollowTarget::Command(arguments.command.clone())),
    }
}

fn conclude(request: &SampleRequest, sampled: &FinishedRecording, as_json: bool) -> Code {
    if let Some(failure) = &sampled.failure {
        output::error(failure);
    }
    let recorded = conclude_recording(request, sampled, &mut Terminal);
    match &recorded {
        Ok(run) => show(&request.folder, run, as_json),
        Err(error) => drop(refuse(error)),
    }
    update_index(&request.folder, &mut Terminal);
    match sampled.exit_code {
        _ if sampled.interrupted.is_some() => Code::Interrupted,
        _ if sampled.failure.is_some() || recorded.is_err() => Code::Host,
        Some(code) if code != 0 => {
            output::message(&format!(
                "the command ended with exit code {code}; its output is in {}",
                request.folder.file("logs/command").display()
            ));
            Code::Workload
        }
        _ => Code::Kept,
    }
}

fn show(folder: &RunFolder, run: &Run, as_json: bool) {
    if as_json {
        let document = assay_report::recording_document(&run.manifest, &run.samples);
        output::data(&format!("{document:#}"));
        return;
    }
    let width = output::width();
    output::data_painted(|color| {
        assay_report::recording_text(&run.manifest, &run.samples, width, color)
    });
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
