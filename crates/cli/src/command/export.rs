//! `assay export`

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use assay_export::{Error, Follower, Format, Outcome, RunSource, export, json_lines};
use assay_run_folder::RunFolder;
use assay_session::{
    DocumentFormat, LiveExport, export_document, follow_lines, follow_metrics, write_error,
};
use clap::{Args, ValueEnum};

use crate::destination::Destination;
use crate::exit::Code;
use crate::output;

/// Arguments of `assay export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Run folders, or folders of run folders; all become one set of tables
    #[arg(value_name = "RUN", required_unless_present = "follow")]
    runs: Vec<PathBuf>,
    /// Format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FormatArgument::Parquet)]
    to: FormatArgument,
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
}

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArgument {
    /// Five tables as Parquet
    Parquet,
    /// Five tables as CSV
    Csv,
    /// The rows of the same tables as JSON lines
    Jsonl,
    /// Verdicts as OpenMetrics text; for a running run its counters
    Openmetrics,
    /// JSON like `fio --output-format=json`, for groups that do I/O
    Fio,
    /// JSON like `hyperfine --export-json`, for workloads that end by themselves
    Hyperfine,
}

/// Writes runs in formats for other programs.
pub(crate) fn run(arguments: &ExportArguments) -> Code {
    let result = match &arguments.follow {
        Some(run) => follow(run, arguments),
        None => write(arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => report_error(&error),
    }
}

/// Prints an error and returns its exit code.
fn report_error(error: &Error) -> Code {
    match error {
        Error::ReaderClosed => return Code::Kept,
        other => output::error(other),
    }
    match error {
        Error::Run(_) | Error::NotApplicable(_) => Code::Usage,
        _ => Code::Host,
    }
}

fn write(arguments: &ExportArguments) -> Result<Code, Error> {
    let runs = RunSource::find(&arguments.runs)?;
    let samples = !arguments.no_samples;
    match arguments.to {
        FormatArgument::Parquet | FormatArgument::Csv => {
            let format =
                if arguments.to == FormatArgument::Csv { Format::Csv } else { Format::Parquet };
            let folder = match (&arguments.out, runs.as_slice()) {
                (Some(out), _) => assay_files::output_dir(out)?,
                // Inside the open run folder, so that no link is followed.
                (None, [only]) => only.open()?.dir().make_dir("export")?,
                (None, _) => {
                    return Err(Error::NotApplicable(
                        "several runs need a folder for their tables\n  hint: name it with --out"
                            .to_owned(),
                    ));
                }
            };
            Ok(conclude(&export(&runs, format, &folder, samples)?))
        }
        FormatArgument::Jsonl => {
            let mut out = open(arguments.out.as_deref())?;
            let outcome = json_lines(&runs, &mut out, samples)?;
            finish(out)?;
            Ok(conclude(&outcome))
        }
        FormatArgument::Openmetrics => document(DocumentFormat::OpenMetrics, &runs, arguments),
        FormatArgument::Fio => document(DocumentFormat::Fio, &runs, arguments),
        FormatArgument::Hyperfine => document(DocumentFormat::Hyperfine, &runs, arguments),
    }
}

/// Prints the files written and what was left out.
fn conclude(outcome: &Outcome) -> Code {
    for (path, why) in &outcome.left_out {
        output::error(&format!("{} is left out: {why}", path.display()));
    }
    for file in &outcome.files {
        output::data(&file.display().to_string());
    }
    if outcome.left_out.is_empty() { Code::Kept } else { Code::Usage }
}

/// Writes a format that holds a single run.
fn document(
    format: DocumentFormat,
    runs: &[RunSource],
    arguments: &ExportArguments,
) -> Result<Code, Error> {
    let [source] = runs else {
        return Err(Error::NotApplicable(
            "this format holds a single run\n  hint: name one run, or use `--to parquet`"
                .to_owned(),
        ));
    };
    let text = export_document(source, format)?;
    let mut out = open(arguments.out.as_deref())?;
    out.write_all(text.as_bytes()).map_err(|cause| write_error(&cause))?;
    finish(out).map(|()| Code::Kept)
}

/// Opens the named file or stream, or stdout if none is named.
fn open(out: Option<&Path>) -> Result<BufWriter<Destination>, Error> {
    Ok(BufWriter::new(match out.filter(|path| path.as_os_str() != "-") {
        None => Destination::stdout().map_err(|cause| write_error(&cause))?,
        Some(path) => Destination::new(assay_files::output(path)?),
    }))
}

/// Opens an output that is read while it grows.
fn open_live(out: Option<&Path>) -> Result<BufWriter<Destination>, Error> {
    let whole = open(out)?.into_inner().map_err(|cause| write_error(cause.error()))?;
    Ok(BufWriter::new(whole.into_stream()?))
}

fn finish(mut out: BufWriter<Destination>) -> Result<(), Error> {
    out.flush().map_err(|cause| write_error(&cause))?;
    let whole = out.into_inner().map_err(|cause| write_error(cause.error()))?;
    Ok(whole.finish()?)
}

fn follow(run: &Path, arguments: &ExportArguments) -> Result<Code, Error> {
    if !run.is_dir() {
        RunFolder::open(run)?;
    }
    match arguments.to {
        FormatArgument::Openmetrics => metrics(run, arguments.out.as_deref()),
        FormatArgument::Parquet | FormatArgument::Jsonl => {
            let mut out = open_live(arguments.out.as_deref())?;
            follow_lines(Follower::new(run), &mut out, &|| false)?;
            Ok(Code::Kept)
        }
        _ => Err(Error::NotApplicable(
            "a running run cannot be exported in this format\n  hint: follow it with `--to jsonl` or \
             `--to openmetrics`"
                .to_owned(),
        )),
    }
}

/// Writes the latest counters repeatedly until the run is over: replacing a file as a whole, or one
/// text after the other to stdout.
fn metrics(run: &Path, out: Option<&Path>) -> Result<Code, Error> {
    follow_metrics(run, |text| {
        match out {
            None => output::data(text),
            Some(path) => assay_files::replace(path, text.as_bytes())?,
        }
        Ok(())
    })?;
    Ok(Code::Kept)
}

/// Exports a run as JSON lines while it is executed. The output is opened first, so that an error is
/// reported before anything runs.
pub(crate) fn start_live(run: &RunFolder, out: &Path) -> Result<LiveExport, Code> {
    let out = open_live(Some(out)).map_err(|error| report_error(&error))?;
    Ok(LiveExport::start(run, out))
}

/// Writes the remaining rows. An error is printed and does not fail the run.
pub(crate) fn finish_live(live: LiveExport) {
    if let Err(error) = live.finish() {
        report_error(&error);
    }
}
