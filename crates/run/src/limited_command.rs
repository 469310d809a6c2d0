//! One command under limits: what is asked of `crate::exec`, and how a refusal is told.

use std::ffi::OsString;

use assay_host::facts::HostFacts;
use assay_host::{Watcher, gather};
use assay_sys::exit::{Code, Error};
use jiff::Timestamp;

use crate::context::Context;
use crate::exec::{
    Failure, Fault, Leftover, Outcome, PlacementOption, Refused, Request, Setting, Unwatched,
};
use crate::observer::Observer;

/// A command and its limits.
#[derive(Debug, Clone, Default)]
pub struct LimitedCommand {
    /// The program and its arguments; never empty.
    pub command: Vec<OsString>,
    /// The knobs to set, in this order.
    pub settings: Vec<Setting>,
    /// CPUs and memory; they are set after the knobs.
    pub place: Vec<PlacementOption>,
    /// The disk whose scheduler decides the translation of `io.weight`, by kernel name.
    pub disk: Option<String>,
    /// What to do with processes that outlive the command.
    pub leftover: Leftover,
    /// Whether to leave out a knob that this host does not support, instead of refusing the run.
    pub keep_going: bool,
}

impl LimitedCommand {
    /// What is asked of `crate::exec`; the group's name begins with `purpose`.
    #[must_use]
    pub fn request(&self, context: &Context, purpose: &str) -> Request {
        let Self { command, settings, place, disk, leftover, keep_going } = self.clone();
        let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let placement = place.iter().flat_map(|place| place.settings.clone());
        Request {
            command,
            settings: settings.into_iter().chain(placement).collect(),
            memory: place.iter().rev().find_map(|place| place.memory.clone()),
            disk,
            leftover,
            keep_going,
            state_dir: context.state_dir.clone(),
            run_id: format!("{purpose}-{stamp}-{}", std::process::id()),
        }
    }
}

/// Runs a command under limits. If it was not started because it is no program, or because a signal
/// arrived first, the error is the exit code that a shell would give.
///
/// # Errors
/// A setting is wrong, or this host cannot make it: then nothing was touched.
pub fn run_limited(
    context: &Context,
    command: &LimitedCommand,
    observer: &mut dyn Observer,
) -> Result<Result<Outcome, u8>, Error> {
    let facts = gather(&context.root).map_err(Error::host)?;
    run_with(context, command, &facts, observer, &mut Unwatched)
}

/// The same on a known host, with somebody who watches.
pub fn run_with(
    context: &Context,
    command: &LimitedCommand,
    facts: &HostFacts,
    observer: &mut dyn Observer,
    watcher: &mut dyn Watcher,
) -> Result<Result<Outcome, u8>, Error> {
    let request = command.request(context, "exec");
    let mut notify = |text: &str| observer.message(&format!("assay: {text}"));
    match crate::exec::exec_watched(&request, facts, &mut notify, watcher) {
        Ok(outcome) => Ok(Ok(outcome)),
        Err(Failure::NotRestored(why, errors)) => {
            let why = if let Failure::Host(error) = *why { Some(error.to_string()) } else { None };
            let errors = errors.iter().map(|error| format!("not restored: {error}"));
            let reasons = why.into_iter().chain(errors).collect();
            Err(Error { reasons, ..Error::ended(Code::RestoreIncomplete) })
        }
        Err(Failure::Refused(refused)) => Err(refusal(&refused)),
        Err(Failure::Host(error)) => Err(Error::host(error).note("the command was not run")),
        Err(Failure::NotRunnable(error)) => {
            observer.error(&error);
            Ok(Err(error.exit_code))
        }
        Err(Failure::Interrupted(signal)) => {
            let number = signal.as_raw();
            observer
                .message(&format!("assay: signal {number} arrived before the command was started"));
            Ok(Err(u8::try_from(128 + number).unwrap_or(u8::MAX)))
        }
    }
}

fn refusal(refused: &[Refused]) -> Error {
    let usage = refused.iter().any(|one| one.fault == Fault::Usage);
    let error = Error::ended(if usage { Code::Usage } else { Code::Host });
    Error { reasons: refused.iter().map(ToString::to_string).collect(), ..error }
        .note("nothing was touched, and the command was not run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(fault: Fault) -> Refused {
        let [knob, value, reason] = ["cpu.max", "x", "no number"].map(str::to_owned);
        Refused { knob, value, reason, fault }
    }

    #[test]
    fn a_mistake_counts_more_than_a_limitation_of_the_host() {
        let error = refusal(&[refused(Fault::Host), refused(Fault::Usage)]);
        assert_eq!((error.code, error.reasons.len()), (Code::Usage, 2));
        assert_eq!(refusal(&[refused(Fault::Host)]).code, Code::Host);
    }

    #[test]
    fn the_last_memory_policy_counts_and_placement_follows_the_knobs() {
        let parse = |text: &str| crate::exec::parse_placement(text).unwrap();
        let command = LimitedCommand {
            settings: vec!["cpu.weight=50".parse().unwrap()],
            place: ["cpus=0", "memory=interleave:0", "memory=interleave:0-1"].map(parse).into(),
            ..LimitedCommand::default()
        };
        let request = command.request(&Context::of_this_host(Vec::new()), "exec");
        let knobs: Vec<&str> = request.settings.iter().map(|one| one.knob.as_str()).collect();
        assert_eq!(knobs[..2], ["cpu.weight", "cpuset.cpus"]);
        assert_eq!(request.memory, command.place[2].memory);
    }
}
