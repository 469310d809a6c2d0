//! Executes a request and judges what it recorded.

use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, Run};
use assay_sys::exit::{Code, Error};

use crate::context::Context;
use crate::finish_run::judge_run;
use crate::look_taker::LookTaker;
use crate::observer::Observer;
use crate::runner::{Finished, Request, Schedule};

/// A run that is over, even if it ended early.
#[derive(Debug)]
pub struct Ended {
    /// Its judgement; `None` if nothing can be judged or written, which the observer knows.
    pub judgement: Option<Judgement>,
    /// Its exit code.
    pub code: Code,
}

/// Runs a request with interim looks.
///
/// # Errors
/// Only if nothing was changed; a run that fails later is in the result.
pub fn execute(
    context: &Context,
    request: &Request,
    observer: &mut dyn Observer,
) -> Result<Finished, Error> {
    execute_schedule(context, request, None, observer)
}

/// Like `execute`, with a schedule that chooses the next repeat of the plan.
pub fn execute_schedule(
    context: &Context,
    request: &Request,
    schedule: Option<&mut dyn Schedule>,
    observer: &mut dyn Observer,
) -> Result<Finished, Error> {
    let mut view = observer.begin_run(&request.manifest.study, &request.plan);
    let mut looks = LookTaker::new(view.looks.take());
    let finished = context.runner.run(request, view.progress.as_mut(), &mut looks, schedule);
    finished.map_err(Error::host)
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
