//! `assay sample`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use assay_host::gather;
use assay_kernel::{Root, signal};
use assay_run_folder::{Manifest, Run, RunFolder};
use assay_runner::{FollowTarget, SampleRequest, Sampled, sample};
use clap::Args;
use jiff::Timestamp;

use crate::exit::Code;
use crate::finish_run::REPORT;
use crate::output;

/// What `assay sample` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing of the host is changed. A command's own output goes to logs/command in the run folder.")]
pub(crate) struct SampleArguments {
    /// Follow this group and those inside it, as a path below the mounts
    #[arg(long, value_name = "PATH", conflicts_with_all = ["pid", "command"])]
    group: Option<String>,
    /// Follow this process and all that it forks
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,
    /// How long, as `5s`; a command that still runs then is stopped. Without it until the command
    /// or the process ends, and 10 s for a group
    #[arg(long = "for", value_name = "DURATION", value_parser = length)]
    length: Option<Duration>,
    /// Time between two rounds, from 10ms
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = interval)]
    interval: Duration,
    /// Also a source that disturbs the host, as pagetypeinfo; may be repeated
    #[arg(long, value_name = "SOURCE", value_parser = source)]
    also: Vec<String>,
    /// The run folder; `runs/<time>-sample` by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: crate::args::TrustArguments,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// A command to start and follow, with its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn source(text: &str) -> Result<String, String> {
    let names: Vec<&str> =
        assay_sample::registry::SOURCES.iter().map(|source| source.name).collect();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("one of {}", names.join(", ")))
}

/// How long a group is followed where nothing is said.
const USUAL: Duration = Duration::from_secs(10);

fn length(text: &str) -> Result<Duration, String> {
    let duration = assay_units::parse_duration(text).map_err(|error| error.to_string())?;
    let shortest = Duration::from_millis(100);
    if duration >= shortest { Ok(duration) } else { Err("at least 100ms".to_owned()) }
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = assay_units::parse_duration(text).map_err(|error| error.to_string())?;
    let within = (Duration::from_millis(10)..=Duration::from_secs(60)).contains(&duration);
    if within { Ok(duration) } else { Err("from 10ms to 60s".to_owned()) }
}

/// Follows, and shows what was seen.
pub(crate) fn run(arguments: &SampleArguments) -> Code {
    let Some(whom) = whom(arguments) else {
        output::error(&"nobody to follow\n  hint: name one of --group PATH, --pid PID, -- COMMAND");
        return Code::Usage;
    };
    let request = match request(arguments, whom) {
        Ok(request) => request,
        Err(error) => {
            output::error(&error);
            return Code::Host;
        }
    };
    signal::note_interruptions();
    output::say(&format!("recording into {}", request.folder.path().display()));
    match sample(&request, |_| ()) {
        Ok(sampled) => conclude(&request, &sampled, arguments.json),
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

fn whom(arguments: &SampleArguments) -> Option<FollowTarget> {
    match (&arguments.group, arguments.pid) {
        (Some(path), _) => Some(FollowTarget::Group(path.clone())),
        (None, Some(pid)) => Some(FollowTarget::Process(pid)),
        (None, None) if arguments.command.is_empty() => None,
        (None, None) => Some(FollowTarget::Command(arguments.command.clone())),
    }
}

fn request(
    arguments: &SampleArguments,
    whom: FollowTarget,
) -> Result<SampleRequest, Box<dyn std::error::Error>> {
    let facts = gather(&Root::real())?;
    let now = Timestamp::now();
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    let usual = || PathBuf::from("runs").join(format!("{stamp}-sample"));
    let folder =
        RunFolder::create(&arguments.out.clone().unwrap_or_else(usual), arguments.trust.trust())?;
    let endless = matches!(whom, FollowTarget::Group(_));
    Ok(SampleRequest {
        whom,
        length: arguments.length.or(endless.then_some(USUAL)),
        interval: arguments.interval,
        also: arguments.also.clone(),
        command: std::env::args().collect(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        facts,
        folder,
    })
}

fn conclude(request: &SampleRequest, sampled: &Sampled, as_json: bool) -> Code {
    if let Some(failure) = &sampled.failure {
        output::error(failure);
    }
    let shown = Run::of(&request.folder).and_then(|run| {
        // What was recorded last counts, also when the disk was too full to write it down.
        let run = Run { manifest: sampled.manifest.clone(), ..run };
        write(&request.folder, &run)?;
        show(&request.folder, &run, as_json);
        Ok(())
    });
    if let Err(error) = &shown {
        output::error(error);
    }
    crate::command::index::update_beside(&request.folder);
    match sampled.exit_code {
        _ if sampled.interrupted.is_some() => Code::Interrupted,
        _ if sampled.failure.is_some() || shown.is_err() => Code::Host,
        Some(code) if code != 0 => {
            output::say(&format!(
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

/// Whether this is a recording; then it is said why it cannot be judged.
pub(crate) fn refuse_to_judge(manifest: &Manifest) -> bool {
    if manifest.recording.is_some() {
        output::error(
            &"this is a recording without a study: it promises nothing that could be judged\n  \
              hint: `assay report` writes its page again",
        );
    }
    manifest.recording.is_some()
}
