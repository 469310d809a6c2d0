//! Evaluates a run of interventions: which causes are confirmed or refuted, in one sentence.
//!
//! Each trial of such a run (an arm) differs in one thing from the first, which is unchanged; arms
//! are interleaved round by round. A change that removes the error, or significantly reduces it,
//! confirms the causes that it tests; one that leaves the error where it was refutes them. Before
//! the run every cause predicts what each change does to the error; a wrong prediction contradicts
//! other evidence for the cause.

mod causes;
mod document;
mod effect;
mod page;
mod prediction;
mod rounds;
mod sentence;

pub use crate::causes::Expect;
use assay_judge::verdict::{Cause, Judgement, Verdict};

use crate::cause_docs::cause_entry;
use crate::tune::is_work;
pub use document::{ArmResult, CauseFinding, Explanation, Finding, Follows, GroupsWithin};
pub use effect::Effect;
use effect::{Base, Judged};
pub use page::render as explanation_text;
pub use prediction::{Prediction, ScoredPrediction, excluded, predict};
pub use rounds::{FRESH, Rounds};

/// One trial of the run of interventions.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Name of the intervention; `unchanged` for the first.
    pub name: String,
    /// What was changed, as text.
    pub change: String,
    /// Lines for the study file that make the change permanent.
    pub remedy: Option<String>,
    /// Codes of the causes that it tests.
    pub tests: Vec<String>,
    /// Factor by which the changed quantity grew; 1 where that has no meaning.
    pub times: f64,
    /// Index of its trial in the judgement, or why it could not be tried.
    pub trial: Result<usize, String>,
}

/// Name of the intervention that exchanges weights.
pub const PERMUTE: &str = "permute";

/// Rounds in which only the most effective change and the unchanged trial ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// Name of the intervention.
    pub arm: String,
    /// The first of [`FRESH`] rounds, counted from 1.
    pub from: usize,
}

impl Fresh {
    fn has(&self, round: usize) -> bool {
        (self.from..self.from + FRESH).contains(&round)
    }
}

/// What is to be explained.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// Index of the promise in the trial.
    pub promise: usize,
    /// Whether the first judgement called it broken.
    pub was_broken: bool,
    /// Number of interim looks planned while rounds are added; 1 when the number of rounds is
    /// fixed.
    pub looks: usize,
    /// Rounds that confirmed a change.
    pub fresh: &'q [Fresh],
    /// Suspected causes of the explained run, most likely first.
    pub suspects: &'q [Cause],
    /// Predictions made before the arms ran.
    pub predictions: &'q [Prediction],
}

/// Explains a promise. The first arm is the unchanged trial.
#[must_use]
pub fn explain(judgement: &Judgement, question: Question<'_>, arms: &[Arm]) -> Option<Explanation> {
    let judged = |arm: &Arm| {
        let trial = judgement.trials.get(*arm.trial.as_ref().ok()?)?;
        let promise = trial.promises.get(question.promise)?;
        Some(Judged { promise, rounds: &trial.rounds, repeats: trial.repeats })
    };
    let (first, others) = arms.split_first()?;
    let base = Base { judged: judged(first)?, was_broken: question.was_broken };
    let rounds = compare_rounds(&base, question, others, &judged);
    let results: Vec<ArmResult> = others
        .iter()
        .zip(rounds)
        .map(|(arm, rounds)| {
            let mut result = result(arm, &base, judged(arm), rounds);
            let predictions = question.predictions.iter().filter(|one| one.arm == arm.name);
            let score = |one| {
                let within = base.judged.promise.within;
                // A single round shows the noise of its window and not how far rounds differ, and a void trial nothing.
                let is_void = judged(arm).is_some_and(|arm| arm.promise.verdict == Verdict::Void);
                let scored = base.judged.repeats.min(result.repeats) > 1 && !is_void;
                let error = result.error.filter(|_| scored);
                let rounds = result.rounds.filter(|_| !is_void);
                ScoredPrediction::new(one, base.size(), within, error, rounds)
            };
            result.predictions =
                if base.is_bad() { predictions.map(score).collect() } else { Vec::new() };
            apply_fresh_rounds(result, &base, question, judged(arm))
        })
        .collect();
    let exchanged = others.iter().find(|arm| arm.name == PERMUTE).and_then(judged);
    let follows = exchanged
        .filter(|after| base.is_bad() && base.judged.repeats.min(after.repeats) > 1)
        .and_then(|after| document::follows(base.judged.promise, after.promise));
    let Judged { promise: base, repeats, .. } = base.judged;
    let causes = causes::causes(base, question.suspects, &results);
    let sentence = sentence::summary((base, repeats), &results, &causes, others);
    Some(Explanation {
        schema: 1,
        study: judgement.study.clone(),
        measure: base.measure.clone(),
        within: base.within,
        repeats,
        unchanged: base.worst_error,
        verdict: base.verdict,
        arms: results,
        causes,
        follows,
        sentence: format!("{sentence}{}", sentence::follows_sentence(follows)),
    })
}

/// Compares each change with the unchanged trial round by round, fresh rounds excluded, at a
/// confidence corrected for the number of changes.
fn compare_rounds<'j>(
    base: &Base<'j>,
    question: Question<'_>,
    arms: &[Arm],
    judged: &dyn Fn(&Arm) -> Option<Judged<'j>>,
) -> Vec<Option<Rounds>> {
    let within = base.judged.promise.within;
    let pairs: Vec<_> = arms
        .iter()
        .map(|arm| {
            let fresh = |round| {
                question.fresh.iter().any(|fresh| fresh.arm == arm.name && fresh.has(round))
            };
            judged(arm).map(|judged| base.pairs(&judged, |round| !fresh(round))).unwrap_or_default()
        })
        .collect();
    // Arms that test no cause are not corrected for: they confirm none.
    let tested_arms: Vec<usize> =
        (0..arms.len()).filter(|arm| !arms[*arm].tests.is_empty()).collect();
    let chances: Vec<f64> =
        tested_arms.iter().map(|arm| rounds::chance(&pairs[*arm], within)).collect();
    let allowed = rounds::allowed(&chances, question.looks);
    let of = |(arm, pairs): (usize, &rounds::Pairs)| {
        let index = tested_arms.iter().position(|tested| *tested == arm);
        let wrong = index.map_or(rounds::allowed(&[1.0], question.looks)[0], |at| allowed[at]);
        Rounds::from_pairs(pairs, within, wrong)
    };
    pairs.iter().enumerate().map(of).collect()
}

/// Applies all fresh rounds of a change together: a confirmation that lost a repeat is followed by
/// another. An effect that they do not reproduce becomes open.
fn apply_fresh_rounds(
    mut result: ArmResult,
    base: &Base<'_>,
    question: Question<'_>,
    judged: Option<Judged<'_>>,
) -> ArmResult {
    let (Some(judged), true) = (judged, result.is_of_use()) else {
        return result;
    };
    let is_fresh =
        |round| question.fresh.iter().any(|fresh| fresh.arm == result.name && fresh.has(round));
    let pairs = base.pairs(&judged, is_fresh);
    if pairs.len() < FRESH {
        return result;
    }
    let confirmed = rounds::confirm(&pairs, base.judged.promise.within);
    result.confirmed = Some(confirmed);
    if !confirmed {
        result.effect = Effect::Open;
    }
    result
}

fn result(
    arm: &Arm,
    base: &Base<'_>,
    judged: Option<Judged<'_>>,
    rounds: Option<Rounds>,
) -> ArmResult {
    let repeats = judged.map_or(0, |judged| judged.repeats);
    let judged = judged.map(|judged| judged.promise);
    let effect = match (&arm.trial, judged) {
        (Err(_), _) => Effect::NotTried,
        (Ok(_), None) => Effect::Void,
        (Ok(_), Some(judged)) => base.effect(judged, rounds.as_ref()),
    };
    let reason = match (&arm.trial, judged) {
        (Err(why), _) => why.clone(),
        (Ok(_), None) => "not judged".to_owned(),
        (Ok(_), Some(judged)) => judged.reason.clone(),
    };
    let throughput = judged.filter(|judged| is_work(&judged.measure)).and_then(|judged| {
        let (with, without) = (judged.total_rate?, base.judged.promise.total_rate?);
        (without > 0.0).then(|| with / without)
    });
    ArmResult {
        name: arm.name.clone(),
        change: arm.change.clone(),
        effect,
        repeats,
        error: judged.and_then(|judged| judged.worst_error),
        rounds: judged.and(rounds),
        confirmed: None,
        groups_within: judged.and_then(|judged| GroupsWithin::new(base.judged.promise, judged)),
        throughput,
        predicted: predicted(&arm.tests),
        predictions: Vec::new(),
        tests: arm.tests.clone(),
        reason,
    }
}

/// Predictions from the catalogue for the causes that the intervention tests.
fn predicted(tests: &[String]) -> String {
    let each = tests.iter().filter_map(|code| Some((code, cause_entry(code)?.confirm)));
    let each: Vec<String> = each.map(|(code, confirm)| format!("{code}: {confirm}")).collect();
    if each.is_empty() { "no suspected cause predicts a change".to_owned() } else { each.join(" ") }
}
