//! The judgement: `verdict.json`, schema 1. Field names are a contract with users' scripts.

use std::collections::BTreeMap;

use assay_run_folder::Guest;
use assay_stats::Interval;
use assay_stats::over_repeats::to_accuse;
use assay_stats::spans::WorstSpan;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cross_trial::{ComparisonJudgement, ReferenceJudgement};

/// What is said of a promise, a trial or a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies within the margin.
    Kept,
    /// The interval lies outside the margin.
    Broken,
    /// The interval crosses the margin: more time or more repeats are needed.
    Undecided,
    /// The test could not have shown it.
    Void,
}

impl Verdict {
    /// The worst of many: broken, void, undecided, kept, in that order. Where nothing is promised
    /// nothing can be shown.
    #[must_use]
    pub fn worst(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let rank = |verdict: &Self| match verdict {
            Self::Kept => 0,
            Self::Undecided => 1,
            Self::Void => 2,
            Self::Broken => 3,
        };
        verdicts.into_iter().max_by_key(rank).unwrap_or(Self::Void)
    }

    /// Its word, the one that verdict.json has.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::Void => "void",
        }
    }
}

/// How many of these verdicts chance alone may make wrong, each with the confidence of its promise;
/// `None` for fewer than two of which any rests on chance.
#[must_use]
pub fn wrong_by_chance(verdicts: impl Iterator<Item = (Verdict, f64)>) -> Option<f64> {
    let risk = |(found, confidence)| match found {
        Verdict::Kept => Some(1.0 - confidence),
        Verdict::Broken => Some(1.0 - to_accuse(confidence, 1)),
        Verdict::Undecided | Verdict::Void => None,
    };
    let risks: Vec<f64> = verdicts.filter_map(risk).collect();
    (risks.len() > 1).then(|| risks.iter().sum())
}

/// `verdict.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of this format: 1.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// The worst verdict of its promises, of trials and across them: broken, void, undecided, kept,
    /// in that order; void where nothing is promised.
    pub verdict: Verdict,
    /// One entry for each combination of factors.
    pub trials: Vec<TrialJudgement>,
    /// One entry for each promise across trials and combination of the factors that it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonJudgement>,
    /// Numbers of others beside ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceJudgement>,
    /// Whether the host was put back as it was found; `None` when the run never said.
    pub restored: Option<bool>,
    /// The lab's guest that the run took place in, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// How many of the verdicts kept and broken chance alone may make wrong, where there are two or
    /// more of them: each of them holds at the confidence of its own promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong_by_chance: Option<f64>,
    /// What a reader must know of verdicts from such a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

impl Judgement {
    /// Whether nothing was to be shown: no trial has a promise, and there is none across them.
    #[must_use]
    pub fn promises_nothing(&self) -> bool {
        self.comparisons.is_empty() && self.trials.iter().all(|trial| trial.promises.is_empty())
    }
}

/// One combination of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialJudgement {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// The worst verdict of its promises; void where it has none, which counts in no other verdict.
    pub verdict: Verdict,
    /// Repeats that took place and count.
    pub repeats: usize,
    /// One entry a promise.
    pub promises: Vec<PromiseJudgement>,
    /// What was checked before any number was believed.
    pub validity: Vec<Check>,
    /// What a reader should know beside the numbers, and what decides nothing by itself. Documents
    /// before this field have the same among `validity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// Which rounds the numbers of its promises come from, counted from 1, in the order of
    /// `errors`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<usize>,
    /// Seconds common to all groups, warm-up cut, all repeats together.
    pub window_s: f64,
    /// Seconds that were cut at the beginning, the longest of all repeats.
    pub warm_up_s: f64,
    /// CPU seconds of sampling per second, in cores.
    pub observer_cpu: f64,
    /// What each workload said of itself in the repeats that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadMetrics>,
}

/// What one workload said of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadMetrics {
    /// Its name, unique within the trial.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its tool.
    pub tool: String,
    /// Numbers by name, the unit in the name.
    pub metrics: BTreeMap<String, Figure>,
    /// Numbers that were to be had and are not in any repeat, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
    /// What a reader should know before looking at its numbers, each sentence once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// A workload's own number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The mean over repeats.
    pub value: f64,
    /// One number a repeat that has it, in order.
    pub repeats: Vec<f64>,
}

/// One promise in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromiseJudgement {
    /// What is measured.
    pub measure: String,
    /// The relation: `proportional`, `equal`, `at_most`, `at_least`.
    pub is: String,
    /// The knob or bound it refers to, as text.
    pub to: Option<String>,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence that names the deciding numbers.
    pub reason: String,
    /// What was seen: a fact about the observed seconds, and about no other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Observation>,
    /// What runs like these will give, as far as the repeats show it: never kept and never broken
    /// of one repeat. `verdict` is this, unless what was observed forbids it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub will_be: Option<Verdict>,
    /// In how many of the spans the promise holds, of the group that has fewest of them; where the
    /// promise is about spans (`every`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<SpansJudgement>,
    /// The largest relative error over all groups, |share / expected - 1|.
    pub worst_error: Option<Interval>,
    /// The same in each repeat by itself, in their order. Errors of opposite signs do not cancel
    /// here as they do in shares over all repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<f64>,
    /// Weighted Jain index, a summary and never the reason of a verdict.
    pub jain: Option<f64>,
    /// The measure's total rate over all measured groups, per second.
    pub total_rate: Option<f64>,
    /// For an undecided promise: seconds of window that would probably decide it.
    pub needs_s: Option<f64>,
    /// For an undecided promise on a workload's own number: repeats that would probably decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_repeats: Option<usize>,
    /// One entry a measured group.
    pub groups: Vec<GroupJudgement>,
    /// Why it was broken, most certain first.
    pub causes: Vec<Cause>,
}

/// One group under one promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupJudgement {
    /// The group's name.
    pub name: String,
    /// The knob's value as read back, where the promise refers to a knob.
    pub knob: Option<f64>,
    /// The share (or rate) that was promised.
    pub expected_share: f64,
    /// The share that the weights alone would give, where some group has too few threads to use
    /// its part of the CPUs, so that `expected_share` differs from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_by_weight: Option<f64>,
    /// The share (or rate) that was seen.
    pub share: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval; `null` in JSON where there is none.
    #[serde(with = "assay_stats::unbounded")]
    pub high: f64,
    /// The measure per second.
    pub rate: f64,
    /// This group's own verdict.
    pub verdict: Verdict,
    /// The share (or rate) over all observed seconds, with nothing but the counters' grain as error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Interval>,
    /// The span of time in which it was furthest off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_span: Option<WorstSpan>,
}

/// What was seen in all seconds that were observed, also in those that are cut as warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Kept or broken in these seconds; undecided where the counters are too coarse to tell.
    pub verdict: Verdict,
    /// Seconds, all repeats together.
    pub seconds: f64,
    /// The group that was furthest off.
    pub group: String,
    /// How far, with the counters' grain as its only error.
    pub error: Interval,
    /// Repeats in which every group was within the margin.
    pub repeats_kept: usize,
    /// Repeats.
    pub repeats: usize,
    /// Two states that the run moved between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// What the warm-up that was cut hides, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_warm_up: Option<String>,
}

/// Two states of a group, further apart than the margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct States {
    /// The group.
    pub group: String,
    /// What it had in each, as a multiple of what was promised; the lower first.
    pub times: [f64; 2],
    /// Seconds in each.
    pub seconds: [f64; 2],
    /// Repeats that were in both of them. Records before this field have 0.
    #[serde(default)]
    pub repeats: usize,
}

/// A promise about single spans of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpansJudgement {
    /// Seconds of a span.
    pub every_s: f64,
    /// The part of the spans in which it is to hold.
    pub promised: f64,
    /// The group that has fewest of them.
    pub group: String,
    /// The part in which it holds.
    pub held: Interval,
    /// What that says of runs like these.
    pub verdict: Verdict,
}

/// One condition without which a number means nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Stable name: `oom`, `backlogged`, `demand`, `cpu`, `others`, `quota`, `memory`, `scheduler`, `knobs`, `buffered-writes`, `page-cache`,
    /// `start`, `window`, `workloads`.
    pub check: String,
    /// Whether it holds.
    pub ok: bool,
    /// What was seen, with numbers.
    pub evidence: String,
}

/// Something to know beside the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Stable name: `heuristics`, `pool`, `feasible`, `throttled`, `limit`, `looks`.
    pub fact: String,
    /// What was seen, with numbers.
    pub evidence: String,
}

/// How much speaks for a suspicion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// It could be, and does no more than not contradict.
    Weak,
    /// What is seen is what it predicts, and others predict it too.
    Fair,
    /// What it predicts of every group, in sign and size, is what was seen.
    Strong,
}

/// A suspected or proven cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Stable code, `C-REQUEST-POOL`.
    pub code: String,
    /// One sentence.
    pub summary: String,
    /// What speaks for it, with numbers.
    pub evidence: Vec<String>,
    /// How much speaks for it, where it is suspected; nothing where it is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
}
