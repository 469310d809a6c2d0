//! The trial to be explained: the smallest failed trial of a run, as a study with one trial.

use assay_run_folder::{Manifest, RepeatRecord, TrialRecord};
use assay_study::{Bindings, Scalar, Study, set_factors};
use assay_verdict::{Cause, Judgement, PromiseJudgement, Verdict};

use crate::error::Error;
use crate::load::reload;
use crate::overrides::StudyChoice;

/// A trial and its promise to be explained.
pub(crate) struct Target {
    /// Index of the trial in the run.
    pub(crate) number: usize,
    /// The study with only this trial's value of each factor.
    pub(crate) study: Study,
    /// The value of each factor.
    pub(crate) factors: Bindings,
    /// Index of the promise in the trial.
    pub(crate) promise: usize,
    /// The recorded trial.
    pub(crate) trial: TrialRecord,
    /// The judgement of the promise.
    pub(crate) judged: PromiseJudgement,
    /// The record of its first repeat, for the attributes of queues.
    pub(crate) repeat: RepeatRecord,
    /// Maximum length of its repeats, seconds.
    pub(crate) at_most_s: f64,
    /// Requests that all workloads together keep outstanding, if known.
    pub(crate) outstanding: Option<u32>,
}

impl Target {
    /// Finds the target.
    pub(crate) fn find(manifest: &Manifest, judgement: &Judgement) -> Result<Self, Error> {
        let Some((number, promise)) = smallest(manifest, judgement) else {
            return Err(Error::usage(format!(
                "no promise of this run is broken or void (its verdict: {:?})\n  hint: an undecided \
                 run needs more time, see `needs_s` in verdict.json",
                judgement.verdict
            )));
        };
        let trial = &manifest.trials[number];
        let never_ran = || Error::usage("the trial that failed never ran");
        let repeat = trial.repeats.first().ok_or_else(never_ran)?;
        let mut study = recorded_study(manifest)?;
        let factors = bind(&mut study, trial)?;
        Ok(Self {
            number,
            study,
            factors,
            promise,
            trial: trial.clone(),
            judged: judgement.trials[number].promises[promise].clone(),
            repeat: repeat.clone(),
            at_most_s: trial.at_most_s,
            outstanding: outstanding(trial),
        })
    }

    /// The suspected causes, most likely first.
    pub(crate) fn suspects(&self) -> &[Cause] {
        &self.judged.causes
    }
}

/// The trial with the fewest groups, broken ones before void ones, and its failed promise.
fn smallest(manifest: &Manifest, judgement: &Judgement) -> Option<(usize, usize)> {
    let failing = |verdict: Verdict| {
        let trials = judgement.trials.iter().enumerate();
        let failed = trials.filter_map(|(number, trial)| {
            let promise = trial.promises.iter().position(|one| one.verdict == verdict)?;
            Some((manifest.trials.get(number)?.groups.len(), number, promise))
        });
        failed.min()
    };
    failing(Verdict::Broken)
        .or_else(|| failing(Verdict::Void))
        .map(|(_, number, promise)| (number, promise))
}

/// The recorded study with the overrides of its run.
fn recorded_study(manifest: &Manifest) -> Result<Study, Error> {
    if let Some(guest) = &manifest.guest {
        return Err(Error::usage(format!(
            "the run took place in a guest ({})\n  hint: run `assay explain` in such a guest \
             (`assay lab exec`)",
            guest.line()
        )));
    }
    let record = manifest.study_choice.as_ref();
    let choice = record.and_then(|record| StudyChoice::from_record(record, manifest.seed));
    let choice = choice.ok_or_else(|| {
        Error::usage(format!(
            "the run was not made by `assay run` of this version (`{}`)\n  hint: run the study again \
             with `assay run`",
            assay_escape::shell_words(&manifest.command)
        ))
    })?;
    reload(&manifest.study, &manifest.study_text, &choice)
}

/// Reduces each factor to its value in the trial.
fn bind(study: &mut Study, trial: &TrialRecord) -> Result<Bindings, Error> {
    let mut factors = Bindings::new();
    for (name, value) in &trial.factors {
        let scalar = match value {
            serde_json::Value::Bool(value) => Scalar::Boolean(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => Scalar::Integer(whole),
                None => Scalar::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Scalar::Text(text.clone()),
            _ => continue,
        };
        factors.insert(name.clone(), scalar);
    }
    // Set all at once: some values are valid only together.
    let levels = factors.iter().map(|(name, scalar)| (name.clone(), vec![scalar.clone()]));
    if let Err(findings) = set_factors(study, levels.collect()) {
        let why = findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
        let what = format!("the factors cannot be set as they were in the trial: {why}");
        return Err(Error::usage(what));
    }
    Ok(factors)
}

fn outstanding(trial: &TrialRecord) -> Option<u32> {
    let workloads = trial.groups.iter().flat_map(|group| &group.workloads);
    workloads.map(|workload| workload.io.outstanding).sum()
}
