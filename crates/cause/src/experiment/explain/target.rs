//! The trial to be explained: the one that was asked for, or the smallest failed trial of a run, as a study with one trial.

use assay_judge::laws::{Cap, group_caps};
use assay_judge::verdict::{Cause, Judgement, PromiseJudgement, Verdict};
use assay_record::run_folder::{Manifest, RepeatRecord, TrialRecord};
use assay_run::load::reload;
use assay_run::overrides::StudyChoice;
use assay_stats::rule::FEWEST;
use assay_study::{Bindings, Scalar, Study, set_factors};
use assay_sys::exit::Error;

/// The part of a pool by which caps are computed that shall hold what groups keep outstanding.
const SPARE: f64 = 0.8;

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
    /// Finds the target: the trial of this number, counted from 1, or the smallest that failed.
    pub(crate) fn find(
        manifest: &Manifest,
        judgement: &Judgement,
        trial: Option<usize>,
    ) -> Result<Self, Error> {
        let found = match trial {
            Some(number) => Some(requested(judgement, number)?),
            None => smallest(manifest, judgement),
        };
        let Some((number, promise)) = found else {
            return Err(Error::usage(nothing_failed(judgement.verdict)));
        };
        let trial = &manifest.trials[number];
        let never_ran = || Error::usage("the trial that failed never ran");
        let repeat = trial.repeats.first().ok_or_else(never_ran)?;
        let mut study = recorded_study(manifest)?;
        let factors = bind(&mut study, trial)?;
        let mut judged = judgement.trials[number].promises[promise].clone();
        // What a few starts broke is explained as well; its own rounds show whether it recurs.
        if is_broken(&judged) {
            judged.verdict = Verdict::Broken;
        }
        Ok(Self {
            number,
            study,
            factors,
            promise,
            trial: trial.clone(),
            judged,
            repeat: repeat.clone(),
            at_most_s: trial.at_most_s,
            outstanding: outstanding(trial),
        })
    }

    /// Whether BFQ lets each group hold of a pool of this size what it keeps outstanding, divided by this: one request for each
    /// thread at least. With a place to spare, since a group that keeps just its cap is over it while a request that it has
    /// back is not freed yet, and may then wait for a minute (docs/findings/bfq-cap), and a fifth of the pool.
    pub(crate) fn has_room(&self, pool: u32, by: u32) -> bool {
        let pool = f64::from(pool);
        self.caps(pool).iter().zip(self.caps(SPARE * pool)).all(|(cap, less)| {
            let name = &self.judged.groups[cap.group].name;
            let group = self.trial.groups.iter().find(|group| group.name == *name);
            let workloads = group.into_iter().flat_map(|group| &group.workloads);
            let rest = workloads.map(|workload| {
                let divided = workload.io.outstanding.unwrap_or(0) / by;
                f64::from(divided.max(workload.threads.unwrap_or(1)))
            });
            // Requests that merge count once.
            let rest = rest.sum::<f64>().min(cap.demand);
            cap.with_demand(rest).has_spare_place() && !less.with_demand(rest).binds()
        })
    }

    fn caps(&self, pool: f64) -> Vec<Cap> {
        let of_io = self.judged.measure.starts_with("io.");
        let queue = self.repeat.queues.first();
        let is_bfq = queue.is_some_and(|queue| queue.scheduler_at_start == "bfq");
        if !(of_io && is_bfq && self.judged.divides_by_knob()) {
            return Vec::new();
        }
        let groups = self.judged.groups.iter();
        let shares = groups.map(|group| (group.name.as_str(), group.expected_share));
        group_caps(&self.trial, shares, pool)
    }

    /// The suspected causes, most likely first.
    pub(crate) fn suspects(&self) -> &[Cause] {
        &self.judged.causes
    }
}

/// The promise to explain of the trial with this number, counted from 1.
fn requested(judgement: &Judgement, number: usize) -> Result<(usize, usize), Error> {
    let of = judgement.trials.len();
    let trial = number.checked_sub(1).and_then(|index| judgement.trials.get(index));
    let trial = trial.ok_or_else(|| {
        Error::usage(format!("the run has no trial {number}\n  hint: it has the trials 1 to {of}"))
    })?;
    let failed = |is: &dyn Fn(&PromiseJudgement) -> bool| trial.promises.iter().position(is);
    let promise = failed(&is_broken).or_else(|| failed(&is_void));
    promise.map(|promise| (number - 1, promise)).ok_or_else(|| {
        Error::usage(format!(
            "no promise of trial {number} is broken or void (its verdict: {})\n  hint: without --trial the smallest \
             trial that failed is explained",
            trial.verdict.word()
        ))
    })
}

fn is_void(promise: &PromiseJudgement) -> bool {
    promise.verdict == Verdict::Void
}

/// Broken, or outside in fewer starts than a verdict takes.
fn is_broken(promise: &PromiseJudgement) -> bool {
    let was = promise.was.as_ref();
    let in_few = was.is_some_and(|was| was.verdict == Verdict::Broken && was.repeats < FEWEST);
    promise.verdict == Verdict::Broken || promise.verdict == Verdict::Undecided && in_few
}

/// Why a run of this verdict is not diagnosed.
fn nothing_failed(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Kept => "every promise of this run is kept: there is nothing to diagnose",
        _ => {
            "no promise of this run is broken or void\n  hint: more repeats decide an undecided one; \
             `assay judge RUN` says how many"
        }
    }
}

/// The trial with the fewest groups, broken ones before void ones, and its failed promise.
fn smallest(manifest: &Manifest, judgement: &Judgement) -> Option<(usize, usize)> {
    let failing = |is: &dyn Fn(&PromiseJudgement) -> bool| {
        let trials = judgement.trials.iter().enumerate();
        let failed = trials.filter_map(|(number, trial)| {
            let promise = trial.promises.iter().position(is)?;
            Some((manifest.trials.get(number)?.groups.len(), number, promise))
        });
        failed.min()
    };
    failing(&is_broken).or_else(|| failing(&is_void)).map(|(_, number, promise)| (number, promise))
}

/// The recorded study with the overrides of its run.
fn recorded_study(manifest: &Manifest) -> Result<Study, Error> {
    let record = manifest.study_choice.as_ref();
    let choice = record.and_then(|record| StudyChoice::from_record(record, manifest.seed));
    let choice = choice.ok_or_else(|| {
        Error::usage(format!(
            "the run was not made by `assay run` of this version (`{}`)\n  hint: run the study again \
             with `assay run`",
            assay_sys::escape::shell_words(&manifest.command)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_undecided_run_is_told_to_repeat() {
        assert!(!nothing_failed(Verdict::Kept).contains("repeats"));
        assert!(nothing_failed(Verdict::Undecided).contains("more repeats decide"));
    }
}
