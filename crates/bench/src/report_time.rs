//! Measures the time to write the report of a long run, and its size.

use std::path::Path;
use std::time::Instant;

use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, Run};

use crate::assay::Assay;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::starts::median;
use crate::statistics::Estimate;
use crate::{idle_wait, synthetic};

/// Target for `assay report`, in seconds.
const TARGET: f64 = 2.0;

/// Length of the run, in seconds.
const LENGTH: u64 = 600;

/// Target for the size of the page, in MB.
const SIZE: f64 = 2.0;

const MEGABYTES: Shown = Shown { factor: 1.0, unit: "MB", decimals: 2 };

const SECONDS: Shown = Shown { factor: 1.0, unit: "s", decimals: 2 };

/// Writes a run of ten minutes below `folder` and times its report `times` times.
pub(crate) fn measure(
    assay: &Assay,
    model: &Manifest,
    folder: &Path,
    times: usize,
) -> Result<Vec<Figure>, Failure> {
    let run = folder.join("long-run");
    synthetic::write(model, &run, LENGTH)?;
    let busy = idle_wait::wait()?;
    let mut seconds = Vec::new();
    for _ in 0..times {
        seconds.push(assay.report(&run)?.as_secs_f64());
    }
    let groups = model.trials.first().map_or(0, |trial| trial.groups.len());
    let name = format!("report of 10 min, {groups} groups");
    let mut figure = Figure::bound(&name, median(&seconds)?, TARGET, &SECONDS);
    figure.remarks.push(format!("median [smallest, largest] of {times} processes `assay report`"));
    figure.remarks.push(split(&run)?);
    figure.remarks.extend(idle_wait::remark(busy));
    let page = run.join("report.html");
    let figures = vec![figure, size(&name, &page)?];
    let _ = std::fs::remove_dir_all(run);
    Ok(figures)
}

/// The size of the page, including its drawing code.
fn size(name: &str, page: &Path) -> Result<Figure, Failure> {
    let metadata = std::fs::metadata(page);
    let bytes = metadata.map_err(|cause| {
        Failure::Failed(format!("cannot read the size of {}: {cause}", page.display()))
    })?;
    let exact = Estimate::exact(bytes.len() as f64 / 1e6);
    Ok(Figure::bound(&format!("{name}: size"), exact, SIZE, &MEGABYTES))
}

/// Times of the same steps within this process.
fn split(path: &Path) -> Result<String, Failure> {
    let began = Instant::now();
    let run = Run::load(path)?;
    let load = began.elapsed();
    let began = Instant::now();
    let judgement = assay_cause::judge(&run.manifest, &run.samples);
    let judge = began.elapsed();
    let began = Instant::now();
    let _ = assay_report::html(&run.manifest, &judgement, &run.samples, None);
    let render = began.elapsed();
    let all = (load + judge + render).as_secs_f64();
    let part = |name: &str, time: std::time::Duration| {
        format!("{name} {:.2} s ({:.0} %)", time.as_secs_f64(), time.as_secs_f64() / all * 100.0)
    };
    let parts = [part("load", load), part("judge", judge), part("render", render)];
    Ok(format!("once in one process: {}; {}", parts.join(", "), outcome(&judgement)))
}

/// The judged outcome of the run, to show that the full work was timed.
fn outcome(judgement: &Judgement) -> String {
    let trials = || judgement.trials.iter();
    let shares: usize =
        trials().flat_map(|trial| &trial.promises).map(|promise| promise.groups.len()).sum();
    let failed: Vec<&str> = trials()
        .flat_map(|trial| &trial.validity)
        .filter(|check| !check.ok)
        .map(|check| check.check.as_str())
        .collect();
    let because = if failed.is_empty() {
        String::new()
    } else {
        format!(" because of {}", failed.join(", "))
    };
    format!("verdict {:?}{because}, {shares} shares with intervals", judgement.verdict)
}
