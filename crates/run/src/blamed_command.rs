//! A command whose waiting is attributed while it runs under limits.

use assay_blame::collect::{BlamedCommand, CommandOptions, watch_command};
use assay_sys::exit::{Code, Error};

use crate::context::Context;
use crate::exec::{Failure, Outcome, Request, exec_watched};

/// Runs a command in a group of its own, as `assay exec` does, and watches that group meanwhile.
///
/// # Errors
/// The command cannot be run, the culprit must not be held back, or the kernel or its policy refuses the programs;
/// the host is restored.
pub fn blame_command(
    context: &Context,
    request: &Request,
    options: &CommandOptions,
    notify: &mut dyn FnMut(&str),
) -> Result<BlamedCommand<Outcome>, Error> {
    watch_command(&context.root, options, notify, |facts, notify, watcher| {
        exec_watched(request, facts, notify, watcher).map_err(|failure| explain(&failure))
    })
}

fn explain(failure: &Failure) -> Error {
    match failure {
        Failure::Refused(refused) => {
            let reasons = refused.iter().map(ToString::to_string).collect::<Vec<_>>();
            Error::usage(reasons.join("\n"))
        }
        Failure::NotRunnable(error) => Error::usage(error),
        Failure::Host(error) => Error::host(error),
        Failure::Interrupted(_) => Error::ended(Code::Interrupted),
        Failure::NotRestored(why, errors) => {
            let mut reasons = explain(why).reasons;
            reasons.extend(errors.iter().map(|error| format!("not restored: {error}")));
            Error { reasons, ..Error::ended(Code::RestoreIncomplete) }
        }
    }
}
