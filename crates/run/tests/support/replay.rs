//! In tests: recorded runs, and a runner that replays their repeats instead of touching a host.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use assay_host::facts::Available;
use assay_record::run_folder::{
    Manifest, RepeatRecord, Run, RunFolder, StudyChoiceRecord, TrialRecord,
};
use assay_run::context::{Context, Runner};
use assay_run::runner::{Failure, Finished, NextRepeat, Request, Schedule, StopRule};
use assay_study::plan::{Plan, RepeatId, Trial};
use assay_test_support::hosts::host;
use tempfile::TempDir;

/// The recorded run of an injected fault.
pub(crate) fn fault(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults").join(name)
}

/// A copy of a recorded run as this version would have recorded it: with the choice of its study.
pub(crate) fn as_recorded_now(name: &str, temp: &TempDir) -> PathBuf {
    let to = temp.path().join(name);
    copy(&fault(name), &to);
    let folder = RunFolder::open(&to).unwrap();
    let mut manifest = Run::from_folder(&folder).unwrap().manifest;
    manifest.study_choice = Some(StudyChoiceRecord {
        study: name.to_owned(),
        published: false,
        set: Vec::new(),
        repeats: Some(1),
        at_most_s: None,
        stop: None,
        disk: None,
        scheduler: None,
        evidence: false,
    });
    folder.write_manifest(&manifest).unwrap();
    to
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// A host of two CPUs with BFQ on which the repeats of a recorded run take place.
pub(crate) fn context(recorded: &Path, temp: &TempDir) -> (Context, Replayed) {
    let replayed = Replayed::default();
    let runner = Replay { recorded: recorded.to_owned(), replayed: Rc::clone(&replayed) };
    let context = Context {
        facts: Some(host(false)),
        state_dir: temp.path().join("state"),
        runner: Box::new(runner),
        ..Context::of_this_host(vec!["assay".to_owned(), "test".to_owned()])
    };
    (context, replayed)
}

/// The repeats that were replayed, in order.
pub(crate) type Replayed = Rc<RefCell<Vec<RepeatId>>>;

/// Gives every repeat the data of the first repeat of a recorded run.
struct Replay {
    recorded: PathBuf,
    replayed: Replayed,
}

impl Runner for Replay {
    fn run(
        &self,
        request: &Request,
        _: &mut dyn assay_run::runner::Observer,
        _: &mut dyn StopRule,
        schedule: Option<&mut dyn Schedule>,
    ) -> Result<Finished, Failure> {
        let recorded = Run::load(&self.recorded)?.manifest;
        let mut manifest = Manifest {
            study: request.manifest.study.clone(),
            study_text: request.manifest.study_text.clone(),
            command: request.manifest.command.clone(),
            study_choice: request.manifest.study_choice.clone(),
            trials: Vec::new(),
            ..recorded.clone()
        };
        manifest.trials.extend(request.plan.trials.iter().map(|trial| planned(&recorded, trial)));
        request.folder.write_manifest(&manifest)?;
        let mut in_order = InOrder { plan: &request.plan, done: 0 };
        let schedule: &mut dyn Schedule = match schedule {
            Some(schedule) => schedule,
            None => &mut in_order,
        };
        while let Some(next) = schedule.next(&manifest) {
            let slot = next.slot;
            self.replayed.borrow_mut().push(slot);
            if slot.trial == manifest.trials.len() {
                manifest.trials.push(planned(&recorded, next.trial));
            }
            let repeat = self.repeat(request, &recorded.trials[0].repeats[0], slot);
            manifest.trials[slot.trial].repeats.push(repeat);
            request.folder.write_manifest(&manifest)?;
        }
        Ok(Finished { manifest, interrupted: None, failure: None, not_restored: Vec::new() })
    }

    fn footprint(&self, _: &[String]) -> Result<assay_study::plan::Footprint, String> {
        Err("a replay starts no generators".to_owned())
    }
}

/// The recorded trial with the factors of a planned one.
fn planned(recorded: &Manifest, trial: &Trial) -> TrialRecord {
    let factors = trial.factors.iter();
    let factors = factors.map(|(name, value)| (name.clone(), serde_json::to_value(value).unwrap()));
    TrialRecord { factors: factors.collect(), repeats: Vec::new(), ..recorded.trials[0].clone() }
}

/// The repeats of a plan in order.
struct InOrder<'p> {
    plan: &'p Plan,
    done: usize,
}

impl Schedule for InOrder<'_> {
    fn next(&mut self, _: &Manifest) -> Option<NextRepeat<'_>> {
        let slot = *self.plan.slots.get(self.done)?;
        self.done += 1;
        Some(NextRepeat { slot, trial: &self.plan.trials[slot.trial] })
    }
}

impl Replay {
    /// The recorded repeat with its samples in the new folder.
    fn repeat(&self, request: &Request, recorded: &RepeatRecord, slot: RepeatId) -> RepeatRecord {
        let samples = format!("trial-{:02}-repeat-{:02}", slot.trial, slot.repeat);
        let from = self.recorded.join("samples").join(&recorded.samples);
        copy(&from, &request.folder.file("samples").join(&samples));
        RepeatRecord { samples, start_skew_s: Available::Value(0.0), ..recorded.clone() }
    }
}
