//! How often an explanation confirms a cause by chance: ineffective changes with the looks of the
//! command, and errors that scatter from round to round like those of unsteady trials.

use std::collections::BTreeMap;

use assay_cause::{Arm, Explanation, FRESH, Finding, Fresh, Question, explain};
use assay_judge::verdict::{Interval, Judgement, PromiseJudgement, TrialJudgement, Verdict};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::explained::consistent;

/// Looks of `assay diagnose`: after these rounds.
const LOOKS: &[usize] = &[4, 6, 8];

/// The only look of `--rounds 1`, and of a few more.
const SINGLE_LOOKS: [&[usize]; 3] = [&[1], &[2], &[3]];

/// Number of changes confirmed in turn.
const WINNERS: usize = 2;

/// Errors of one trial by the number of their round.
type Errors = Vec<(usize, f64)>;

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn trial(errors: &Errors) -> TrialJudgement {
    let values: Vec<f64> = errors.iter().map(|(_, error)| *error).collect();
    let value = values.iter().sum::<f64>() / values.len() as f64;
    let promise = PromiseJudgement {
        measure: "io.bytes".to_owned(),
        is: "proportional".to_owned(),
        within: 0.1,
        verdict: Verdict::Broken,
        ..PromiseJudgement::default()
    };
    let promise = PromiseJudgement {
        worst_error: Some(Interval { value, low: 0.5 * value, high: 2.0 * value }),
        errors: values,
        ..promise
    };
    TrialJudgement {
        factors: BTreeMap::new(),
        verdict: Verdict::Broken,
        repeats: errors.len(),
        promises: vec![promise],
        validity: Vec::new(),
        facts: Vec::new(),
        rounds: errors.iter().map(|(round, _)| *round).collect(),
        window_s: 10.0,
        warm_up_s: 0.0,
        observer_cpu: 0.0,
        workloads: Vec::new(),
    }
}

fn judgement(all: &[Errors]) -> Judgement {
    Judgement {
        schema: 1,
        study: "chance".to_owned(),
        verdict: Verdict::Broken,
        trials: all.iter().map(trial).collect(),
        comparisons: Vec::new(),
        references: Vec::new(),
        restored: None,
        guest: None,
        caveat: None,
    }
}

fn arms(changes: usize) -> Vec<Arm> {
    (0..=changes)
        .map(|arm| Arm {
            name: format!("change{arm}"),
            change: format!("change {arm}"),
            remedy: None,
            tests: if arm == 0 { Vec::new() } else { vec![format!("cause{arm}")] },
            times: 1.0,
            trial: Ok(arm),
        })
        .collect()
}

/// Simulates one explanation. `left` is the remaining part of the error under each change: 1 for an
/// ineffective one.
fn explanation(
    random: &mut ChaCha8Rng,
    looks: &[usize],
    changes: usize,
    left: &[f64],
) -> Explanation {
    let arms = arms(changes);
    let mut all: Vec<Errors> = vec![Errors::new(); changes + 1];
    let mut fresh: Vec<Fresh> = Vec::new();
    let mut round = 0;
    let mut draw = |all: &mut Vec<Errors>, round: usize, who: &dyn Fn(usize) -> bool| {
        for (arm, errors) in all.iter_mut().enumerate() {
            let error = 0.5 * normal(random).exp() * left.get(arm).copied().unwrap_or(1.0);
            if who(arm) {
                errors.push((round, error));
            }
        }
    };
    let ask = |all: &[Errors], fresh: &[Fresh]| {
        let question = Question {
            promise: 0,
            was_broken: true,
            looks: looks.len(),
            fresh,
            suspects: &[],
            predictions: &[],
        };
        consistent(explain(&judgement(all), question, &arms).unwrap())
    };
    for look in looks {
        while round - FRESH * fresh.len() < *look {
            round += 1;
            draw(&mut all, round, &|_| true);
        }
        loop {
            let found = ask(&all, &fresh);
            let winner = found.winner().map(str::to_owned).filter(|_| fresh.len() < WINNERS);
            let (false, Some(winner)) = (found.is_settled(), winner) else {
                if found.is_settled() {
                    return found;
                }
                break;
            };
            let index = arms.iter().position(|arm| arm.name == winner).unwrap();
            fresh.push(Fresh { arm: winner, from: round + 1 });
            for _ in 0..FRESH {
                round += 1;
                draw(&mut all, round, &|arm| arm == 0 || arm == index);
            }
        }
    }
    ask(&all, &fresh)
}

fn confirmed(found: &Explanation) -> bool {
    found.causes.iter().any(|cause| cause.finding == Finding::Confirmed)
}

/// Number of explanations that confirm a cause although no change has an effect.
fn false_ones(explanations: u64, looks: &[usize], changes: usize) -> usize {
    let one = |seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        confirmed(&explanation(&mut random, looks, changes, &[]))
    };
    (0..explanations).filter(|seed| one(*seed)).count()
}

#[test]
fn ineffective_changes_rarely_confirm_a_cause() {
    for changes in [1, 8, 12] {
        let found = false_ones(200, LOOKS, changes);
        assert!(found <= 4, "{found} of 200 with {changes} changes");
    }
}

#[test]
fn few_rounds_confirm_no_more_by_chance_than_many() {
    for looks in SINGLE_LOOKS {
        for changes in [1, 8, 12] {
            let found = false_ones(200, looks, changes);
            assert!(found <= 4, "{found} of 200 with {changes} changes in {looks:?} rounds");
        }
    }
}

/// Figures of docs/judging.md: `cargo test -p assay-cause -- --ignored chance`.
#[test]
#[ignore = "some minutes: 1000 explanations a number of changes"]
fn ineffective_changes_confirm_a_cause_in_at_most_two_of_a_hundred_explanations() {
    for looks in SINGLE_LOOKS.into_iter().chain([LOOKS]) {
        for changes in [1, 4, 8, 12] {
            let found = false_ones(1000, looks, changes);
            println!("looks after {looks:?} rounds, {changes} changes: {found} of 1000");
            assert!(found <= 20, "{found} of 1000 with {changes} changes in {looks:?} rounds");
        }
    }
}

#[test]
fn an_effective_change_is_confirmed_in_nearly_all() {
    let one = |seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
        let found = explanation(&mut random, LOOKS, 8, &[1.0, 1.0, 0.02]);
        let cause = found.causes.iter().find(|cause| cause.code == "cause2").unwrap();
        cause.finding == Finding::Confirmed
    };
    let found = (0..50).filter(|seed| one(*seed)).count();
    assert!(found >= 30, "{found} of 50");
}
