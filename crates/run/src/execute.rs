//! Executes a request.

use assay_sys::exit::Error;

use crate::context::Context;
use crate::decided::Decided;
use crate::observer::Observer;
use crate::runner::{Finished, Request, Schedule};

/// Runs a request.
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
    let finished = context.runner.run(request, view.as_mut(), &mut Decided, schedule);
    finished.map_err(Error::host)
}
