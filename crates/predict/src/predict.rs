//! Plan -> [`Prediction`].

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use assay_plan::{Plan, Trial};
use assay_run_folder::{PromiseRecord, RelationRecord};
use assay_verdict::Verdict;
use assay_verdict::{Basis, KneePrediction, Prediction, PromisePrediction, TrialPrediction};
use serde_json::Value;

use crate::calibration::Costs;
use crate::from_plan::{PlannedTrial, from_plan};
use crate::predict::disk::Answer;
use crate::validated_range::outside;

mod cpu;
mod disk;

/// How many groups are tried at least in search of the number from which on a promise breaks.
const SEARCHED_TO: usize = 64;

/// Predicts every trial of a plan. `costs` are those of the calibration that `basis` names; kinds
/// of requests that are not in it are assumed, and the trial says so.
#[must_use]
pub fn predict(
    study: &str,
    plan: &Plan,
    facts: &HostFacts,
    costs: &Costs,
    basis: Basis,
    seed: u64,
) -> Prediction {
    let trials: Vec<TrialPrediction> =
        plan.trials.iter().map(|trial| of_trial(trial, facts, costs, seed)).collect();
    let knees = knees(plan, &trials, facts, costs, seed);
    let verdicts: Vec<Verdict> =
        trials.iter().flat_map(|trial| &trial.promises).filter_map(|one| one.verdict).collect();
    let length = |slot: &assay_plan::Slot| {
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

fn of_trial(trial: &Trial, facts: &HostFacts, costs: &Costs, seed: u64) -> TrialPrediction {
    let of_disk = trial.promises.iter().any(|promise| promise.measure.starts_with("io."));
    let asked = if of_disk { Some(from_plan(trial, facts, costs)) } else { None };
    let answer = match &asked {
        Some(Ok(asked)) => Some((asked, Answer::of(asked, seed))),
        _ => None,
    };
    let refusal = match &asked {
        Some(Err(why)) => Some(why.clone()),
        _ => None,
    };
    let promises = trial.promises.iter().map(|promise| match promise.measure.as_str() {
        "io.bytes" | "io.ios" => match &answer {
            Some((asked, answer)) => answer.promise(asked, promise),
            None => not_available(promise, refusal.clone().unwrap_or_default()),
        },
        "cpu.time" => cpu::promise(trial, facts, promise),
        other => not_available(promise, format!("the model has no `{other}`")),
    });
    TrialPrediction {
        factors: factors(trial),
        promises: promises.collect(),
        assumed: answer.as_ref().map(|(asked, _)| asked.assumed.clone()).unwrap_or_default(),
        outside: answer.as_ref().map(|(asked, _)| outside(asked)).unwrap_or_default(),
    }
}

/// A promise of which nothing is predicted.
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

/// One search for each promise on a disk's shares and each combination of the factors that do not
/// count groups. Numbers of groups that are trials of the study are not simulated again.
fn knees(
    plan: &Plan,
    trials: &[TrialPrediction],
    facts: &HostFacts,
    costs: &Costs,
    seed: u64,
) -> Vec<KneePrediction> {
    let mut families: Vec<(BTreeMap<String, Value>, Vec<usize>)> = Vec::new();
    for (number, trial) in plan.trials.iter().enumerate() {
        let held = held(trial, plan);
        match families.iter_mut().find(|(known, _)| *known == held) {
            Some((_, numbers)) => numbers.push(number),
            None => families.push((held, vec![number])),
        }
    }
    let mut found = Vec::new();
    for (held, numbers) in families {
        let size = |number: &usize| plan.trials[*number].groups.len();
        let Some(largest) = numbers.iter().copied().max_by_key(size) else { continue };
        let Ok(asked) = from_plan(&plan.trials[largest], facts, costs) else { continue };
        let to = (2 * size(&largest)).next_power_of_two().max(SEARCHED_TO);
        for (index, promise) in plan.trials[largest].promises.iter().enumerate() {
            if !is_proportional(promise) {
                continue;
            }
            let known = |count: usize| {
                let number = numbers.iter().find(|number| size(number) == count)?;
                trials.get(*number)?.promises.get(index)?.worst_error
            };
            let breaks_at = powers(to).find(|count| {
                let error = known(*count).or_else(|| error_at(&asked, promise, *count, seed));
                error.is_some_and(|error| error > promise.within)
            });
            found.push(KneePrediction {
                held: held.clone(),
                measure: promise.measure.clone(),
                within: promise.within,
                breaks_at,
                searched_to: to,
            });
        }
    }
    found
}

/// 2, 4, 8, .. up to a number.
fn powers(to: usize) -> impl Iterator<Item = usize> {
    (1..usize::BITS).map(|power| 1_usize << power).take_while(move |count| *count <= to)
}

fn is_proportional(promise: &PromiseRecord) -> bool {
    promise.measure.starts_with("io.") && matches!(promise.is, RelationRecord::Proportional(_))
}

/// The factors that do not say how many groups there are.
fn held(trial: &Trial, plan: &Plan) -> BTreeMap<String, Value> {
    let counts = |name: &str| {
        plan.trials.iter().all(|trial| {
            let value = trial.factors.get(name).map(ToString::to_string);
            value == Some(trial.groups.len().to_string())
        })
    };
    factors(trial).into_iter().filter(|(name, _)| !counts(name)).collect()
}

/// The largest error of any of so many groups.
fn error_at(asked: &PlannedTrial, promise: &PromiseRecord, count: usize, seed: u64) -> Option<f64> {
    let names = (0..count).map(|index| format!("group{}", index + 1)).collect();
    let question = asked.question.with_groups(count);
    let more = PlannedTrial { question, names, ..asked.clone() };
    Answer::of(&more, seed).promise(&more, promise).worst_error
}
