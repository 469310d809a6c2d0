//! `assay report`

mod export;

use std::path::{Path, PathBuf};

use assay_cause::conclude::judge_run;
use assay_run::recorded_run::{REPORT, open_run};
use assay_run::recording::write_recording;
use assay_sys::exit::{Code, Error};
use clap::Args;
use serde::Serialize;

use crate::exporting::ExportFormat;
use crate::observer::Terminal;
use crate::output;
use crate::parsers::one_of;
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Run folder; with --as several, or folders of them
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Write the runs in another format
    ///
    /// `parquet`, `csv`, `openmetrics` or `junit` instead of the report as a page.
    #[arg(long = "as", value_name = "FORMAT", value_parser = one_of(&ExportFormat::ALL))]
    kind: Option<ExportFormat>,
    /// Folder for parquet and csv, else a file
    ///
    /// By default `export/` in the run folder, and stdout.
    #[arg(long, value_name = "PATH", requires = "kind")]
    out: Option<PathBuf>,
    /// Leave out samples, the largest table
    #[arg(long, requires = "kind")]
    no_samples: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// The document of `assay report -o json`.
#[derive(Debug, Serialize)]
struct Written {
    /// Version of this format.
    schema: u32,
    /// Path of the report.
    report: PathBuf,
}

/// Rewrites the report of a recorded run, or writes runs in another format.
pub(crate) fn run(arguments: &ReportArguments) -> Result<Code, Error> {
    if let Some(format) = arguments.kind {
        return export::run(arguments, format);
    }
    match arguments.runs.as_slice() {
        [run] => rewrite(run, arguments.format.is_json()),
        _ => {
            let hint = "name one run, or a format for several with `--as parquet`";
            Err(Error::usage(format!("a report is of one run\n  hint: {hint}")))
        }
    }
}

fn rewrite(run: &Path, as_json: bool) -> Result<Code, Error> {
    let (folder, run) = open_run(run, &mut Terminal)?;
    let written = if run.manifest.recording.is_some() {
        write_recording(&folder, &run, &mut Terminal)
    } else {
        judge_run(&folder, &run).map(drop)
    };
    written.map_err(Error::host)?;
    if !folder.has(REPORT) {
        // The reason was already printed.
        return Ok(Code::Usage);
    }
    let report = folder.file(REPORT);
    match as_json {
        true => output::json(&Written { schema: 1, report })?,
        false => output::data(&report.display().to_string()),
    }
    Ok(Code::Kept)
}
