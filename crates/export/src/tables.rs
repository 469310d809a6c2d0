//! Runs into tables: one run or a thousand, one after the other, into the same files.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use assay_files::Dir;
use assay_run_folder::{Manifest, RunFolder};
use assay_verdict::Judgement;

use crate::cell::Sink;
use crate::columns::{PROMISES, RUNS, SAMPLES, Shape, TRIALS, WORKLOADS};
use crate::csv::Csv;
use crate::error::Error;
use crate::lines::Lines;
use crate::parquet::Parquet;
use crate::rows::{self, Of};
use crate::samples::samples;

/// The format of tables in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// CSV, RFC 4180.
    Csv,
}

/// What became of an export.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The files that were written.
    pub files: Vec<PathBuf>,
    /// Runs that are in them.
    pub runs: usize,
    /// Runs that could not be read, with the reason.
    pub left_out: Vec<(PathBuf, String)>,
}

/// The tables that are being written.
struct Tables<'w> {
    runs: Box<dyn Sink + 'w>,
    trials: Box<dyn Sink + 'w>,
    promises: Box<dyn Sink + 'w>,
    workloads: Box<dyn Sink + 'w>,
    samples: Option<Box<dyn Sink + 'w>>,
}

/// Writes the tables of some runs into a folder. Runs that cannot be read are left out and named;
/// it is an error only if all are. Only the manifest and the verdict of one run are in memory at a
/// time, and of its samples one batch of one source.
pub fn export(
    runs: &[PathBuf],
    format: Format,
    folder: &Dir,
    with_samples: bool,
) -> Result<Outcome, Error> {
    let sink = |shape: &'static Shape| -> Result<Box<dyn Sink>, Error> {
        Ok(match format {
            Format::Parquet => Box::new(Parquet::create(folder, shape)?),
            Format::Csv => Box::new(Csv::create(folder, shape)?),
        })
    };
    let tables = Tables {
        runs: sink(&RUNS)?,
        trials: sink(&TRIALS)?,
        promises: sink(&PROMISES)?,
        workloads: sink(&WORKLOADS)?,
        samples: if with_samples { Some(sink(&SAMPLES)?) } else { None },
    };
    let mut outcome = write(tables, runs)?;
    let end = match format {
        Format::Parquet => "parquet",
        Format::Csv => "csv",
    };
    let shapes = [&RUNS, &TRIALS, &PROMISES, &WORKLOADS, &SAMPLES];
    let written = shapes.into_iter().filter(|shape| with_samples || shape.name != SAMPLES.name);
    outcome.files =
        written.map(|shape| folder.path().join(format!("{}.{end}", shape.name))).collect();
    Ok(outcome)
}

/// The same as JSON lines, one object a row, all tables in one stream.
pub fn json_lines(
    runs: &[PathBuf],
    out: &mut dyn Write,
    with_samples: bool,
) -> Result<Outcome, Error> {
    let out = Rc::new(RefCell::new(out));
    let sink = |shape: &'static Shape| -> Box<dyn Sink + '_> {
        Box::new(Lines::new(shape, Rc::clone(&out)))
    };
    let tables = Tables {
        runs: sink(&RUNS),
        trials: sink(&TRIALS),
        promises: sink(&PROMISES),
        workloads: sink(&WORKLOADS),
        samples: with_samples.then(|| sink(&SAMPLES)),
    };
    write(tables, runs)
}

fn write(mut tables: Tables<'_>, runs: &[PathBuf]) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for path in runs {
        match open(path) {
            Ok((folder, manifest, judgement)) => {
                tables.add(&folder, &manifest, judgement.as_ref())?;
                outcome.runs += 1;
            }
            Err(error) => outcome.left_out.push((path.clone(), error.to_string())),
        }
    }
    let left = [tables.runs, tables.trials, tables.promises, tables.workloads];
    for sink in left.into_iter().chain(tables.samples) {
        sink.finish()?;
    }
    Ok(outcome)
}

/// A run, its manifest and its verdict: the one that stands in the folder, else a new one.
fn open(path: &Path) -> Result<(RunFolder, Manifest, Option<Judgement>), Error> {
    let folder = RunFolder::open(path)?;
    let manifest = folder.read_manifest()?;
    if manifest.recording.is_some() {
        return Ok((folder, manifest, None));
    }
    if let Ok(judgement) = folder.read_json::<Judgement>("verdict.json") {
        return Ok((folder, manifest, Some(judgement)));
    }
    let run = assay_run_folder::Run::of(&folder)?;
    let judgement = assay_judge::judge(&run.manifest, &run.samples);
    Ok((folder, manifest, Some(judgement)))
}

impl Tables<'_> {
    fn add(
        &mut self,
        folder: &RunFolder,
        manifest: &Manifest,
        judgement: Option<&Judgement>,
    ) -> Result<(), Error> {
        let name = name(folder.path());
        let of = Of { name: &name, manifest, judgement };
        rows::run(&of, self.runs.as_mut())?;
        rows::trials(&of, self.trials.as_mut())?;
        rows::promises(&of, self.promises.as_mut())?;
        rows::workloads(&of, self.workloads.as_mut())?;
        match &mut self.samples {
            Some(sink) => samples(&name, folder, manifest, sink.as_mut()),
            None => Ok(()),
        }
    }
}

/// What a run is called in tables: the name of its folder, as it is named on the command line.
pub(crate) fn name(path: &Path) -> String {
    let whole = match path.file_name() {
        Some(_) => path.to_owned(),
        None => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    };
    whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
}
