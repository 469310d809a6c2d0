//! The loads one after the other, then the proof under what they showed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use assay_intervention::iocost::{
    Direction, Load, Values, model_line, model_words, pace, percentile, qos_line, qos_words,
};
use assay_kernel::Root;
use assay_knob::{PLACEHOLDER, RootSetting};
use assay_plan::{Plan, RepeatId, Trial};
use assay_run_folder::{Manifest, RepeatRecord, WorkloadResult};
use assay_runner::{NextRepeat, Schedule};
use assay_study::{Scalar, Study};

use super::loads::LoadFactory;
use crate::observer::CurrentSetting;

/// A study of weights that proves the parameters.
pub(super) struct ProofPlan {
    pub(super) study: String,
    trial: Trial,
    repeats: u32,
}

/// What was measured so far, and of which disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) values: Values,
    pub(super) device: String,
    pub(super) rotational: bool,
}

/// The schedule of a measurement.
pub(super) struct IoCostSchedule<'a> {
    factory: LoadFactory<'a>,
    loads: Vec<Load>,
    proof: Result<ProofPlan, String>,
    root: &'a Root,
    /// In the order of the manifest.
    trials: Vec<Trial>,
    /// Loads with their trials.
    trial_of: BTreeMap<Load, usize>,
    /// Why a load has no trial.
    skipped: BTreeMap<Load, String>,
    proof_trial: Option<usize>,
    /// The device's numbers, read while it is there.
    numbers: Option<String>,
    position: usize,
    current: CurrentSetting,
}

impl ProofPlan {
    /// The only trial of a study whose weights are divided by iocost, or why there is none.
    pub(super) fn new(study: &Study, repeats: u32, plan: &mut Plan) -> Result<Self, String> {
        if let Some(refusal) = plan.refusals.first() {
            return Err(refusal.what.clone());
        }
        if plan.trials.len() != 1 {
            let trials = plan.trials.len();
            return Err(format!("{} has {trials} trials; choose one with `--set`", study.name));
        }
        let trial = plan.trials.remove(0);
        let knobs = || trial.groups.iter().flat_map(|group| &group.knobs);
        if !knobs().any(|knob| knob.translation.obeyed_by.as_deref() == Some("iocost")) {
            return Err(format!("{} has no weights that iocost divides by", study.name));
        }
        Ok(Self { study: study.name.clone(), trial, repeats })
    }

    /// Its trial under these parameters, which replace those of the study's disk.
    fn under(&self, model: &str, qos: &str) -> Trial {
        let mut trial = self.trial.clone();
        let setting = |file: &str, value_template: String| RootSetting {
            file: file.to_owned(),
            value_template,
        };
        for knob in trial.groups.iter_mut().flat_map(|group| &mut group.knobs) {
            if knob.translation.obeyed_by.as_deref() == Some("iocost") {
                knob.translation.root_settings = vec![
                    setting("io.cost.model", model_line(PLACEHOLDER, model)),
                    setting("io.cost.qos", qos_line(PLACEHOLDER, qos)),
                ];
            }
        }
        trial.factors.insert("load".to_owned(), Scalar::Text("proof".to_owned()));
        trial
    }
}

impl<'a> IoCostSchedule<'a> {
    /// A schedule whose first load has this trial.
    pub(super) fn new(
        factory: LoadFactory<'a>,
        loads: Vec<Load>,
        proof: Result<ProofPlan, String>,
        root: &'a Root,
        first: Trial,
    ) -> Self {
        Self {
            factory,
            proof,
            root,
            trial_of: loads.first().map(|load| (*load, 0)).into_iter().collect(),
            loads,
            trials: vec![first],
            skipped: BTreeMap::new(),
            proof_trial: None,
            numbers: None,
            position: 0,
            current: Rc::new(RefCell::new(String::new())),
        }
    }

    /// Where the name of the current load is written to.
    pub(super) fn current(&self) -> CurrentSetting {
        Rc::clone(&self.current)
    }

    /// The numbers of the disk, if they could be read while it was there.
    pub(super) fn numbers(&self) -> Option<&str> {
        self.numbers.as_deref()
    }

    /// The proof's study and trial, or why there is none.
    pub(super) fn proof(&self) -> Result<(&str, usize), String> {
        let proof = self.proof.as_ref().map_err(Clone::clone)?;
        let trial = self.proof_trial.ok_or("the measurement ended before it, or has no model")?;
        Ok((&proof.study, trial))
    }

    /// Loads without a value, each with the reason; a direction that was not to be measured is one.
    pub(super) fn missing(&self, manifest: &Manifest) -> BTreeMap<String, String> {
        let measured = self.measured(manifest).values;
        let both = [Direction::Read, Direction::Write].into_iter().flat_map(Load::in_direction);
        let lacks = both.filter(|load| !measured.contains_key(&load.key()));
        lacks.map(|load| (load.key(), self.why_missing(load, manifest))).collect()
    }

    fn why_missing(&self, load: Load, manifest: &Manifest) -> String {
        if !self.loads.contains(&load) {
            return "the disk may hold data and was only read; `--erase` permits writing"
                .to_owned();
        }
        if let Some(why) = self.skipped.get(&load) {
            return why.clone();
        }
        let repeat = self.repeat_of(load, manifest);
        let fault = repeat.and_then(|repeat| repeat.fault.as_ref());
        match (repeat, fault) {
            (_, Some(fault)) => fault.message.clone(),
            (Some(_), None) => "fio reported no number for it".to_owned(),
            (None, None) => "the measurement ended before it".to_owned(),
        }
    }

    fn repeat_of<'m>(&self, load: Load, manifest: &'m Manifest) -> Option<&'m RepeatRecord> {
        manifest.trials.get(*self.trial_of.get(&load)?)?.repeats.first()
    }

    /// What the recorded loads show.
    pub(super) fn measured(&self, manifest: &Manifest) -> Measured {
        let repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
        let queue = repeats.flat_map(|repeat| &repeat.queues).next();
        let rotational = queue.and_then(|queue| queue.at_start.get("rotational"));
        let rotational = rotational.is_some_and(|text| text.trim() == "1");
        let values = self.trial_of.keys().filter_map(|load| {
            // A load that was interrupted has reported a rate, too.
            let whole = self.repeat_of(*load, manifest).filter(|repeat| repeat.fault.is_none());
            let result = whole?.workloads.first()?;
            Some((load.key(), value(*load, result, percentile(rotational))?))
        });
        Measured {
            values: values.collect(),
            device: queue.map(|queue| queue.device.clone()).unwrap_or_default(),
            rotational,
        }
    }

    /// The trial of the next load or proof, as an index; `None` where this step is left out.
    fn step(&mut self, step: usize, manifest: &Manifest) -> Option<usize> {
        let new = if step == 0 { 0 } else { manifest.trials.len() };
        if let Some(load) = self.loads.get(step).copied() {
            if step > 0 {
                let trial = self.trial_of_load(load, manifest);
                let trial = trial.map_err(|why| self.skipped.insert(load, why)).ok()?;
                self.push(new, trial);
            }
            self.trial_of.insert(load, new);
            self.current.replace(load.key());
            return Some(new);
        }
        self.current.replace("proof".to_owned());
        if self.proof_trial.is_none() {
            let Measured { values, rotational, .. } = self.measured(manifest);
            let model = model_words(&values)?;
            let qos = qos_words(&values, percentile(rotational));
            let trial = self.proof.as_ref().ok()?.under(&model, &qos);
            self.push(new, trial);
            self.proof_trial = Some(new);
        }
        self.proof_trial
    }

    fn push(&mut self, new: usize, trial: Trial) {
        self.trials.truncate(new);
        self.trials.push(trial);
    }

    fn trial_of_load(&self, load: Load, manifest: &Manifest) -> Result<Trial, String> {
        let Load::Latency(direction) = load else { return self.factory.trial(load, None) };
        let key = Load::Random(direction).key();
        let rate = self.measured(manifest).values.get(&key).copied();
        let rate = rate.ok_or_else(|| format!("its rate follows from {key}, which is missing"))?;
        self.factory.trial(load, Some(pace(rate)))
    }

    fn steps(&self) -> usize {
        let proofs = self.proof.as_ref().map_or(0, |proof| proof.repeats as usize);
        self.loads.len() + proofs
    }
}

impl Schedule for IoCostSchedule<'_> {
    fn next(&mut self, manifest: &Manifest) -> Option<NextRepeat<'_>> {
        if self.numbers.is_none() {
            let device = self.measured(manifest).device;
            let file = format!("/sys/block/{device}/dev");
            self.numbers = self.root.read_trimmed(file).ok().filter(|_| !device.is_empty());
        }
        while self.position < self.steps() {
            let step = self.position;
            self.position += 1;
            if let Some(trial) = self.step(step, manifest) {
                let repeat = manifest.trials.get(trial).map_or(0, |known| known.repeats.len());
                let slot = RepeatId { trial, repeat: u32::try_from(repeat).unwrap_or(u32::MAX) };
                return Some(NextRepeat { slot, trial: &self.trials[trial] });
            }
        }
        None
    }
}

/// What a load showed, from what fio reports: bytes or requests per second, or microseconds.
fn value(load: Load, result: &WorkloadResult, percentile: u32) -> Option<f64> {
    let word = load.direction().word();
    let metric = |name: &str| result.metrics.get(&format!("{word}_{name}")).copied();
    let value = match load {
        Load::Bytes(_) => metric("bytes")? / result.runtime_s?,
        Load::Sequential(_) | Load::Random(_) => metric("iops")?,
        Load::Latency(_) => {
            result.latency.get(word)?.percentiles_ns.get(&percentile.to_string())? / 1e3
        }
    };
    (value.is_finite() && value > 0.0 && result.failure.is_none()).then_some(value)
}
