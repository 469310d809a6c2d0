//! `assay report --as`: runs in formats for other programs.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use assay_report::export::{Outcome, RunSource, cannot_write};
use assay_sys::exit::{Code, Error};
use serde::Serialize;

use super::ReportArguments;
use crate::destination::Destination;
use crate::exporting::{ExportFormat, export_tables, export_text, write_error};
use crate::output;

/// The document of `assay report --as FORMAT -o json`.
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

/// Writes runs in a format for other programs.
pub(super) fn run(arguments: &ReportArguments, format: ExportFormat) -> Result<Code, Error> {
    conclude(&write(arguments, format)?, arguments.format.is_json())
}

fn write(arguments: &ReportArguments, format: ExportFormat) -> Result<Outcome, Error> {
    if arguments.format.is_json() && format.of_tables().is_none() && arguments.out.is_none() {
        let why = "both would go to stdout\n  hint: name a file with `--out FILE`";
        return Err(Error::usage(why));
    }
    let runs = RunSource::find(&arguments.runs).map_err(Error::usage)?;
    let (out, samples) = (arguments.out.as_deref(), !arguments.no_samples);
    if let Some(format) = format.of_tables() {
        return export_tables(&runs, format, out, samples);
    }
    let mut out = open(out)?;
    export_text(&runs, format, &mut out)?;
    out.flush().map_err(|cause| write_error(&cause))?;
    let out = out.into_inner().map_err(|cause| write_error(cause.error()))?;
    out.finish().map_err(cannot_write)?;
    Ok(Outcome::default())
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
fn open(out: Option<&Path>) -> Result<BufWriter<Destination>, Error> {
    Ok(BufWriter::new(match out.filter(|path| path.as_os_str() != "-") {
        None => Destination::stdout().map_err(|cause| write_error(&cause))?,
        Some(path) => Destination::new(assay_sys::files::output(path).map_err(cannot_write)?),
    }))
}
