//! Computes a [`Prediction`] of a plan.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use assay_plan::{Plan, Trial};
use assay_run_folder::PromiseRecord;
use assay_verdict::{
    Basis, KneePrediction, Prediction, PromisePrediction, TrialPrediction, Verdict,
};
use serde_json::Value;

use crate::calibration::Costs;
use crate::from_plan::{PlannedTrial, from_plan};
use crate::predict::disk::Answer;
use crate::supported::as_shown_by_run;
use crate::validated_range::out_of_range;

mod cpu;
mod disk;

/// Largest number of groups tried at least when searching for the number from which on a promise breaks.
const SEARCHED_TO: usize = 64;

/// Predicts every trial of a plan. `costs` are those of the calibration named by `basis`; without those of its
/// requests a trial has no predicted throughput. `seed` is the plan's.
#[must_use]
pub fn predict(
    study: &str,
    plan: &Plan,
    facts: &HostFacts,
    costs: &Costs,
    basis: Basis,
    seed: u64,
) -> Prediction {
    let repeats = |trial: usize| plan.slots.iter().filter(|slot| slot.trial == trial).count();
    let each = plan.trials.iter().enumerate();
    let trials: Vec<TrialPrediction> =
        each.map(|(index, trial)| predict_trial(trial, repeats(index), facts, costs)).collect();
    let knees = knees(plan, facts, costs);
    let verdicts: Vec<Verdict> =
        trials.iter().flat_map(|trial| &trial.promises).filter_map(|one| one.verdict).collect();
    let length = |slot: &assay_plan::RepeatId| {
        plan.trials.get(slot.trial).map_or(0.0, |trial| trial.at_most.as_secs_f64())
    };
    Prediction {
        schema: 1,
        study: study.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        calibration: basis,
        verdict: (!verdicts.is_empty()).then(|| Verdict::worst(verdicts)),
        trials,
        knees,
        run_s: plan.slots.iter().map(length).sum(),
    }
}

fn factors(trial: &Trial) -> BTreeMap<String, Value> {
    let value = |scalar| serde_json::to_value(scalar).unwrap_or(Value::Null);
    trial.factors.iter().map(|(name, scalar)| (name.clone(), value(scalar))).collect()
}

fn predict_trial(
    trial: &Trial,
    repeats: usize,
    facts: &HostFacts,
    costs: &Costs,
) -> TrialPrediction {
    let of_disk = trial.promises.iter().any(|promise| promise.measure.starts_with("io."));
    let planned = if of_disk { Some(from_plan(trial, facts, costs)) } else { None };
    let answer = match &planned {
        Some(Ok(planned)) => Some((planned, Answer::new(planned))),
        _ => None,
    };
    let refusal = match &planned {
        Some(Err(why)) => Some(why.clone()),
        _ => None,
    };
    let by_formula = |promise: &PromiseRecord| match promise.measure.as_str() {
        "io.bytes" | "io.ios" => match &answer {
            Some((_, answer)) => answer.promise(promise),
            None => not_available(promise, refusal.clone().unwrap_or_default()),
        },
        "cpu.time" => cpu::promise(trial, facts, promise),
        other => not_available(promise, format!("the model has no `{other}`")),
    };
    let promises = trial.promises.iter();
    let promises = promises.map(|one| as_shown_by_run(by_formula(one), one, repeats));
    TrialPrediction {
        factors: factors(trial),
        promises: promises.collect(),
        assumed: answer.as_ref().map(|(planned, _)| planned.assumed.clone()).unwrap_or_default(),
        outside: answer.as_ref().map(|(planned, _)| out_of_range(planned)).unwrap_or_default(),
    }
}

/// A promise for which there is no prediction.
fn not_available(promise: &PromiseRecord, why: String) -> PromisePrediction {
    PromisePrediction {
        measure: promise.measure.clone(),
        within: promise.within,
        not_available: Some(why),
        verdict: None,
        reason: String::new(),
        worst_error: None,
        total_rate: None,
        idle: None,
        queue: None,
        groups: Vec::new(),
    }
}

/// One search for each promise on a disk's shares and each combination of the factors other than the number
/// of groups.
fn knees(plan: &Plan, facts: &HostFacts, costs: &Costs) -> Vec<KneePrediction> {
    let mut families: Vec<(BTreeMap<String, Value>, Vec<usize>)> = Vec::new();
    for (number, trial) in plan.trials.iter().enumerate() {
        let held = held(trial, plan);
        match families.iter_mut().find(|(other, _)| *other == held) {
            Some((_, numbers)) => numbers.push(number),
            None => families.push((held, vec![number])),
        }
    }
    let mut predictions = Vec::new();
    for (held, numbers) in families {
        let size = |number: &usize| plan.trials[*number].groups.len();
        let Some(largest) = numbers.iter().copied().max_by_key(size) else { continue };
        let Ok(planned) = from_plan(&plan.trials[largest], facts, costs) else { continue };
        let to = (2 * size(&largest)).next_power_of_two().max(SEARCHED_TO);
        for promise in plan.trials[largest].promises.iter().filter(|one| is_proportional(one)) {
            let breaks_at = powers(to).find(|count| breaks_with(&planned, promise, *count));
            predictions.push(KneePrediction {
                held: held.clone(),
                measure: promise.measure.clone(),
                within: promise.within,
                breaks_at,
                searched_to: to,
            });
        }
    }
    predictions
}

/// 2, 4, 8, .. up to a number.
fn powers(to: usize) -> impl Iterator<Item = usize> {
    (1..usize::BITS).map(|power| 1_usize << power).take_while(move |count| *count <= to)
}

fn is_proportional(promise: &PromiseRecord) -> bool {
    promise.measure.starts_with("io.") && promise.is.divided_by().is_some()
}

/// The factors other than the number of groups.
fn held(trial: &Trial, plan: &Plan) -> BTreeMap<String, Value> {
    let counts = |name: &str| {
        plan.trials.iter().all(|trial| {
            let value = trial.factors.get(name).map(ToString::to_string);
            value == Some(trial.groups.len().to_string())
        })
    };
    factors(trial).into_iter().filter(|(name, _)| !counts(name)).collect()
}

/// Whether the promise breaks with this many groups.
fn breaks_with(planned: &PlannedTrial, promise: &PromiseRecord, count: usize) -> bool {
    let scenario = planned.scenario.with_groups(count);
    Answer::new(&PlannedTrial { scenario, ..planned.clone() }).breaks(promise)
}
