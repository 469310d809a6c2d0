//! Writes one or many runs, one after the other, into the same set of tables.

use std::path::{Path, PathBuf};

use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, RunFolder};
use assay_sys::exit::Error;
use assay_sys::files::Dir;

use crate::export::cell::Sink;
use crate::export::columns::{PROMISES, RUNS, SAMPLES, Shape, TRIALS, WORKLOADS};
use crate::export::csv::Csv;
use crate::export::parquet::Parquet;
use crate::export::rows::{self, NamedRun};
use crate::export::samples::samples;
use crate::export::source::RunSource;

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
    /// Runs, and files of samples of other runs, that could not be read, with the reasons.
    pub left_out: Vec<(PathBuf, String)>,
}

/// The tables being written.
struct Tables {
    runs: Box<dyn Sink>,
    trials: Box<dyn Sink>,
    promises: Box<dyn Sink>,
    workloads: Box<dyn Sink>,
    samples: Option<Box<dyn Sink>>,
}

/// Judges a run that has no stored verdict.
pub type Judge = fn(&Manifest, &crate::Samples) -> Judgement;

/// Writes the tables of several runs into a folder. Unreadable runs and samples are skipped and named
/// in the result. Memory holds only the manifest and verdict of one run and one batch of samples of one
/// source at a time.
pub fn export(
    runs: &[RunSource],
    format: Format,
    folder: &Dir,
    with_samples: bool,
    judge: Judge,
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
    let mut outcome = write(tables, runs, judge)?;
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

fn write(mut tables: Tables, runs: &[RunSource], judge: Judge) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for source in runs {
        match open(source, judge) {
            Ok((folder, manifest, judgement)) => {
                let left_out = &mut outcome.left_out;
                tables.add(&folder, &manifest, judgement.as_ref(), left_out)?;
                outcome.runs += 1;
            }
            Err(error) => outcome.left_out.push((source.path(), error.to_string())),
        }
    }
    let sinks = [tables.runs, tables.trials, tables.promises, tables.workloads];
    for sink in sinks.into_iter().chain(tables.samples) {
        sink.finish()?;
    }
    Ok(outcome)
}

/// Opens a run with its manifest and verdict: the stored verdict, else a newly computed one.
fn open(
    source: &RunSource,
    judge: Judge,
) -> Result<(RunFolder, Manifest, Option<Judgement>), assay_sys::files::Error> {
    let folder = source.open()?;
    let manifest = folder.read_manifest()?;
    if manifest.recording.is_some() {
        return Ok((folder, manifest, None));
    }
    if let Ok(judgement) = folder.read_json::<Judgement>("verdict.json") {
        return Ok((folder, manifest, Some(judgement)));
    }
    let run = assay_record::run_folder::Run::from_folder(&folder)?;
    let judgement = judge(&run.manifest, &run.samples);
    Ok((folder, manifest, Some(judgement)))
}

impl Tables {
    fn add(
        &mut self,
        folder: &RunFolder,
        manifest: &Manifest,
        judgement: Option<&Judgement>,
        left_out: &mut Vec<(PathBuf, String)>,
    ) -> Result<(), Error> {
        let name = name(folder.path());
        let run = NamedRun { name: &name, manifest, judgement };
        rows::run(&run, self.runs.as_mut())?;
        rows::trials(&run, self.trials.as_mut())?;
        rows::promises(&run, self.promises.as_mut())?;
        rows::workloads(&run, self.workloads.as_mut())?;
        match &mut self.samples {
            Some(sink) => samples(&name, folder, manifest, sink.as_mut(), left_out),
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

#[cfg(test)]
mod tests {
    use assay_record::run_folder::{Column, SampleStream, Table};
    use assay_sys::files::Trust;

    use super::*;

    fn judged(manifest: &Manifest, samples: &crate::Samples) -> Judgement {
        assay_judge::judge(manifest, samples, &assay_judge::NoCauses)
    }

    const MANIFEST: &str = include_str!("../../../test-support/faults/one-cpu/manifest.json");
    const REPEAT: &str = "samples/trial-00-repeat-00";

    /// A run with a row of `io` and one of `cpu`.
    fn run(path: &Path) {
        let run = RunFolder::create(path, Trust::Checked).unwrap();
        run.write_text("manifest.json", MANIFEST).unwrap();
        let repeat = run.make_dir(Path::new(REPEAT)).unwrap();
        for source in ["cpu", "io"] {
            let mut stream = SampleStream::create(&repeat, source, &["count".to_owned()]).unwrap();
            let table = Table {
                source: source.to_owned(),
                time_ns: vec![1],
                subject: vec![0],
                subjects: vec!["a".to_owned()],
                columns: vec![Column { name: "count".to_owned(), values: vec![Some(1)] }],
            };
            stream.append(&table).unwrap();
        }
        let whole = assay_record::run_folder::Run::from_folder(&run).unwrap();
        let judgement = judged(&whole.manifest, &whole.samples);
        run.write_json("verdict.json", &judgement).unwrap();
    }

    #[test]
    fn a_damaged_file_of_samples_is_named_and_everything_else_is_exported() {
        let place = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| place.path().join(name));
        paths.iter().for_each(|path| run(path));
        let bad = [0, 1].map(|index| paths[index].join(REPEAT).join("cpu.parquet"));
        for file in &bad {
            std::fs::remove_file(file.with_extension("csv")).unwrap();
            std::fs::write(file, "no samples").unwrap();
        }
        let out = Dir::open(place.path()).unwrap().make_dir("out").unwrap();
        let sources = RunSource::find(&[place.path().to_owned()]).unwrap();
        let outcome = export(&sources, Format::Csv, &out, true, judged).unwrap();
        let text = std::fs::read_to_string(out.path().join("samples.csv")).unwrap();
        let rows = |source: &str| {
            let source = format!(",{source},");
            text.lines().filter(|line| line.contains(&source)).count()
        };
        assert_eq!((rows("io"), rows("cpu")), (3, 1));
        let named: Vec<_> = outcome.left_out.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!((outcome.runs, named), (3, bad.to_vec()));
    }
}
