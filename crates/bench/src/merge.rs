//! Measures the memory for merging a thousand runs: into one set of tables, and as one fleet.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use assay_files::Trust;
use assay_fleet::{Fleet, FleetFolder, Phase, SCHEMA, Submission, Task, TaskRecord};
use assay_run_folder::{Manifest, Run, RunFolder};

use crate::assay::{Assay, Usage};
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::statistics::Estimate;
use crate::synthetic;

/// Number of runs.
const RUNS: usize = 1000;

/// Seconds of each run: runs are read batch by batch, so only their number could matter.
const LENGTH: u64 = 10;

/// Target for the peak memory of the process, in bytes.
const TARGET: f64 = (1 << 30) as f64;

/// Any number works: Slurm is not queried for tasks that have reported their end.
const JOB: u64 = 17;

const MEBIBYTES: Shown = Shown { factor: 1.0 / (1 << 20) as f64, unit: "MiB", decimals: 0 };

/// Creates the runs below `parent`, all with the files of one, and merges them twice.
pub(crate) fn measure(
    assay: &Assay,
    model: &Manifest,
    parent: &Path,
) -> Result<Vec<Figure>, Failure> {
    let one = parent.join("one");
    synthetic::write(model, &one, LENGTH)?;
    let run = Run::load(&one)?;
    let judgement = assay_judge::judge(&run.manifest, &run.samples);
    RunFolder::open(&one)?.write_json("verdict.json", &judgement)?;
    let all = parent.join("thousand");
    for number in 0..RUNS {
        link(&one, &all.join(format!("run-{number:04}")))?;
    }
    let tables = parent.join("tables");
    let words: [&OsStr; 4] =
        ["export".as_ref(), all.as_os_str(), "--out".as_ref(), tables.as_os_str()];
    let exported = figure("export", assay.peak(&words)?, bytes(&tables)?);
    let _ = fs::remove_dir_all(&tables);
    let fleet = parent.join("fleet");
    submitted(model, &one, &fleet)?;
    let words: [&OsStr; 3] = ["fleet".as_ref(), "collect".as_ref(), fleet.as_os_str()];
    let collected = figure("fleet collect", assay.peak(&words)?, bytes(&fleet.join("samples"))?);
    for folder in [one, all, fleet] {
        let _ = fs::remove_dir_all(folder);
    }
    Ok(vec![exported, collected])
}

fn figure(command: &str, took: Usage, written: u64) -> Figure {
    let name = format!("merging {RUNS} runs: `assay {command}`");
    let mut figure = Figure::bound(&name, Estimate::exact(took.peak as f64), TARGET, &MEBIBYTES);
    figure.remarks.push(format!(
        "the most memory that the process ever had (VmHWM); once, in {:.1} s, with {:.0} MB of \
         samples written",
        took.time.as_secs_f64(),
        written as f64 / 1e6
    ));
    figure
}

/// Hard-links every file below a folder: a thousand runs in the space of one.
fn link(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, cause: &std::io::Error| {
        Failure::Failed(format!("cannot link {}: {cause}", path.display()))
    };
    fs::create_dir_all(to).map_err(|cause| failed(to, &cause))?;
    for entry in fs::read_dir(from).map_err(|cause| failed(from, &cause))? {
        let path = entry.map_err(|cause| failed(from, &cause))?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            link(&path, &to.join(name))?;
        } else {
            fs::hard_link(&path, to.join(name)).map_err(|cause| failed(&path, &cause))?;
        }
    }
    Ok(())
}

/// The folder of a fleet whose tasks have all ended, each with this run.
fn submitted(model: &Manifest, run: &Path, parent: &Path) -> Result<(), Failure> {
    let folder = FleetFolder::create(parent, Trust::Checked)
        .map_err(|error| Failure::from_display(&error))?;
    let task = |number: usize| Task {
        node: format!("node{number:04}"),
        host_name: format!("node{number:04}"),
        seed: model.seed + number as u64,
        slice: None,
    };
    let fleet = Fleet {
        schema: SCHEMA,
        assay: model.assay.clone(),
        program: "assay".to_owned(),
        study: model.study.clone(),
        title: model.title.clone(),
        question: None,
        arguments: Vec::new(),
        trust_folder: false,
        command: Vec::new(),
        plan: None,
        copied: false,
        refused: Vec::new(),
        started_at: model.started_at.clone(),
        slurm: "none".to_owned(),
        partition: None,
        time_limit_min: 1,
        signal_ahead_s: 60,
        tasks: (0..RUNS).map(task).collect(),
        left_out: Vec::new(),
        torn: None,
        submissions: vec![Submission {
            job: JOB,
            tasks: (0..RUNS).collect(),
            at: model.started_at.clone(),
            script: "job-1.sh".to_owned(),
        }],
    };
    folder.write_fleet(&fleet).map_err(|error| Failure::from_display(&error))?;
    let record_of_task = ended(model);
    let record = Path::new("task.json");
    folder.write_json(record, &record_of_task).map_err(|error| Failure::from_display(&error))?;
    for number in 0..RUNS {
        let task = folder.file(FleetFolder::task_folder(number, JOB));
        link(run, &task.join("run"))?;
        fs::hard_link(folder.file(record), task.join(record))
            .map_err(|cause| Failure::Failed(format!("cannot link task.json: {cause}")))?;
    }
    Ok(())
}

/// The record of every task.
fn ended(model: &Manifest) -> TaskRecord {
    TaskRecord {
        schema: SCHEMA,
        task: 0,
        host_name: "node".to_owned(),
        pid: 1,
        phase: Phase::Ended,
        began_at: model.started_at.clone(),
        ended_at: Some(model.started_at.clone()),
        code: Some(0),
        why: None,
        restored_first: Vec::new(),
        restored: Some(true),
    }
}

/// Total size of the files of a folder.
fn bytes(folder: &Path) -> Result<u64, Failure> {
    let failed = |cause: std::io::Error| {
        Failure::Failed(format!("cannot list {}: {cause}", folder.display()))
    };
    let mut sum = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        sum += entry.and_then(|entry| entry.metadata()).map_err(failed)?.len();
    }
    Ok(sum)
}
