//! Judges what a run recorded and writes its verdict and report; for the call that made the run and for later ones.

use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, Run, RunFolder};
use assay_run::observer::Observer;
use assay_run::recorded_run::REPORT;
use assay_run::runner::{Finished, Request};
use assay_sys::exit::Code;

use crate::judge::judge;
use crate::tune::{self, Tuning};

/// A run that is over, even if it ended early.
#[derive(Debug)]
pub struct Ended {
    /// Its judgement; `None` if nothing can be judged or written, which the observer knows.
    pub judgement: Option<Judgement>,
    /// Its exit code.
    pub code: Code,
}

/// Judges a run and writes its verdict and report, even if it ended early.
#[must_use]
pub fn conclude(request: &Request, finished: &Finished, observer: &mut dyn Observer) -> Ended {
    let judgement = match judge_finished(request, finished, observer) {
        Ok(judgement) => Some(judgement),
        Err(error) => {
            observer.error(&error);
            None
        }
    };
    let code = finished.code(judgement.as_ref().map(Judgement::code));
    Ended { judgement, code }
}

/// Reports the errors of a run and judges it.
pub fn judge_finished(
    request: &Request,
    finished: &Finished,
    observer: &mut dyn Observer,
) -> Result<Judgement, assay_record::run_folder::Error> {
    for error in &finished.not_restored {
        observer.error(&format!("not restored: {error}"));
    }
    if let (None, Some(failure)) = (finished.interrupted, &finished.failure) {
        observer.error(failure);
    }
    report_faults(&finished.manifest, observer);
    let run = Run::from_folder(&request.folder)?;
    // The manifest in memory counts, in case the disk was too full to write it.
    let run = Run { manifest: finished.manifest.clone(), ..run };
    judge_run(&request.folder, &run)
}

fn report_faults(manifest: &Manifest, observer: &mut dyn Observer) {
    for repeat in manifest.trials.iter().flat_map(|trial| &trial.repeats) {
        if let Some(fault) = &repeat.fault {
            observer.error(&fault.message);
        }
    }
}

/// Judges a run and writes its verdict and its report.
///
/// # Errors
/// The folder cannot be written.
pub fn judge_run(
    folder: &RunFolder,
    run: &Run,
) -> Result<Judgement, assay_record::run_folder::Error> {
    let judgement = judge(&run.manifest, &run.samples);
    folder.write_json("verdict.json", &judgement)?;
    write_report(folder, run, &judgement)?;
    Ok(judgement)
}

/// Writes the report of a judged run; for a search (`tune.json`) with its result.
///
/// # Errors
/// The folder cannot be written.
pub fn write_report(
    folder: &RunFolder,
    run: &Run,
    judgement: &Judgement,
) -> Result<(), assay_record::run_folder::Error> {
    let search = folder.has("tune.json");
    let search: Option<Tuning> = search.then(|| folder.read_json("tune.json")).transpose()?;
    let html = assay_report::html(
        &run.manifest,
        judgement,
        &run.samples,
        search.as_ref().map(tune::section),
    );
    folder.write_text(REPORT, &html)
}
