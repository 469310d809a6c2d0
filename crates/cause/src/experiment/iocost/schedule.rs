//! The loads one after the other, each a trial of one study, then the proof under what they showed.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_host::knob::{PLACEHOLDER, RootSetting};
use assay_record::run_folder::{Manifest, RepeatRecord, WorkloadResult};
use assay_run::prepare::only_trial;
use assay_run::runner::{NextRepeat, Schedule};
use assay_study::plan::{Plan, Trial};
use assay_study::{DiskOverride, Scalar, Study, override_disk, parse, permit_erasing};
use assay_sys::exit::Error;
use assay_sys::kernel::Root;

use crate::experiment::Trials;
use crate::iocost::{
    Load, READS, Shows, Values, WRITES, model_line, model_words, pace, percentile, qos_line,
    qos_words,
};

/// The factor that names the load of a trial.
const LOAD: &str = "load";

/// Without a scheduler, and with requests as small as they are sent: one that is merged with its neighbour would
/// count as one. Each load is this study with other options of fio.
const STUDY: &str = r#"# What a disk does under one load after the other, for the parameters of iocost (assay tune --iocost).
title = "What the disk does under one load after the other"

[factors]
rw      = ["read"]
bs      = ["16M"]
iodepth = [4]
rate    = [0]

[design]
repeats = 1
at_most = "10 s"
stop    = "at_most"

[disks.scratch]
use       = "loop"
size      = "1 GiB"
scheduler = "none"
queue     = { nomerges = 1 }

[[groups]]
name = "load"
run  = "load"

[workloads.load]
use  = "fio"
args = { rw = "{rw}", bs = "{bs}", iodepth = "{iodepth}", rate_iops = "{rate}", ioengine = "libaio", direct = 1 }
"#;

/// Requests and their number, as in the kernel's script: a page, in which iocost counts sizes, where their number
/// counts.
const SMALL: (&str, u32) = ("4096", 64);

/// Large requests, of which a few are outstanding, so that the device always has the next one.
const LARGE: (&str, u32) = ("16M", 4);

/// Makes the trials of loads.
pub(super) struct LoadFactory<'a> {
    pub(super) study: &'a Study,
    pub(super) length: Duration,
    /// Plans a study for this host.
    pub(super) plan: &'a dyn Fn(&Study) -> Plan,
}

/// The study of the loads on a disk, and its text.
pub(super) fn study(disk: &DiskOverride, erase: Option<&str>) -> Result<(Study, String), Error> {
    let (study, findings) = parse("iocost", STUDY, &|_| Err(String::new()));
    let mut study = study.ok_or_else(|| {
        let all: Vec<String> = findings.iter().map(|one| one.message.clone()).collect();
        Error::host(format!("the study of the loads has mistakes: {}", all.join("; ")))
    })?;
    let usage = |why: String| Error::usage(format!("--iocost: {why}"));
    override_disk(&mut study, disk).map_err(usage)?;
    if let Some(word) = erase {
        permit_erasing(&mut study, word).map_err(usage)?;
    }
    Ok((study, STUDY.to_owned()))
}

impl LoadFactory<'_> {
    /// The trial of a load; `pace` are the requests per second of a load that measures latencies.
    pub(super) fn trial(&self, load: Load, pace: Option<u64>) -> Result<Trial, String> {
        let mut study = self.study.clone();
        study.design.at_most = self.length;
        let (bs, depth) = if load.shows == Shows::Bytes { LARGE } else { SMALL };
        let pace = i64::try_from(pace.unwrap_or(0)).unwrap_or(i64::MAX);
        for (name, value) in [
            ("rw", Scalar::Text(load.rw.to_owned())),
            ("bs", Scalar::Text(bs.to_owned())),
            ("iodepth", Scalar::Integer(depth.into())),
            ("rate", Scalar::Integer(pace)),
        ] {
            let factor = study.factors.iter_mut().find(|factor| factor.name == name);
            factor.ok_or_else(|| format!("the study has no factor `{name}`"))?.values = vec![value];
        }
        let mut trial = only_trial((self.plan)(&study))?;
        trial.factors.insert(LOAD.to_owned(), Scalar::Text(load.key.to_owned()));
        Ok(trial)
    }
}

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
    /// The loads, each with its trial, or why it has none.
    loads: Vec<(Load, Result<usize, String>)>,
    proof: Result<ProofPlan, String>,
    root: &'a Root,
    pub(super) trials: Trials,
    proof_trial: Option<usize>,
    /// The device's numbers, read while it is there.
    pub(super) numbers: Option<String>,
    position: usize,
}

/// Why a step has no result that was not taken.
const ENDED: &str = "the measurement ended before it";

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
        loads: &[Load],
        proof: Result<ProofPlan, String>,
        root: &'a Root,
        first: Trial,
    ) -> Self {
        Self {
            factory,
            proof,
            root,
            loads: loads.iter().map(|load| (*load, Err(ENDED.to_owned()))).collect(),
            trials: Trials::new(first),
            proof_trial: None,
            numbers: None,
            position: 0,
        }
    }

    /// The proof's study and trial, or why there is none.
    pub(super) fn proof(&self) -> Result<(&str, usize), String> {
        let proof = self.proof.as_ref().map_err(Clone::clone)?;
        let trial = self.proof_trial.ok_or_else(|| format!("{ENDED}, or has no model"))?;
        Ok((&proof.study, trial))
    }

    /// Loads without a value, each with the reason; a direction that was not to be measured is one.
    pub(super) fn missing(&self, manifest: &Manifest) -> BTreeMap<String, String> {
        let measured = self.measured(manifest).values;
        let lacks = READS.iter().chain(&WRITES).filter(|load| !measured.contains_key(load.key));
        lacks.map(|load| (load.key.to_owned(), self.why_missing(load, manifest))).collect()
    }

    fn why_missing(&self, load: &Load, manifest: &Manifest) -> String {
        let why = match self.loads.iter().find(|(own, _)| own == load) {
            None => "the disk may hold data and was only read; `--erase` permits writing",
            Some((_, Err(why))) => why,
            Some((_, Ok(trial))) => match repeat_of(manifest, *trial) {
                None => ENDED,
                Some(RepeatRecord { fault: Some(fault), .. }) => &fault.message,
                Some(_) => "fio reported no number for it",
            },
        };
        why.to_owned()
    }

    /// What the recorded loads show.
    pub(super) fn measured(&self, manifest: &Manifest) -> Measured {
        let repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
        let queue = repeats.flat_map(|repeat| &repeat.queues).next();
        let rotational = queue.and_then(|queue| queue.at_start.get("rotational"));
        let rotational = rotational.is_some_and(|text| text.trim() == "1");
        let values = self.loads.iter().filter_map(|(load, trial)| {
            let repeat = repeat_of(manifest, *trial.as_ref().ok()?)?;
            // A load that was interrupted has reported a rate, too.
            let result = repeat.workloads.first().filter(|_| repeat.fault.is_none())?;
            Some((load.key.to_owned(), value(load, result, percentile(rotational))?))
        });
        Measured {
            values: values.collect(),
            device: queue.map(|queue| queue.device.clone()).unwrap_or_default(),
            rotational,
        }
    }

    /// The trial of the next load or proof, as an index; `None` where this step is left out.
    fn step(&mut self, step: usize, manifest: &Manifest) -> Option<usize> {
        if let Some((load, _)) = self.loads.get(step) {
            let load = *load;
            let trial = match step {
                0 => Ok(0),
                _ => self.trial_of(load, manifest).map(|trial| self.trials.add(trial, manifest)),
            };
            self.loads[step].1.clone_from(&trial);
            self.trials.current.replace(load.key.to_owned());
            return trial.ok();
        }
        self.trials.current.replace("proof".to_owned());
        if self.proof_trial.is_none() {
            let Measured { values, rotational, .. } = self.measured(manifest);
            let model = model_words(&values)?;
            let qos = qos_words(&values, percentile(rotational));
            let trial = self.proof.as_ref().ok()?.under(&model, &qos);
            self.proof_trial = Some(self.trials.add(trial, manifest));
        }
        self.proof_trial
    }

    fn trial_of(&self, load: Load, manifest: &Manifest) -> Result<Trial, String> {
        if load.shows != Shows::Latency {
            return self.factory.trial(load, None);
        }
        let mut loads = self.loads.iter().map(|(load, _)| load);
        let before = loads.find(|before| before.rw == load.rw);
        let rate = before.and_then(|load| self.measured(manifest).values.get(load.key).copied());
        let key = before.map_or("", |load| load.key);
        let rate = rate.ok_or_else(|| format!("its rate follows from {key}, which is missing"))?;
        self.factory.trial(load, Some(pace(rate)))
    }
}

fn repeat_of(manifest: &Manifest, trial: usize) -> Option<&RepeatRecord> {
    manifest.trials.get(trial)?.repeats.first()
}

impl Schedule for IoCostSchedule<'_> {
    fn next(&mut self, manifest: &Manifest) -> Option<NextRepeat<'_>> {
        if self.numbers.is_none() {
            let device = self.measured(manifest).device;
            let file = format!("/sys/block/{device}/dev");
            self.numbers = self.root.read_trimmed(file).ok().filter(|_| !device.is_empty());
        }
        let proofs = self.proof.as_ref().map_or(0, |proof| proof.repeats as usize);
        while self.position < self.loads.len() + proofs {
            self.position += 1;
            if let Some(trial) = self.step(self.position - 1, manifest) {
                return Some(self.trials.repeat(trial, manifest));
            }
        }
        None
    }
}

/// What a load showed, from what fio reports: bytes or requests per second, or microseconds.
fn value(load: &Load, result: &WorkloadResult, percentile: u32) -> Option<f64> {
    let word = load.rw.strip_prefix("rand").unwrap_or(load.rw);
    let metric = |name: &str| result.metrics.get(&format!("{word}_{name}")).copied();
    let value = match load.shows {
        Shows::Bytes => metric("bytes")? / result.runtime_s?,
        Shows::Requests => metric("iops")?,
        Shows::Latency => {
            result.latency.get(word)?.percentiles_ns.get(&percentile.to_string())? / 1e3
        }
    };
    (value.is_finite() && value > 0.0 && result.failure.is_none()).then_some(value)
}
