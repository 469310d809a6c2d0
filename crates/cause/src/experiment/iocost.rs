//! The parameters of iocost for a disk: measured, and proven with weights, in one run.

mod schedule;

use std::time::Duration;

use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, RunFolder};
use assay_run::context::Context;
use assay_run::load::{Loaded, load};
use assay_run::observer::Observer;
use assay_run::overrides::StudyChoice;
use assay_run::prepare::{Destination, facts_for, plan_for};
use assay_run::runner::{Finished, Request};
use assay_study::{DiskOverride, Study, override_disk, override_scheduler, permit_erasing};
use assay_sys::exit::{Code, Error};

use crate::conclude::judge_finished;
use crate::experiment;
use crate::iocost::{
    IoCost, Load, Proof, READS, WRITES, hwdb, model_line, model_words, percentile, qos_line,
    qos_words,
};
use schedule::{IoCostSchedule, LoadFactory, Measured, ProofPlan};

/// Starts of the proof: fewer decide nothing.
const PROOFS: u32 = 8;

/// The longest start of the proof: the scatter between starts decides, and longer ones do not lessen it.
const LONGEST_PROOF: f64 = 3.0;

/// The shortest and the longest time of one load.
const SHORTEST: f64 = 1.0;
const LONGEST: f64 = 120.0;

/// The part of the time that the loads have.
const LOADS: f64 = 0.6;

/// How a disk is measured.
#[derive(Debug, Clone)]
pub struct IoCostOptions {
    /// The disk, as for `--disk`.
    pub disk: DiskOverride,
    /// Permission to write to that disk: its serial number, its size or what is on it.
    pub erase: Option<String>,
    /// Total time.
    pub length: Duration,
    /// The study of weights that proves the result, without a disk or scheduler of its own choice.
    pub proof: StudyChoice,
    /// The run folder.
    pub destination: Destination,
}

/// The result of a measurement.
#[derive(Debug)]
pub struct IoCostMeasured {
    /// What was found, also `iocost.json` of the run folder.
    pub found: IoCost,
    /// The run folder.
    pub folder: RunFolder,
    /// The exit code.
    pub code: Code,
}

/// Measures what iocost needs to know of a disk, and proves it with a study of weights where the host has iocost.
/// Nothing is applied. An image of its own and a disk with `erase` are written to, others are only read.
///
/// # Errors
/// The disk is in use or not blank, this host cannot run the loads, or the folder cannot be created. Nothing was
/// touched.
pub fn measure_iocost(
    context: &Context,
    options: &IoCostOptions,
    observer: &mut dyn Observer,
) -> Result<IoCostMeasured, Error> {
    let (study, text) = schedule::study(&options.disk, options.erase.as_deref())?;
    let proof_study = proof_study(options)?;
    let facts = facts_for(context, &study)?;
    let plan_study = |study: &Study| plan_for(context, study, &facts, 0);
    let loads = loads_for(&options.disk, options.erase.as_deref());
    let share = options.length.as_secs_f64() * LOADS / loads.len() as f64;
    let length = Duration::from_secs_f64(share.clamp(SHORTEST, LONGEST));
    let factory = LoadFactory { study: &study, length, plan: &plan_study };
    let first = factory.trial(loads[0], None).map_err(|why| {
        Error::host(format!("the disk cannot be measured: {why}")).note("nothing was touched")
    })?;
    let proof = ProofPlan::new(&proof_study, PROOFS, &mut plan_study(&proof_study));
    let loaded = Loaded::derived(study.clone(), &text);
    let to = (&options.destination, "iocost", options.proof.seed);
    let first = (loads[0].key.to_owned(), first);
    let (request, first) = experiment::request(context, loaded, first, facts.clone(), to)?;
    let mut schedule = IoCostSchedule::new(factory, &loads, proof, &context.root, first);
    let what = (schedule.trials.current(), options.length);
    let finished = experiment::run(context, &request, &mut schedule, what, observer)?;
    conclude(&request, &finished, &schedule, options, observer)
}

/// Reads for every disk; writes, before them, only where nothing can be lost: on an own image, or with permission.
fn loads_for(disk: &DiskOverride, erase: Option<&str>) -> Vec<Load> {
    match erase.is_some() || !matches!(disk, DiskOverride::Block(_)) {
        // What was never written may be read without the medium.
        true => [WRITES, READS].concat(),
        false => READS.to_vec(),
    }
}

/// The study of weights on the same disk, without a scheduler that would divide it itself.
fn proof_study(options: &IoCostOptions) -> Result<Study, Error> {
    let refuse = |why: String| {
        let proof = &options.proof.study;
        Error::usage(format!(
            "--iocost: the study `{proof}` cannot prove anything about a disk: {why}\n  hint: name a study of weights \
             with one disk, or no study for `io-weight`"
        ))
        .note("nothing was touched")
    };
    let mut study = load(&options.proof)?.study;
    override_disk(&mut study, &options.disk).map_err(refuse)?;
    override_scheduler(&mut study, "none").map_err(refuse)?;
    if let Some(word) = &options.erase {
        permit_erasing(&mut study, word).map_err(refuse)?;
    }
    let length = options.length.as_secs_f64() * (1.0 - LOADS) / f64::from(PROOFS);
    study.design.at_most = Duration::from_secs_f64(length.clamp(SHORTEST, LONGEST_PROOF));
    study.design.repeats = PROOFS;
    study.design.stop = assay_study::Stop::AtMost;
    study.promises.retain(|promise| !promise.is.is_cross_trial());
    Ok(study)
}

fn conclude(
    request: &Request,
    finished: &Finished,
    schedule: &IoCostSchedule<'_>,
    options: &IoCostOptions,
    observer: &mut dyn Observer,
) -> Result<IoCostMeasured, Error> {
    let judgement = judge_finished(request, finished, observer).map_err(Error::host)?;
    let ended_early = finished.interrupted.is_some() || finished.failure.is_some();
    let mut found = found(&options.disk, schedule, &finished.manifest, &judgement);
    found.ended_early = ended_early;
    if ended_early {
        // Not for every disk of this model.
        found.hwdb.clear();
    }
    request.folder.write_json("iocost.json", &found).map_err(Error::host)?;
    let own = match (&found.model, &found.proof) {
        (None, _) => Code::Host,
        (Some(_), Some(proof)) => proof.verdict.code(),
        (Some(_), None) => Code::Kept,
    };
    let code = match finished.code(Some(own)) {
        // A load that fails is missing in the result, which says so.
        Code::Workload if found.model.is_some() => own,
        code => code,
    };
    Ok(IoCostMeasured { found, folder: request.folder.clone(), code })
}

/// What stands for the numbers of a disk that could not be read.
const NO_NUMBERS: &str = "MAJ:MIN";

/// The parameters of a disk, with what is missing.
fn found(
    disk: &DiskOverride,
    schedule: &IoCostSchedule<'_>,
    manifest: &Manifest,
    judgement: &Judgement,
) -> IoCost {
    let Measured { values, device, rotational } = schedule.measured(manifest);
    let percentile = percentile(rotational);
    let words = model_words(&values);
    let qos = qos_words(&values, percentile);
    let numbers = schedule.numbers.as_deref().unwrap_or(NO_NUMBERS).to_owned();
    let model_name = model_name(manifest, &device);
    let mut not_available = schedule.missing(manifest);
    if model_name.is_none() {
        let why = "the disk has no model name in sysfs";
        not_available.insert("hwdb".to_owned(), why.to_owned());
    }
    let proof = proof(schedule, judgement);
    if let Err(why) = &proof {
        not_available.insert("proof".to_owned(), why.clone());
    }
    let entry = model_name.as_ref().zip(words.as_ref());
    IoCost {
        schema: 1,
        disk: disk.to_string(),
        hwdb: entry.map(|(name, words)| hwdb(name, words, &qos)).unwrap_or_default(),
        model: words.as_ref().map(|words| model_line(&numbers, words)),
        qos: words.as_ref().map(|_| qos_line(&numbers, &qos)),
        device,
        numbers,
        model_name,
        measured: values,
        percentile,
        proof: proof.ok(),
        not_available,
        ended_early: false,
    }
}

fn model_name(manifest: &Manifest, device: &str) -> Option<String> {
    let disk = manifest.host.disks.iter().find(|disk| disk.name == device)?;
    disk.model.clone().filter(|model| !model.trim().is_empty())
}

fn proof(schedule: &IoCostSchedule<'_>, judgement: &Judgement) -> Result<Proof, String> {
    let (study, trial) = schedule.proof()?;
    let trial = judgement.trials.get(trial).ok_or("its trial was not judged")?;
    let reason = trial.promises.first().map(|promise| promise.reason.clone());
    Ok(Proof {
        study: study.to_owned(),
        verdict: trial.verdict,
        reason: reason.unwrap_or_default(),
        repeats: trial.repeats,
    })
}

#[cfg(test)]
mod tests;
