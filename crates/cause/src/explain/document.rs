//! `explain.json`: what became of every change and of every cause, and what the error follows.

use assay_judge::verdict::{GroupJudgement, Interval, PromiseJudgement, Verdict};
use serde::{Deserialize, Serialize};

use super::{Effect, Rounds, ScoredPrediction};
use crate::causes::may_follow_from_others;

/// Result of one intervention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// Name of the intervention.
    pub name: String,
    /// What was changed.
    pub change: String,
    /// Its effect on the error.
    pub effect: Effect,
    /// Rounds that count, on which its figures rest; 0 in older documents.
    #[serde(default)]
    pub repeats: usize,
    /// Largest relative error under the change; of one round its interval is the noise within that
    /// window.
    pub error: Option<Interval>,
    /// Remaining error round by round, where each repeat has an error and there are two or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Whether fresh rounds of only this arm and the unchanged trial reproduced the effect; absent
    /// without fresh rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// Groups within the margin: the largest of many errors can stay where most groups got what they were promised. Absent in
    /// older documents, and where nothing is divided among groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_within: Option<GroupsWithin>,
    /// Total rate of all groups relative to the unchanged trial.
    pub throughput: Option<f64>,
    /// Predictions of the causes that it tests.
    pub predicted: String,
    /// Every cause's prediction made before the run, and whether it was right.
    #[serde(rename = "laws", default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<ScoredPrediction>,
    /// Codes of the causes that it tests.
    pub tests: Vec<String>,
    /// Why it is void or was not tried; otherwise the reason of the verdict.
    pub reason: String,
}

/// How many groups of a trial were within the margin on average over rounds; errors of opposite sign cancel in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupsWithin {
    /// Of the unchanged trial.
    pub unchanged: usize,
    /// With the change.
    pub changed: usize,
    /// All groups.
    pub of: usize,
}

impl GroupsWithin {
    /// `None` where weights do not divide among the same number of groups.
    pub(super) fn new(unchanged: &PromiseJudgement, changed: &PromiseJudgement) -> Option<Self> {
        let (all, of) = (unchanged.groups.len(), changed.groups.len());
        let divides = unchanged.divides_by_knob() && changed.divides_by_knob() && all == of;
        let (unchanged, changed) = (within(unchanged), within(changed));
        divides.then_some(Self { unchanged, changed, of })
    }
}

fn within(judged: &PromiseJudgement) -> usize {
    let error = |group: &GroupJudgement| (group.share / group.expected_share - 1.0).abs();
    judged.groups.iter().filter(|group| error(group) <= judged.within).count()
}

/// Conclusion about a cause after all interventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// A validity check failed in the unchanged trial as well, or events in the kernel proved it there.
    Proven,
    /// An intervention expected to help did, and did so again in fresh rounds; no evidence against
    /// it.
    Confirmed,
    /// An intervention expected to help did, but another had an effect that this cause excludes, or events in the
    /// kernel exclude the cause.
    Contradicted,
    /// Every intervention expected to help left the error where it was.
    Refuted,
    /// Events in the kernel during the unchanged trial exclude it.
    Excluded,
    /// Inconclusive.
    Open,
}

/// One cause after the interventions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseFinding {
    /// Its code.
    pub code: String,
    /// The conclusion.
    pub finding: Finding,
    /// The interventions that support it, or the evidence of the failed check.
    pub evidence: Vec<String>,
}

/// `explain.json`, schema 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Format version.
    pub schema: u32,
    /// Study name.
    pub study: String,
    /// Measure of the promise, `io.bytes`.
    pub measure: String,
    /// The margin.
    pub within: f64,
    /// Rounds of the unchanged trial that count; 0 in older documents.
    #[serde(default)]
    pub repeats: usize,
    /// Error of the unchanged trial, measured again; of one round its interval is the noise within
    /// that window.
    pub unchanged: Option<Interval>,
    /// Verdict on the unchanged trial.
    pub verdict: Verdict,
    /// Every intervention, in the order tried.
    pub arms: Vec<ArmResult>,
    /// Causes, proven and confirmed ones first.
    pub causes: Vec<CauseFinding>,
    /// Whether the error followed the weights when they were exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// Summary.
    pub sentence: String,
}

impl Explanation {
    /// Whether more rounds would add nothing: a cause is known, or the error did not recur. A
    /// proven cause that may follow from others settles nothing by itself.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let confirmed = self.causes.iter().filter(|cause| cause.finding == Finding::Confirmed);
        self.verdict == Verdict::Kept
            || confirmed.count() >= 1
            || self.causes.first().is_some_and(|cause| rank(cause) == 0)
    }

    /// The most effective change without fresh rounds so far.
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
    /// Whether it removed or reduced the error.
    pub(super) fn is_of_use(&self) -> bool {
        matches!(self.effect, Effect::Cured | Effect::Lessened)
    }

    /// Whether fresh rounds reproduced the effect; without them nothing is confirmed.
    pub(super) fn is_confirmed(&self) -> bool {
        self.is_of_use() && self.confirmed == Some(true)
    }
}

/// Sort order of causes, best explanation first. A queue that ran dry is proven by the trial itself
/// but is often an effect of a confirmed cause: it disappears with that cause.
pub(super) fn rank(cause: &CauseFinding) -> u8 {
    match cause.finding {
        Finding::Proven if may_follow_from_others(&cause.code) => 2,
        Finding::Proven => 0,
        Finding::Confirmed => 1,
        Finding::Contradicted => 3,
        Finding::Open => 4,
        Finding::Refuted => 5,
        Finding::Excluded => 6,
    }
}

/// What the error follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follows {
    /// Any group with this weight has the error: the weights are not obeyed.
    Weight,
    /// The same group has the error under another weight: the cause is its workload or placement.
    Program,
    /// Neither is clearly better.
    Unclear,
}

/// The better of two explanations leaves less than this part of the other's residual.
const CLEARLY: f64 = 0.5;

/// Compares the groups' errors before and after the exchange. `None` where a promise has no
/// weights, or the groups differ.
pub(super) fn follows(before: &PromiseJudgement, after: &PromiseJudgement) -> Option<Follows> {
    let error = |share: f64, expected: f64| (share.max(1e-9) / expected).ln();
    let errors = |judged: &PromiseJudgement| -> Option<Vec<(f64, f64)>> {
        let groups = judged.groups.iter();
        groups.map(|group| Some((group.knob?, error(group.share, group.expected_share)))).collect()
    };
    let (before, after) = (errors(before)?, errors(after)?);
    if before.len() != after.len() || before.is_empty() {
        return None;
    }
    let of_weight = |weight: f64| {
        let same: Vec<f64> = before.iter().filter(|one| one.0 == weight).map(|one| one.1).collect();
        (!same.is_empty()).then(|| same.iter().sum::<f64>() / same.len() as f64)
    };
    let (mut by_weight, mut by_program, mut all) = (0.0, 0.0, 0.0);
    for (before, (weight, error)) in before.iter().zip(&after) {
        by_weight += (error - of_weight(*weight)?).powi(2);
        by_program += (error - before.1).powi(2);
        all += error.powi(2);
    }
    Some(match by_weight.min(by_program) < CLEARLY * all {
        true if by_weight < CLEARLY * by_program => Follows::Weight,
        true if by_program < CLEARLY * by_weight => Follows::Program,
        _ => Follows::Unclear,
    })
}
