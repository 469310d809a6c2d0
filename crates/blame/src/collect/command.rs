//! Watching a command in a group of its own, under limits if wanted.

use std::path::Path;
use std::time::Duration;

use assay_host::facts::HostFacts;
use assay_host::{Ledger, Next, Watcher, gather};
use assay_sys::exit::Error;
use assay_sys::kernel::{Error as KernelError, Root};

use super::experiment::Experiment;
use super::lever::{Lever, Place, Waiting};
use super::proof::Proof;
use super::prove::ProveOptions;
use super::{Watched, explain as explain_refusal, memory, one_answer};
use crate::Answer;
use crate::watch::waits::{CpuHierarchy, WaitWatch};

/// How a command is watched.
#[derive(Debug, Clone, Default)]
pub struct CommandOptions {
    /// After this time the answer is complete, and a command that still runs is stopped, unless a proof follows.
    pub length: Option<Duration>,
    /// The proof that follows; the command is stopped when it is complete.
    pub prove: Option<ProveOptions>,
}

/// A command that was run and watched.
#[derive(Debug)]
pub struct BlamedCommand<O> {
    /// Where its waiting went.
    pub answer: Answer,
    /// What holding a culprit back has shown, if the command ran that long.
    pub proof: Option<Proof>,
    /// Whether it was stopped, so that its exit code says nothing.
    pub is_stopped: bool,
    /// How it ended, and what it used.
    pub outcome: O,
}

/// Watches the group of a command while `exec` runs it there.
///
/// # Errors
/// Those of `exec`; the culprit must not be held back, or the kernel or its policy refuses the programs.
pub fn watch_command<O>(
    root: &Root,
    options: &CommandOptions,
    notify: &mut dyn FnMut(&str),
    exec: impl FnOnce(&HostFacts, &mut dyn FnMut(&str), &mut dyn Watcher) -> Result<O, Error>,
) -> Result<BlamedCommand<O>, Error> {
    let facts = gather(root).map_err(Error::host)?;
    let hierarchy = CpuHierarchy::new(&facts).map_err(|refused| explain_refusal(&refused))?;
    let place = Place { root, facts: &facts, hierarchy: &hierarchy };
    if let Some(prove) = &options.prove {
        // What is refused is refused before the command starts; its own group does not exist yet.
        let lever = prove.lever(place, &Waiting::default())?;
        notify(&prove.announcement(&lever));
    }
    let mut watcher = CommandWatcher::new(place, options);
    let outcome = exec(&facts, notify, &mut watcher)?;
    let CommandWatcher { answer, proof, is_stopped, .. } = watcher;
    let answer = answer.ok_or_else(|| Error::host("the command was not watched"))?;
    Ok(BlamedCommand { answer: answer.map_err(Error::host)?, proof, is_stopped, outcome })
}

struct CommandWatcher<'c> {
    place: Place<'c>,
    options: &'c CommandOptions,
    group: String,
    lever: Option<Lever>,
    stage: Stage<'c>,
    answer: Option<Result<Answer, KernelError>>,
    proof: Option<Proof>,
    is_stopped: bool,
}

/// What the watcher does at present.
enum Stage<'c> {
    Attributing(Box<WaitWatch>),
    Proving(Box<Experiment<'c>>),
    Idle,
}

impl<'c> CommandWatcher<'c> {
    fn new(place: Place<'c>, options: &'c CommandOptions) -> Self {
        Self {
            place,
            options,
            group: String::new(),
            lever: None,
            stage: Stage::Idle,
            answer: None,
            proof: None,
            is_stopped: false,
        }
    }

    fn attach(&self) -> Result<WaitWatch, KernelError> {
        let Place { root, hierarchy, .. } = self.place;
        let paths = std::slice::from_ref(&self.group);
        let watch = WaitWatch::on_groups(root, hierarchy, paths);
        let mut watch = watch.map_err(|error| lacking(&error))?;
        watch.start()?;
        Ok(watch)
    }

    fn read(&self, watch: WaitWatch) -> Result<Answer, KernelError> {
        one_answer(self.place.root, self.place.hierarchy, watch)
    }

    /// The answer is complete: the proof follows, or nothing.
    fn conclude(&mut self, watch: WaitWatch) -> Next {
        self.answer = Some(self.read(watch));
        let (Some(prove), Some(lever)) = (&self.options.prove, self.lever.take()) else {
            return self.stop();
        };
        match self.attach() {
            Ok(watch) => {
                let target = Watched::Group(self.group.clone());
                let stalls = memory::start(self.place.root, self.place.facts, &target).ok();
                let watch = (watch, stalls);
                let experiment = Experiment::new(self.place.root, watch, lever, prove.shape());
                self.stage = Stage::Proving(Box::new(experiment));
                Next::Within(Duration::ZERO)
            }
            Err(error) => {
                self.answer = Some(Err(error));
                self.stop()
            }
        }
    }

    fn stop(&mut self) -> Next {
        self.is_stopped = true;
        Next::Stop
    }

    /// Ends an experiment, which restores what it has changed.
    fn end_experiment(&mut self, ledger: &mut Ledger) {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Proving(mut experiment) => {
                experiment.stop(ledger);
                let prove = self.options.prove.as_ref();
                self.proof = prove.map(|prove| prove.proof(self.place, *experiment));
            }
            other => self.stage = other,
        }
    }
}

impl Watcher for CommandWatcher<'_> {
    fn begin(&mut self, directory: Option<&Path>) -> Result<(), KernelError> {
        let directory = directory.ok_or_else(|| lacking(&"it has no controller `cpu`"))?;
        self.group = self.place.hierarchy.path(&directory.display().to_string());
        let waiting = Waiting { group: Some(self.group.clone()), process: None };
        let lever = self.options.prove.as_ref().map(|prove| prove.lever(self.place, &waiting));
        self.lever = lever.transpose().map_err(|error| lacking(&error))?;
        self.stage = Stage::Attributing(Box::new(self.attach()?));
        Ok(())
    }

    fn poll(&mut self, ledger: &mut Ledger, is_ending: bool) -> Next {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Attributing(watch) => {
                let left = self.options.length.map(|length| length.saturating_sub(watch.elapsed()));
                if left == Some(Duration::ZERO) && !is_ending {
                    return self.conclude(*watch);
                }
                self.stage = Stage::Attributing(watch);
                Next::Within(left.filter(|_| !is_ending).unwrap_or(Duration::MAX))
            }
            Stage::Proving(mut experiment) => {
                let next = if is_ending { None } else { experiment.poll(ledger) };
                self.stage = Stage::Proving(experiment);
                next.map_or_else(
                    || {
                        self.end_experiment(ledger);
                        if is_ending { Next::Within(Duration::MAX) } else { self.stop() }
                    },
                    Next::Within,
                )
            }
            Stage::Idle if self.is_stopped => Next::Stop,
            Stage::Idle => Next::Within(Duration::MAX),
        }
    }

    fn command_ended(&mut self, ledger: &mut Ledger) {
        self.end_experiment(ledger);
    }

    fn end(&mut self) {
        if let Stage::Attributing(watch) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.answer = Some(self.read(*watch));
        }
    }
}

fn lacking(reason: &dyn std::fmt::Display) -> KernelError {
    KernelError::unexpected("watch", Path::new("the group"), reason.to_string())
}
