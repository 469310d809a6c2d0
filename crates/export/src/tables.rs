//! Writes one or many runs, one after the other, into the same set of tables.

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
use crate::rows::{self, NamedRun};
use crate::samples::samples;

/// The format of tables in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// CSV, RFC 4180.
    Csv,
}

/// Result of an export.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Files written.
    pub files: Vec<PathBuf>,
    /// Number of runs exported.
    pub runs: usize,
    /// Runs that could not be read, with the reasons.
    pub left_out: Vec<(PathBuf, String)>,
}

/// The tables being written.
struct Tables<'w> {
    runs: Box<dyn Sink + 'w>,
    trials: Box<dyn Sink + 'w>,
    promises: Box<dyn Sink + 'w>,
    workloads: Box<dyn Sink + 'w>,
    samples: Option<Box<dyn Sink + 'w>>,
}

/// Writes the tables of several runs into a folder. Unreadable runs are skipped and named in the
/// result. Memory holds only the manifest and verdict of one run and one batch of samples of one
/// source at a time.
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

/// Same as [`export`], but as JSON lines: one object per row, all tables in one stream.
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
    let sinks = [tables.runs, tables.trials, tables.promises, tables.workloads];
    for sink in sinks.into_iter().chain(tables.samples) {
        sink.finish()?;
    }
    Ok(outcome)
}

/// Opens a run with its manifest and verdict: the stored verdict, else a newly computed one.
fn open(path: &Path) -> Result<(RunFolder, Manifest, Option<Judgement>), Error> {
    let folder = RunFolder::open(path)?;
    let manifest = folder.read_manifest()?;
    if manifest.recording.is_some() {
        return Ok((folder, manifest, None));
    }
    if let Ok(judgement) = folder.read_json::<Judgement>("verdict.json") {
        return Ok((folder, manifest, Some(judgement)));
    }
    let run = assay_run_folder::Run::from_folder(&folder)?;
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
        let run = NamedRun { name: &name, manifest, judgement };
        rows::run(&run, self.runs.as_mut())?;
        rows::trials(&run, self.trials.as_mut())?;
        rows::promises(&run, self.promises.as_mut())?;
        rows::workloads(&run, self.workloads.as_mut())?;
        match &mut self.samples {
            Some(sink) => samples(&name, folder, manifest, sink.as_mut()),
            None => Ok(()),
        }
    }
}

/// The name of a run in tables: that of its folder, as given on the command line.
pub(crate) fn name(path: &Path) -> String {
    let named = match path.file_name() {
        Some(_) => path.to_owned(),
        None => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    };
    named.file_name().unwrap_or(named.as_os_str()).to_string_lossy().into_owned()
}
