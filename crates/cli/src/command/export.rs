//! `assay export`

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use assay_record::run_folder::RunFolder;
use assay_report::export::{Error as ExportError, Follower, Outcome, RunSource};
use assay_sys::exit::{Code, Error};
use clap::Args;
use serde::Serialize;

use crate::destination::Destination;
use crate::exporting::{
    ExportFormat, export_tables, export_text, follow_lines, follow_metrics, write_error,
};
use crate::live_export::LiveExport;
use crate::observer::refuse;
use crate::output;
use crate::parsers::one_of;

/// Arguments of `assay export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Run folders, or folders of run folders; all become one set of tables
    #[arg(value_name = "RUN", required_unless_present = "follow")]
    runs: Vec<PathBuf>,
    /// Format
    #[arg(long, value_name = "FORMAT", default_value = "parquet", value_parser = one_of(&ExportFormat::ALL))]
    to: ExportFormat,
    /// Output: a folder for parquet and csv [default: `export/` in the run folder], a file for the others
    /// [default: stdout]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Leave out the table `samples`, by far the largest
    #[arg(long)]
    no_samples: bool,
    /// Follow a running run until it ends, as JSON lines or with `--to openmetrics`
    #[arg(long, value_name = "RUN", conflicts_with = "runs")]
    follow: Option<PathBuf>,
    /// Print what was written, and what was left out and why, as JSON; documents and lines need `--out` then
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

/// The document of `assay export --json`.
#[derive(Debug, Serialize)]
struct Exported<'o> {
    /// Version of this format.
    schema: u32,
    /// Paths of the files written.
    files: &'o [PathBuf],
    /// Runs that were left out.
    left_out: Vec<LeftOut<'o>>,
}

/// A run that was left out.
#[derive(Debug, Serialize)]
struct LeftOut<'o> {
    /// Its folder.
    run: &'o Path,
    /// Why.
    why: &'o str,
}

/// Writes runs in formats for other programs.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Code, Error> {
    match &arguments.follow {
        Some(run) => Ok(follow(run, arguments).map(|()| Code::Kept)?),
        None => conclude(&write(arguments)?, arguments.json),
    }
}

fn write(arguments: &ExportArguments) -> Result<Outcome, ExportError> {
    if arguments.json && arguments.to.of_tables().is_none() && arguments.out.is_none() {
        let why = "both would go to stdout\n  hint: name a file with `--out FILE`";
        return Err(ExportError::NotApplicable(why.to_owned()));
    }
    let runs = RunSource::find(&arguments.runs)?;
    let (out, samples) = (arguments.out.as_deref(), !arguments.no_samples);
    if let Some(format) = arguments.to.of_tables() {
        return export_tables(&runs, format, out, samples);
    }
    let mut out = open(out)?;
    let outcome = export_text(&runs, arguments.to, &mut out, samples)?;
    out.flush().map_err(|cause| write_error(&cause))?;
    out.into_inner().map_err(|cause| write_error(cause.error()))?.finish()?;
    Ok(outcome)
}

/// Prints the files written and what was left out.
fn conclude(outcome: &Outcome, as_json: bool) -> Result<Code, Error> {
    if as_json {
        let left_out = outcome.left_out.iter();
        let left_out = left_out.map(|(run, why)| LeftOut { run, why }).collect();
        output::json(&Exported { schema: 1, files: &outcome.files, left_out })?;
    } else {
        show(outcome);
    }
    Ok(if outcome.left_out.is_empty() { Code::Kept } else { Code::Usage })
}

fn show(outcome: &Outcome) {
    for (path, why) in &outcome.left_out {
        output::error(&format!("{} is left out: {why}", path.display()));
    }
    for file in &outcome.files {
        output::data(&file.display().to_string());
    }
}

/// Opens the named file or stream, or stdout if none is named.
fn open(out: Option<&Path>) -> Result<BufWriter<Destination>, ExportError> {
    Ok(BufWriter::new(match out.filter(|path| path.as_os_str() != "-") {
        None => Destination::stdout().map_err(|cause| write_error(&cause))?,
        Some(path) => Destination::new(assay_sys::files::output(path)?),
    }))
}

/// Opens an output that is read while it grows.
fn open_live(out: Option<&Path>) -> Result<BufWriter<Destination>, ExportError> {
    let whole = open(out)?.into_inner().map_err(|cause| write_error(cause.error()))?;
    Ok(BufWriter::new(whole.into_stream()?))
}

/// Writes a running run until it is over: its rows, or the latest counters, which replace a file as a
/// whole.
fn follow(run: &Path, arguments: &ExportArguments) -> Result<(), ExportError> {
    if !run.is_dir() {
        RunFolder::open(run)?;
    }
    let out = arguments.out.as_deref();
    match arguments.to {
        ExportFormat::OpenMetrics => follow_metrics(run, |text| {
            match out {
                None => output::data(text),
                Some(path) => assay_sys::files::replace(path, text.as_bytes())?,
            }
            Ok(())
        }),
        ExportFormat::Parquet | ExportFormat::JsonLines => {
            follow_lines(Follower::new(run), &mut open_live(out)?, &|| false)
        }
        _ => Err(ExportError::NotApplicable(
            "a running run cannot be exported in this format\n  hint: follow it with `--to jsonl` or \
             `--to openmetrics`"
                .to_owned(),
        )),
    }
}

/// Exports a run as JSON lines while it is executed. The output is opened first, so that an error is
/// reported before anything runs.
pub(crate) fn start_live(run: &RunFolder, out: &Path) -> Result<LiveExport, Error> {
    Ok(LiveExport::start(run, open_live(Some(out))?))
}

/// Writes the remaining rows. An error is printed and does not fail the run.
pub(crate) fn finish_live(live: LiveExport) {
    if let Err(error) = live.finish() {
        refuse(&error.into());
    }
}
