//! The engine of experiments whose next repeat follows from what was recorded: trials are made when they are first
//! needed.

pub mod compare;
pub mod explain;
pub mod iocost;
pub mod tune;

use std::time::Duration;

use assay_host::facts::HostFacts;
use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, Run, RunFolder};
use assay_run::context::Context;
use assay_run::decided::Decided;
use assay_run::load::Loaded;
use assay_run::observer::{CurrentSetting, Observer};
use assay_run::prepare::{Destination, new_request};
use assay_run::runner::{Finished, NextRepeat, Request, Schedule};
use assay_study::plan::{RepeatId, Trial, interleave};
use assay_sys::exit::Error;

/// The trials so far, in the order of the manifest.
pub(crate) struct Trials {
    trials: Vec<Trial>,
    /// The name of what is being tried.
    pub(crate) current: CurrentSetting,
}

impl Trials {
    pub(crate) fn new(first: Trial) -> Self {
        Self { trials: vec![first], current: CurrentSetting::default() }
    }

    pub(crate) fn first(&self) -> &Trial {
        &self.trials[0]
    }

    pub(crate) fn current(&self) -> CurrentSetting {
        CurrentSetting::clone(&self.current)
    }

    /// Adds a trial and returns its number. One that was added before and never ran has no number in the manifest.
    pub(crate) fn add(&mut self, trial: Trial, manifest: &Manifest) -> usize {
        let number = manifest.trials.len();
        self.trials.truncate(number);
        self.trials.push(trial);
        number
    }

    /// The next repeat of a trial.
    pub(crate) fn repeat(&self, trial: usize, manifest: &Manifest) -> NextRepeat<'_> {
        let done = manifest.trials.get(trial).map_or(0, |known| known.repeats.len());
        let slot = RepeatId { trial, repeat: u32::try_from(done).unwrap_or(u32::MAX) };
        NextRepeat { slot, trial: &self.trials[trial] }
    }
}

/// The request of an experiment that begins with this trial, which is named and returned as it is planned.
pub(crate) fn request(
    context: &Context,
    loaded: Loaded,
    first: (String, Trial),
    facts: HostFacts,
    to: (&Destination, &str, u64),
) -> Result<(Request, Trial), Error> {
    let plan = interleave(vec![first], 0);
    let request = new_request(context, loaded, plan, facts, to)?;
    let first = request.plan.trials[0].clone();
    Ok((request, first))
}

/// Runs an experiment, while its current name and the total time are shown.
pub(crate) fn run(
    context: &Context,
    request: &Request,
    schedule: &mut dyn Schedule,
    (current, length): (CurrentSetting, Duration),
    observer: &mut dyn Observer,
) -> Result<Finished, Error> {
    let mut progress = observer.begin_search(current, length);
    let finished = context.runner.run(request, progress.as_mut(), &mut Decided, Some(schedule));
    finished.map_err(Error::host)
}

/// Judges the repeats recorded so far; `None` if the run cannot be read.
pub(crate) fn look(folder: &RunFolder) -> Option<Judgement> {
    let run = Run::from_folder(folder).ok()?;
    Some(crate::judge::judge_so_far(&run.manifest, &run.samples))
}
