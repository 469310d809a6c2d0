//! From a run of interventions to a sentence that a person can act on.
//!
//! The trials of such a run differ in one thing each from the first, which is unchanged, and took
//! turns with it. A change that takes the error away, or surely lessens it, confirms the causes
//! that it was to test; one that leaves it where it was refutes them. Every cause says before the
//! run what each change should do to the error; one that is wrong about a change contradicts what
//! else speaks for it.

mod effect;
mod effect_inputs;
mod follows;
mod predicted_effect;
mod rounds;
mod score;
mod sentence;

use assay_run_folder::TrialRecord;
use serde::{Deserialize, Serialize};

use assay_judge::cause_entry;
use assay_judge::may_follow_from_others;
use assay_verdict::{Cause, Interval, Judgement, PromiseJudgement, Verdict};
pub use effect::Effect;
use effect::{Base, Judged};
use effect_inputs::EffectInputs;
pub use follows::Follows;
pub use predicted_effect::{Expect, Prediction};
pub use rounds::{FRESH, Rounds};
pub use score::Scored;

/// One trial of the run of interventions.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Name of the intervention, `unchanged` for the first.
    pub name: String,
    /// What was changed, as text.
    pub change: String,
    /// What to write into a study to have it for good.
    pub remedy: Option<String>,
    /// Codes of the causes that it tests.
    pub tests: Vec<String>,
    /// How many times what it was the thing is that was changed; 1 where that has no meaning.
    pub times: f64,
    /// Its trial in the judgement; or why it could not be tried.
    pub trial: Result<usize, String>,
}

/// What one intervention did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// Name of the intervention.
    pub name: String,
    /// What was changed.
    pub change: String,
    /// What became of the error.
    pub effect: Effect,
    /// The largest relative error with it.
    pub error: Option<Interval>,
    /// What is left of the error round by round, where each repeat has one and there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Whether fresh rounds of it and of the unchanged trial alone showed the same again; nothing
    /// where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// The rate of all groups together as a part of that of the unchanged trial.
    pub throughput: Option<f64>,
    /// What the law of each cause that it tests predicts for it.
    pub predicted: String,
    /// What every cause said of it before it was tried, and whether that was right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laws: Vec<Scored>,
    /// Codes of the causes that it tests.
    pub tests: Vec<String>,
    /// Why it is void or was not tried; the verdict's reason else.
    pub reason: String,
}

/// What the interventions say of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// A gate failed in the unchanged trial as well.
    Proven,
    /// An intervention that was to help did, did so again in fresh rounds, and nothing else speaks
    /// against it.
    Confirmed,
    /// An intervention that was to help did, and another did what this cause does not allow.
    Contradicted,
    /// Every intervention that was to help left the error where it was.
    Refuted,
    /// Nothing that was tried tells.
    Open,
}

/// One cause after the interventions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Its code.
    pub code: String,
    /// What is said of it.
    pub finding: Finding,
    /// The interventions that say so, or the gate's evidence.
    pub evidence: Vec<String>,
}

/// `explain.json`, schema 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Version of this format.
    pub schema: u32,
    /// The study.
    pub study: String,
    /// What is promised, `io.bytes`.
    pub measure: String,
    /// The margin.
    pub within: f64,
    /// The error of the unchanged trial, measured again.
    pub unchanged: Option<Interval>,
    /// The verdict on the unchanged trial.
    pub verdict: Verdict,
    /// Every intervention, in the order in which they were tried.
    pub arms: Vec<ArmResult>,
    /// Causes, proven and confirmed ones first.
    pub causes: Vec<Explained>,
    /// Whether the error went with the weights when they were exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// What it all comes to.
    pub sentence: String,
}

impl Explanation {
    /// Whether more rounds would add nothing: a cause is known, or nothing came back to be
    /// explained. What is proven of the trial may follow from a cause that is open.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let confirmed = self.causes.iter().filter(|cause| cause.finding == Finding::Confirmed);
        self.verdict == Verdict::Kept
            || confirmed.count() >= 1
            || self.causes.first().is_some_and(|cause| rank(cause) == 0)
    }

    /// The change that helped most and was not tried again by itself yet.
    #[must_use]
    pub fn winner(&self) -> Option<&str> {
        let helped = self
            .arms
            .iter()
            .filter(|arm| arm.is_of_use() && !arm.tests.is_empty() && arm.confirmed.is_none());
        let left = |arm: &ArmResult| arm.rounds.map_or(f64::INFINITY, |rounds| rounds.left);
        let best =
            helped.filter(|arm| arm.rounds.is_some()).min_by(|a, b| left(a).total_cmp(&left(b)));
        best.map(|arm| arm.name.as_str())
    }
}

impl ArmResult {
    /// Whether it took the error away or lessened it.
    fn is_of_use(&self) -> bool {
        matches!(self.effect, Effect::Cured | Effect::Lessened)
    }

    /// Whether fresh rounds showed that again. Without them nothing is confirmed.
    fn is_confirmed(&self) -> bool {
        self.is_of_use() && self.confirmed == Some(true)
    }
}

/// The change that exchanges weights, by name.
pub const PERMUTE: &str = "permute";

/// Rounds in which a winner ran beside the unchanged trial alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// The change.
    pub arm: String,
    /// The first of [`FRESH`] rounds, counted from 1.
    pub from: usize,
}

impl Fresh {
    fn has(&self, round: usize) -> bool {
        (self.from..self.from + FRESH).contains(&round)
    }
}

/// Why a cause cannot be behind this promise of a trial, whatever is tried; `None` where it can.
#[must_use]
pub fn excluded(code: &str, trial: &TrialRecord, judged: &PromiseJudgement) -> Option<String> {
    EffectInputs::of(trial, judged).excludes(code)
}

/// What each cause that the arms test says of each of them: to be written down before they are
/// tried. `trial` is the one that is explained, and `judged` its promise.
#[must_use]
pub fn predict(trial: &TrialRecord, judged: &PromiseJudgement, arms: &[Arm]) -> Vec<Prediction> {
    let mut codes: Vec<String> = Vec::new();
    for code in arms.iter().flat_map(|arm| &arm.tests) {
        if !codes.contains(code) {
            codes.push(code.clone());
        }
    }
    predicted_effect::all(&EffectInputs::of(trial, judged), arms, &codes)
}

/// What an explanation starts from.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// The promise's place in the trial.
    pub promise: usize,
    /// Whether it was broken when it was judged first.
    pub was_broken: bool,
    /// How often the question may be asked while rounds become more; 1 when their number is given.
    pub looks: usize,
    /// Rounds that winners were confirmed in.
    pub fresh: &'q [Fresh],
    /// Causes of the run that is explained, the most likely first.
    pub suspects: &'q [Cause],
    /// What was said of the arms before they were tried.
    pub predictions: &'q [Prediction],
}

/// Explains a promise. The first arm is the unchanged one.
#[must_use]
pub fn explain(judgement: &Judgement, question: Question<'_>, arms: &[Arm]) -> Option<Explanation> {
    let judged = |arm: &Arm| {
        let trial = judgement.trials.get(*arm.trial.as_ref().ok()?)?;
        let promise = trial.promises.get(question.promise)?;
        Some(Judged { promise, rounds: &trial.rounds })
    };
    let (first, others) = arms.split_first()?;
    let base = Base { judged: judged(first)?, was_broken: question.was_broken };
    let rounds = compared(&base, question, others, &judged);
    let results: Vec<ArmResult> = others
        .iter()
        .zip(rounds)
        .map(|(arm, rounds)| {
            let mut result = result(arm, &base, judged(arm).map(|judged| judged.promise), rounds);
            let said = question.predictions.iter().filter(|one| one.arm == arm.name);
            let of = |one| {
                let within = base.judged.promise.within;
                Scored::of(one, base.size(), within, result.error, result.rounds)
            };
            result.laws = if base.is_bad() { said.map(of).collect() } else { Vec::new() };
            again(result, &base, question, judged(arm))
        })
        .collect();
    let exchanged = others.iter().find(|arm| arm.name == PERMUTE).and_then(judged);
    let follows = exchanged
        .filter(|_| base.is_bad())
        .and_then(|after| follows::of(base.judged.promise, after.promise));
    let base = base.judged.promise;
    let causes = causes(base, question.suspects, &results);
    let sentence = sentence::of(base, &results, &causes, others);
    Some(Explanation {
        schema: 1,
        study: judgement.study.clone(),
        measure: base.measure.clone(),
        within: base.within,
        unchanged: base.worst_error,
        verdict: base.verdict,
        arms: results,
        causes,
        follows,
        sentence: format!("{sentence}{}", sentence::of_follows(follows)),
    })
}

/// Every change's rounds beside those of the unchanged trial, fresh ones left out, each as sure as
/// all of them together must be.
fn compared<'j>(
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
    // What tests no cause confirms none.
    let asked: Vec<usize> = (0..arms.len()).filter(|arm| !arms[*arm].tests.is_empty()).collect();
    let chances: Vec<f64> = asked.iter().map(|arm| rounds::chance(&pairs[*arm], within)).collect();
    let allowed = rounds::allowed(&chances, question.looks);
    let of = |(arm, pairs): (usize, &rounds::Pairs)| {
        let place = asked.iter().position(|asked| *asked == arm);
        let wrong = place.map_or(rounds::allowed(&[1.0], question.looks)[0], |at| allowed[at]);
        Rounds::of(pairs, within, wrong)
    };
    pairs.iter().enumerate().map(of).collect()
}

/// What fresh rounds say of a winner. One that they do not show again is open.
fn again(
    mut result: ArmResult,
    base: &Base<'_>,
    question: Question<'_>,
    judged: Option<Judged<'_>>,
) -> ArmResult {
    let fresh = question.fresh.iter().find(|fresh| fresh.arm == result.name);
    let (Some(fresh), Some(judged), true) = (fresh, judged, result.is_of_use()) else {
        return result;
    };
    let pairs = base.pairs(&judged, |round| fresh.has(round));
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
    judged: Option<&PromiseJudgement>,
    rounds: Option<Rounds>,
) -> ArmResult {
    let effect = match (&arm.trial, judged) {
        (Err(_), _) => Effect::NotTried,
        (Ok(_), None) => Effect::Void,
        (Ok(_), Some(judged)) => base.effect(judged, rounds.as_ref()),
    };
    let reason = match (&arm.trial, judged) {
        (Err(why), _) => why.clone(),
        (Ok(_), None) => "it was not judged".to_owned(),
        (Ok(_), Some(judged)) => judged.reason.clone(),
    };
    let throughput = judged.and_then(|judged| {
        let (with, without) = (judged.total_rate?, base.judged.promise.total_rate?);
        (without > 0.0).then(|| with / without)
    });
    ArmResult {
        name: arm.name.clone(),
        change: arm.change.clone(),
        effect,
        error: judged.and_then(|judged| judged.worst_error),
        rounds: judged.and(rounds),
        confirmed: None,
        throughput,
        predicted: predicted(&arm.tests),
        laws: Vec::new(),
        tests: arm.tests.clone(),
        reason,
    }
}

/// What the law of each cause says of the intervention, from the catalogue.
fn predicted(tests: &[String]) -> String {
    let laws = tests.iter().filter_map(|code| Some((code, cause_entry(code)?.confirm)));
    let each: Vec<String> = laws.map(|(code, law)| format!("{code}: {law}")).collect();
    if each.is_empty() { "no suspect predicts a change".to_owned() } else { each.join(" ") }
}

fn causes(base: &PromiseJudgement, suspects: &[Cause], results: &[ArmResult]) -> Vec<Explained> {
    let mut found: Vec<Explained> = Vec::new();
    // What a gate proves again needs no intervention.
    if base.verdict == Verdict::Void {
        found.extend(base.causes.iter().map(|cause| Explained {
            code: cause.code.clone(),
            finding: Finding::Proven,
            evidence: cause.evidence.clone(),
        }));
    }
    let mut codes: Vec<&str> = suspects.iter().map(|cause| cause.code.as_str()).collect();
    codes.extend(base.causes.iter().map(|cause| cause.code.as_str()));
    codes.extend(results.iter().flat_map(|arm| arm.tests.iter().map(String::as_str)));
    for code in codes {
        if code != "C-UNKNOWN" && !found.iter().any(|known| known.code == code) {
            found.push(tested(code, results));
        }
    }
    found.sort_by_key(rank);
    found
}

/// First what explains most. A queue that ran dry is proven of the trial by itself, and is what a
/// confirmed cause does to it: without the cause it went as well.
fn rank(cause: &Explained) -> u8 {
    match cause.finding {
        Finding::Proven if may_follow_from_others(&cause.code) => 2,
        Finding::Proven => 0,
        Finding::Confirmed => 1,
        Finding::Contradicted => 3,
        Finding::Open => 4,
        Finding::Refuted => 5,
    }
}

fn tested(code: &str, results: &[ArmResult]) -> Explained {
    let arms: Vec<&ArmResult> =
        results.iter().filter(|arm| arm.tests.iter().any(|test| test == code)).collect();
    let helped = |arm: &&&ArmResult| arm.is_confirmed();
    let unmoved = |arm: &&&ArmResult| matches!(arm.effect, Effect::Unmoved | Effect::Worsened);
    let laws = || results.iter().flat_map(|arm| arm.laws.iter().map(move |law| (arm, law)));
    let wrong: Vec<String> = laws()
        .filter(|(_, law)| law.cause == code && law.right == Some(false))
        .map(|(arm, law)| format!("{}: {}", arm.change, law.line()))
        .collect();
    let finding = if arms.iter().any(|arm| helped(&arm)) {
        if wrong.is_empty() { Finding::Confirmed } else { Finding::Contradicted }
    } else if !arms.is_empty() && arms.iter().all(|arm| unmoved(&arm)) {
        Finding::Refuted
    } else {
        Finding::Open
    };
    let evidence = match arms.is_empty() {
        true => vec!["nothing that was tried tests it".to_owned()],
        false => arms.iter().map(|arm| sentence::of_tested(code, arm)).collect(),
    };
    let evidence = match finding {
        Finding::Contradicted => [evidence, wrong].concat(),
        _ => evidence,
    };
    Explained { code: code.to_owned(), finding, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_intervention_confirms_comes_before_what_it_did_to_the_trial() {
        let one = |code: &str, finding| Explained {
            code: code.to_owned(),
            finding,
            evidence: Vec::new(),
        };
        let mut found = [
            one("C-INJECTION", Finding::Open),
            one("C-NOT-BACKLOGGED", Finding::Proven),
            one("C-TAG-CAP", Finding::Confirmed),
            one("C-SCHEDULER", Finding::Proven),
        ];
        found.sort_by_key(rank);
        let codes: Vec<&str> = found.iter().map(|cause| cause.code.as_str()).collect();
        assert_eq!(codes, ["C-SCHEDULER", "C-TAG-CAP", "C-NOT-BACKLOGGED", "C-INJECTION"]);
    }
}
