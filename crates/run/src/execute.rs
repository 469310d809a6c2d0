//! Executes a request.

use assay_sys::exit::Error;

use crate::context::Context;
use crate::look_taker::LookTaker;
use crate::observer::Observer;
use crate::runner::{Finished, Request, Schedule};

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
