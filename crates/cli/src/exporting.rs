//! Exports of recorded runs, to any writer.

use std::io::Write;
use std::path::Path;

use assay_cause::judge;
use assay_record::run_folder::Run;
use assay_report::export::{Format, Outcome, RunSource, cannot_write};
use assay_sys::exit::Error;

/// A format for other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// Five tables as Parquet.
    Parquet,
    /// Five tables as CSV.
    Csv,
    /// Verdicts as OpenMetrics text.
    OpenMetrics,
    /// Verdicts as JUnit XML.
    Junit,
}

impl ExportFormat {
    /// Every format with its name for users and what it holds.
    pub(crate) const ALL: [(&str, Self, &str); 4] = [
        ("parquet", Self::Parquet, "Five tables as Parquet"),
        ("csv", Self::Csv, "Five tables as CSV"),
        ("openmetrics", Self::OpenMetrics, "Verdicts as OpenMetrics text"),
        ("junit", Self::Junit, "Verdicts as JUnit XML, a promise a test case, for CI services"),
    ];

    /// The format of the tables, if it is one that needs a folder.
    #[must_use]
    pub(crate) const fn of_tables(self) -> Option<Format> {
        match self {
            Self::Parquet => Some(Format::Parquet),
            Self::Csv => Some(Format::Csv),
            _ => None,
        }
    }
}

/// Writes runs as tables into a folder; without one, a single run's into `export/` of its own folder.
///
/// # Errors
/// The folder cannot be written, or there is none for several runs.
pub(crate) fn export_tables(
    runs: &[RunSource],
    format: Format,
    out: Option<&Path>,
    samples: bool,
) -> Result<Outcome, Error> {
    let folder = match (out, runs) {
        (Some(out), _) => assay_sys::files::output_dir(out).map_err(cannot_write)?,
        // Inside the open run folder, so that no link is followed.
        (None, [only]) => {
            let run = only.open().map_err(Error::usage)?;
            run.dir().make_dir("export").map_err(cannot_write)?
        }
        (None, _) => {
            return Err(Error::usage(
                "several runs need a folder for their tables\n  hint: name it with --out",
            ));
        }
    };
    assay_report::export::export(runs, format, &folder, samples, judge)
}

/// Writes a run as one text.
///
/// # Errors
/// There are several runs, the run cannot be read, the format does not suit it, or the writer fails.
pub(crate) fn export_text(
    runs: &[RunSource],
    format: ExportFormat,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let [source] = runs else {
        return Err(Error::usage(
            "this format holds a single run\n  hint: name one run, or use `--as parquet`",
        ));
    };
    let text = document(source, format)?;
    out.write_all(text.as_bytes()).map_err(|cause| write_error(&cause))
}

/// A run as a document of a format that holds a single one.
fn document(source: &RunSource, format: ExportFormat) -> Result<String, Error> {
    let run = source.open().and_then(|folder| Run::from_folder(&folder)).map_err(Error::usage)?;
    let path = source.path();
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(match format {
        ExportFormat::Junit => {
            let judgement = judge(&run.manifest, &run.samples);
            if judgement.promises_nothing() {
                return Err(Error::usage(
                    "this format holds verdicts, and this run promises nothing",
                ));
            }
            assay_report::export::junit(&judgement, Some(&run.manifest))
        }
        _ => {
            let promises = run.manifest.recording.is_none();
            let judgement = promises.then(|| judge(&run.manifest, &run.samples));
            assay_report::export::openmetrics(&name, &run.manifest, judgement.as_ref())
        }
    })
}

/// The error of a failed write to the output.
#[must_use]
pub(crate) fn write_error(cause: &std::io::Error) -> Error {
    assay_report::export::write_error("the output", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Vec<RunSource> {
        RunSource::find(&[
            concat!(env!("CARGO_MANIFEST_DIR"), "/../test-support/faults/one-cpu").into()
        ])
        .unwrap()
    }

    #[test]
    fn a_document_holds_one_run() {
        let two = [recorded(), recorded()].concat();
        let mut text = Vec::new();
        let error = export_text(&two, ExportFormat::OpenMetrics, &mut text).unwrap_err();
        assert!(error.to_string().contains("a single run") && text.is_empty(), "{error}");
    }

    #[test]
    fn tables_of_several_runs_go_to_a_named_folder() {
        let two = [recorded(), recorded()].concat();
        let error = export_tables(&two, Format::Csv, None, false).unwrap_err();
        assert!(error.to_string().contains("name it with --out"), "{error}");
        let out = tempfile::tempdir().unwrap();
        let outcome = export_tables(&two, Format::Csv, Some(out.path()), false).unwrap();
        assert!(!outcome.files.is_empty() && outcome.files.iter().all(|file| file.exists()));
    }
}
