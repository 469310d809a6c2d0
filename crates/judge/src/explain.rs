//! From a run of interventions to a sentence that a person can act on.
//!
//! The trials of such a run differ in one thing each from the first, which is unchanged, and took
//! turns with it. A change that takes the error away, or lessens it by more than both intervals
//! allow, confirms the causes that it was to test; one that leaves it where it was refutes them.

mod sentence;

use serde::{Deserialize, Serialize};

use crate::catalogue::cause_entry;
use crate::judgement::{Cause, Interval, Judgement, PromiseJudgement, Verdict};

/// One trial of the run of interventions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Name of the intervention, `unchanged` for the first.
    pub name: String,
    /// What was changed, as text.
    pub change: String,
    /// What to write into a study to have it for good.
    pub remedy: Option<String>,
    /// Codes of the causes that it tests.
    pub tests: Vec<String>,
    /// Its trial in the judgement; or why it could not be tried.
    pub trial: Result<usize, String>,
}

/// What became of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The promise was kept, or at least the error is within the margin.
    Cured,
    /// Surely less than unchanged.
    Lessened,
    /// Neither surely less nor surely more, and about the same.
    Unmoved,
    /// Surely more than unchanged.
    Worsened,
    /// The intervals leave it open.
    Open,
    /// No number, or a gate failed.
    Void,
    /// Could not be tried.
    NotTried,
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
    /// The rate of all groups together as a part of that of the unchanged trial.
    pub throughput: Option<f64>,
    /// What the law of each cause that it tests predicts for it.
    pub predicted: String,
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
    /// An intervention that was to help did.
    Confirmed,
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
    /// What it all comes to.
    pub sentence: String,
}

/// Explains the promise with this index. `suspects` are the causes of the run that is explained;
/// the first arm is the unchanged one.
#[must_use]
pub fn explain(
    judgement: &Judgement,
    promise: usize,
    arms: &[Arm],
    suspects: &[Cause],
) -> Option<Explanation> {
    let judged = |arm: &Arm| {
        let trial = judgement.trials.get(*arm.trial.as_ref().ok()?)?;
        trial.promises.get(promise)
    };
    let (first, others) = arms.split_first()?;
    let base = judged(first)?;
    let results: Vec<ArmResult> = others.iter().map(|arm| result(arm, base, judged(arm))).collect();
    let causes = causes(base, suspects, &results);
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
        sentence,
    })
}

fn result(arm: &Arm, base: &PromiseJudgement, judged: Option<&PromiseJudgement>) -> ArmResult {
    let effect = match (&arm.trial, judged) {
        (Err(_), _) => Effect::NotTried,
        (Ok(_), None) => Effect::Void,
        (Ok(_), Some(judged)) => effect(base, judged),
    };
    let reason = match (&arm.trial, judged) {
        (Err(why), _) => why.clone(),
        (Ok(_), None) => "it was not judged".to_owned(),
        (Ok(_), Some(judged)) => judged.reason.clone(),
    };
    let throughput = judged.and_then(|judged| {
        let (with, without) = (judged.total_rate?, base.total_rate?);
        (without > 0.0).then(|| with / without)
    });
    ArmResult {
        name: arm.name.clone(),
        change: arm.change.clone(),
        effect,
        error: judged.and_then(|judged| judged.worst_error),
        throughput,
        predicted: predicted(&arm.tests),
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

/// Two errors count as about the same within this factor.
const ABOUT: f64 = 1.5;

fn effect(base: &PromiseJudgement, judged: &PromiseJudgement) -> Effect {
    if judged.verdict == Verdict::Kept {
        return Effect::Cured;
    }
    let (Some(before), Some(after)) = (base.worst_error, judged.worst_error) else {
        return Effect::Void;
    };
    if judged.verdict == Verdict::Void {
        return Effect::Void;
    }
    // Of an unchanged trial that was void the figure says nothing.
    let was_broken = base.verdict == Verdict::Broken;
    if was_broken && after.value <= base.within && after.high < before.low {
        Effect::Cured
    } else if was_broken && after.high < before.low {
        Effect::Lessened
    } else if was_broken && after.low > before.high {
        Effect::Worsened
    } else if after.value > before.value / ABOUT && after.value < before.value * ABOUT {
        Effect::Unmoved
    } else {
        Effect::Open
    }
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
    found.sort_by_key(|cause| match cause.finding {
        Finding::Proven => 0,
        Finding::Confirmed => 1,
        Finding::Open => 2,
        Finding::Refuted => 3,
    });
    found
}

fn tested(code: &str, results: &[ArmResult]) -> Explained {
    let arms: Vec<&ArmResult> =
        results.iter().filter(|arm| arm.tests.iter().any(|test| test == code)).collect();
    let helped = |arm: &&&ArmResult| matches!(arm.effect, Effect::Cured | Effect::Lessened);
    let unmoved = |arm: &&&ArmResult| matches!(arm.effect, Effect::Unmoved | Effect::Worsened);
    let finding = if arms.iter().any(|arm| helped(&arm)) {
        Finding::Confirmed
    } else if !arms.is_empty() && arms.iter().all(|arm| unmoved(&arm)) {
        Finding::Refuted
    } else {
        Finding::Open
    };
    let evidence = match arms.is_empty() {
        true => vec!["no intervention on this host tests it".to_owned()],
        false => arms.iter().map(|arm| sentence::of_arm(arm)).collect(),
    };
    Explained { code: code.to_owned(), finding, evidence }
}
