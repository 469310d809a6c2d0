//! `assay sample`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use assay_host::gather;
use assay_kernel::{Root, signal};
use assay_run_folder::{Manifest, Run, RunFolder};
use assay_runner::{FinishedRecording, FollowTarget, SampleRequest, sample};
use assay_session::{REPORT, update_index};
use clap::Args;
use jiff::Timestamp;

use crate::exit::Code;
use crate::observer::Terminal;
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
    let names: Vec<&str> =
        assay_sample::registry::SOURCES.iter().map(|source| source.name).collect();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected one of {}", names.join(", ")))
}

/// Default length of following a group.
const GROUP_LENGTH: Duration = Duration::from_secs(10);

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
    let request = match request(arguments, target) {
        Ok(request) => request,
        Err(error) => {
            output::error(&error);
            return Code::Host;
        }
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

fn request(
    arguments: &SampleArguments,
    target: FollowTarget,
) -> Result<SampleRequest, Box<dyn std::error::Error>> {
    let facts = gather(&Root::real())?;
    let now = Timestamp::now();
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    let default = || PathBuf::from("runs").join(format!("{stamp}-sample"));
    let folder =
        RunFolder::create(&arguments.out.clone().unwrap_or_else(default), arguments.trust.trust())?;
    let endless = matches!(target, FollowTarget::Group(_));
    Ok(SampleRequest {
        target,
        length: arguments.length.or(endless.then_some(GROUP_LENGTH)),
        interval: arguments.interval,
        also: arguments.also.clone(),
        command: std::env::args().collect(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        facts,
        folder,
    })
}

fn conclude(request: &SampleRequest, sampled: &FinishedRecording, as_json: bool) -> Code {
    if let Some(failure) = &sampled.failure {
        output::error(failure);
    }
    let shown = Run::from_folder(&request.folder).and_then(|run| {
        // The manifest in memory counts, in case the disk was too full to write it.
        let run = Run { manifest: sampled.manifest.clone(), ..run };
        write(&request.folder, &run)?;
        show(&request.folder, &run, as_json);
        Ok(())
    });
    if let Err(error) = &shown {
        output::error(error);
    }
    update_index(&request.folder, &mut Terminal);
    match sampled.exit_code {
        _ if sampled.interrupted.is_some() => Code::Interrupted,
        _ if sampled.failure.is_some() || shown.is_err() => Code::Host,
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

/// Writes the page and the summary of a recording.
pub(crate) fn write(folder: &RunFolder, run: &Run) -> Result<(), assay_run_folder::Error> {
    let document = assay_report::recording_document(&run.manifest, &run.samples);
    folder.write_json("summary.json", &document)?;
    match assay_report::recording_html(&run.manifest, &run.samples) {
        Ok(html) => folder.write_text(REPORT, &html)?,
        Err(error) => {
            folder.dir().remove_file(REPORT)?;
            output::error(&format!("the report could not be written: {error}"));
        }
    }
    Ok(())
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

/// Whether this is a recording; prints why a recording cannot be judged.
pub(crate) fn refuse_to_judge(manifest: &Manifest) -> bool {
    if manifest.recording.is_some() {
        output::error(
            &"this is a recording without a study: it has no promises to judge\n  hint: `assay report` \
              rewrites its page",
        );
    }
    manifest.recording.is_some()
}
