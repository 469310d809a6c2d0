//! Recording a command, a process or a group without a study.

use std::path::PathBuf;
use std::time::Duration;

use assay_host::gather;
use assay_record::run_folder::{Manifest, Run, RunFolder};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;
use jiff::Timestamp;

use crate::context::Context;
use crate::observer::Observer;
use crate::prepare::Destination;
use crate::recorded_run::REPORT;
use crate::runner::{FinishedRecording, FollowTarget, SampleRequest};

/// Default length of following a group, which does not end by itself.
const GROUP_LENGTH: Duration = Duration::from_secs(10);

/// What is recorded, and how.
#[derive(Debug, Clone)]
pub struct RecordingOptions {
    /// What is followed.
    pub target: FollowTarget,
    /// Length; `None` until the command or process ends, or 10 s for a group.
    pub length: Option<Duration>,
    /// Time between two rounds.
    pub interval: Duration,
    /// Sources that disturb the host and are sampled nevertheless.
    pub also: Vec<String>,
    /// The run folder.
    pub destination: Destination,
}

/// A recording that is over.
#[derive(Debug)]
pub struct Recorded {
    /// Its run folder.
    pub folder: RunFolder,
    /// The recorded run; `None` if it cannot be read or written, which the observer knows.
    pub run: Option<Run>,
    /// How it ended.
    pub finished: FinishedRecording,
}

impl Recorded {
    /// The exit code, with a remark if the command failed.
    #[must_use]
    pub fn code(&self) -> (Code, Option<String>) {
        let finished = &self.finished;
        match finished.exit_code {
            _ if finished.interrupted.is_some() => (Code::Interrupted, None),
            _ if finished.failure.is_some() || self.run.is_none() => (Code::Host, None),
            Some(code) if code != 0 => {
                let output = self.folder.file("logs/command");
                let output = output.display();
                let remark =
                    format!("the command ended with exit code {code}; its output is in {output}");
                (Code::Workload, Some(remark))
            }
            _ => (Code::Kept, None),
        }
    }
}

/// Records into a new run folder, and writes the page and the summary of the recording. SIGINT, SIGTERM,
/// SIGHUP and SIGQUIT end it.
///
/// # Errors
/// A kernel file that every host has cannot be read, the folder cannot be created, or the target is not
/// there.
pub fn record(
    context: &Context,
    options: &RecordingOptions,
    observer: &mut dyn Observer,
) -> Result<Recorded, Error> {
    let request = prepare_recording(context, options)?;
    signal::note_interruptions();
    observer.message(&format!("recording into {}", request.folder.path().display()));
    let finished = crate::runner::sample(&request, |_| ()).map_err(Error::host)?;
    if let Some(failure) = &finished.failure {
        observer.error(failure);
    }
    let run = conclude_recording(&request, &finished, observer);
    if let Err(error) = &run {
        observer.error(error);
    }
    Ok(Recorded { folder: request.folder, run: run.ok(), finished })
}

/// Creates the run folder of a recording.
fn prepare_recording(
    context: &Context,
    options: &RecordingOptions,
) -> Result<SampleRequest, Error> {
    let facts = gather(&context.root).map_err(Error::host)?;
    options.target.check(&context.root, &facts).map_err(Error::usage)?;
    let now = Timestamp::now();
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    let default = || PathBuf::from("runs").join(format!("{stamp}-sample"));
    let Destination { out, trust } = options.destination.clone();
    let folder = RunFolder::create(&out.unwrap_or_else(default), trust).map_err(Error::host)?;
    let endless = matches!(options.target, FollowTarget::Group(_));
    Ok(SampleRequest {
        target: options.target.clone(),
        length: options.length.or(endless.then_some(GROUP_LENGTH)),
        interval: options.interval,
        also: options.also.clone(),
        command: context.command.clone(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        facts,
        folder,
    })
}

/// Reads a finished recording and writes its page and summary.
fn conclude_recording(
    request: &SampleRequest,
    sampled: &FinishedRecording,
    observer: &mut dyn Observer,
) -> Result<Run, Error> {
    let run = Run::from_folder(&request.folder).map_err(Error::host)?;
    // The manifest in memory counts, in case the disk was too full to write it.
    let run = Run { manifest: sampled.manifest.clone(), ..run };
    write_recording(&request.folder, &run, observer).map_err(Error::host)?;
    Ok(run)
}

/// Writes the page and the summary of a recording.
///
/// # Errors
/// The folder cannot be written.
pub fn write_recording(
    folder: &RunFolder,
    run: &Run,
    observer: &mut dyn Observer,
) -> Result<(), assay_record::run_folder::Error> {
    let document = assay_report::recording_document(&run.manifest, &run.samples);
    folder.write_json("summary.json", &document)?;
    match assay_report::recording_html(&run.manifest, &run.samples) {
        Some(html) => folder.write_text(REPORT, &html)?,
        None => {
            folder.dir().remove_file(REPORT)?;
            let why = "nothing was recorded: the manifest has no repeat";
            observer.error(&format!("the report could not be written: {why}"));
        }
    }
    Ok(())
}

/// That a run has promises to judge: a recording has none.
///
/// # Errors
/// The run is a recording.
pub fn has_promises(manifest: &Manifest) -> Result<(), Error> {
    match manifest.recording {
        None => Ok(()),
        Some(_) => Err(Error::usage(
            "this is a recording without a study: it has no promises to judge\n  hint: `assay report` \
             rewrites its page",
        )),
    }
}

#[cfg(test)]
mod tests {
    use assay_sys::files::Trust;

    use super::*;
    use crate::transcript::Transcript;

    #[test]
    fn a_process_is_followed_and_its_summary_is_written() {
        let temp = tempfile::tempdir().unwrap();
        let destination =
            Destination { out: Some(temp.path().join("run")), trust: Trust::UserConfirmed };
        let options = RecordingOptions {
            target: FollowTarget::Process(std::process::id()),
            length: Some(Duration::from_millis(300)),
            interval: Duration::from_millis(50),
            also: Vec::new(),
            destination,
        };
        let mut transcript = Transcript::default();
        let context = Context::of_this_host(Vec::new());
        let mut recorded = record(&context, &options, &mut transcript).unwrap();
        assert!(transcript.lines()[0].starts_with("recording into "), "{transcript:?}");
        assert!(recorded.folder.has("summary.json") && recorded.folder.has(REPORT));
        assert_eq!(recorded.code(), (Code::Kept, None));
        recorded.finished.exit_code = Some(3);
        let (code, remark) = recorded.code();
        assert_eq!(code, Code::Workload);
        assert!(remark.unwrap().contains("exit code 3; its output is in "));
        recorded.run = None;
        assert_eq!(recorded.code(), (Code::Host, None));
    }
}
