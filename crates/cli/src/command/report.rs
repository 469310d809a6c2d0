//! `assay report`

use std::path::{Path, PathBuf};

use assay_run::finish_run::{REPORT, judge_run, open_run, update_index};
use assay_run::recording::write_recording;
use assay_sys::exit::{Code, Error};
use clap::Args;
use serde::Serialize;

use crate::observer::Terminal;
use crate::output;

/// Arguments of `assay report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Run folder
    #[arg(required_unless_present = "index")]
    run: Option<PathBuf>,
    /// Instead write the list of all runs in this folder (index.html)
    #[arg(long, value_name = "RUNS", conflicts_with = "run")]
    index: Option<PathBuf>,
    /// Print the paths as JSON
    #[arg(long)]
    json: bool,
}

/// The document of `assay report --json`.
#[derive(Debug, Serialize)]
struct Written {
    /// Version of this format.
    schema: u32,
    /// Path of the report.
    report: PathBuf,
}

/// The document of `assay report --index --json`.
#[derive(Debug, Serialize)]
struct Index {
    /// Version of this format.
    schema: u32,
    /// Path of the list of all runs.
    index: PathBuf,
    /// Number of runs in it.
    runs: usize,
}

/// Rewrites the report of a recorded run.
pub(crate) fn run(arguments: &ReportArguments) -> Result<Code, Error> {
    let Some(run) = &arguments.run else {
        let index = arguments.index.as_deref().unwrap_or(Path::new("runs"));
        return write_index(index, arguments.json);
    };
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
    update_index(&folder, &mut Terminal);
    let report = folder.file(REPORT);
    match arguments.json {
        true => output::json(&Written { schema: 1, report })?,
        false => output::data(&report.display().to_string()),
    }
    Ok(Code::Kept)
}

/// Writes the list of all runs in a folder.
fn write_index(folder: &Path, as_json: bool) -> Result<Code, Error> {
    let count = assay_report::export::update_index(folder).map_err(Error::usage)?;
    let index = folder.join("index.html");
    if as_json {
        output::json(&Index { schema: 1, index, runs: count })?;
        return Ok(Code::Kept);
    }
    output::data(&index.display().to_string());
    output::message(&format!("{count} runs"));
    Ok(Code::Kept)
}
