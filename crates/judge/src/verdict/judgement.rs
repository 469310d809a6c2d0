//! The judgement: `verdict.json`, schema 1. Field names are a contract with users' scripts.

use std::collections::BTreeMap;

use assay_record::run_folder::{Guest, Levels};
use assay_record::terms::{RelationKind, Side};
use assay_stats::Interval;
use assay_stats::rule::Starts;
use assay_stats::spans::WorstSpan;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `verdict.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Format version: 1.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// The worst verdict of its promises, within and across trials: broken, void, undecided, kept,
    /// in that order; void without promises.
    pub verdict: Verdict,
    /// One entry for each combination of factors.
    pub trials: Vec<TrialJudgement>,
    /// One entry for each promise across trials and combination of the factors held constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonJudgement>,
    /// Published numbers next to ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceJudgement>,
    /// Whether the host was restored; `None` when that was not recorded.
    pub restored: Option<bool>,
    /// The lab guest in which the run took place, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Caveat for verdicts from such a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

impl Judgement {
    /// Whether neither a trial nor the study across trials has a promise.
    #[must_use]
    pub fn promises_nothing(&self) -> bool {
        self.comparisons.is_empty() && self.trials.iter().all(|trial| trial.promises.is_empty())
    }
}

/// One combination of factors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialJudgement {
    /// The value of each factor.
    pub factors: BTreeMap<String, Value>,
    /// The worst verdict of its promises; void without any, which counts in no other verdict.
    pub verdict: Verdict,
    /// Repeats that count.
    pub repeats: usize,
    /// One entry per promise.
    pub promises: Vec<PromiseJudgement>,
    /// Validity checks.
    pub validity: Vec<Check>,
    /// Context for the numbers that decides nothing by itself. Older documents have it among
    /// `validity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// The rounds of the numbers, counted from 1, in the order of `errors`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<usize>,
    /// Seconds common to all groups, without warm-up, over all repeats.
    pub window_s: f64,
    /// Seconds of warm-up, the longest of all repeats.
    pub warm_up_s: f64,
    /// CPU seconds of sampling per second, in cores.
    pub observer_cpu: f64,
    /// Metrics reported by the workloads in the repeats that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadMetrics>,
}

/// Metrics reported by one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadMetrics {
    /// Its name, unique within the trial.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its tool.
    pub tool: String,
    /// Values by name; the unit is in the name.
    pub metrics: BTreeMap<String, Figure>,
    /// Metrics missing in every repeat, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
    /// Caveats about its numbers, each sentence once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// A value of a workload metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The mean over repeats.
    pub value: f64,
    /// One value for each repeat that has it, in order.
    pub repeats: Vec<f64>,
}

/// One promise in one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromiseJudgement {
    /// The measure.
    pub measure: String,
    /// The name of the relation ([`RelationKind`]).
    pub is: String,
    /// The knob or bound it refers to, as text.
    pub to: Option<String>,
    /// The margin, a fraction of the expected value.
    pub within: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason in one sentence, with the deciding numbers.
    pub reason: String,
    /// The observation: a fact about the observed seconds, and about no other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Observation>,
    /// The part of the spans in which the promise holds, of the group with the smallest; for
    /// promises about spans (`every`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<SpansJudgement>,
    /// The largest relative error over all groups, |share / expected - 1|.
    pub worst_error: Option<Interval>,
    /// The same for each repeat, in order. Errors of opposite sign do not cancel here as they do in
    /// shares over all repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<f64>,
    /// Weighted Jain index, a summary and never the reason of a verdict.
    pub jain: Option<f64>,
    /// The measure's total rate over all measured groups, per second.
    pub total_rate: Option<f64>,
    /// For an undecided promise: seconds of window that would probably decide it.
    pub needs_s: Option<f64>,
    /// For an undecided promise on a workload metric: repeats that would probably decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_repeats: Option<usize>,
    /// One entry for each measured group.
    pub groups: Vec<GroupJudgement>,
    /// Why it was broken, most certain first.
    pub causes: Vec<Cause>,
    /// What events in the kernel prove or exclude, where they were recorded. A cause without an entry has no
    /// figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
}

impl PromiseJudgement {
    /// Its relation; `None` of one that only a later version knows.
    #[must_use]
    pub fn relation(&self) -> Option<RelationKind> {
        RelationKind::parse(&self.is)
    }

    /// The direction of errors that break it.
    #[must_use]
    pub fn side(&self) -> Side {
        self.relation().map_or(Side::Both, RelationKind::side)
    }

    /// Whether it divides by a knob, in proportion to its values.
    #[must_use]
    pub fn divides_by_knob(&self) -> bool {
        self.relation().is_some_and(RelationKind::divides_by_knob)
    }
}

/// One group under one promise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupJudgement {
    /// The group's name.
    pub name: String,
    /// The knob's value as read back, where the promise refers to a knob.
    pub knob: Option<f64>,
    /// The promised share (or rate).
    pub expected_share: f64,
    /// The share by the weights alone, where some group has too few threads to use its part of the
    /// CPUs, so that `expected_share` differs from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_by_weight: Option<f64>,
    /// The measured share (or rate).
    pub share: f64,
    /// Lower bound, by which it is kept (docs/judging.md); of metrics and placements the least start.
    pub low: f64,
    /// Upper bound, or the largest start; `null` in JSON where there is none.
    #[serde(with = "assay_stats::unbounded")]
    pub high: f64,
    /// The measure per second.
    pub rate: f64,
    /// This group's own verdict.
    pub verdict: Verdict,
    /// The share (or rate) over all observed seconds; of waits the certain and the possible time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Interval>,
    /// The span of time in which it was furthest off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_span: Option<WorstSpan>,
}

/// Observation over all seconds, including those cut as warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Kept or broken in these seconds; undecided where waits were not seen finely enough to tell.
    pub verdict: Verdict,
    /// Seconds over all repeats.
    pub seconds: f64,
    /// The group that was furthest off.
    pub group: String,
    /// Its error; of waits what is certain, and what is possible.
    pub error: Interval,
    /// Starts in which every group was within the margin.
    pub repeats_kept: usize,
    /// Number of starts.
    pub repeats: usize,
    /// Another start is inside with at least this probability, at 95 %; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub another_at_least: Option<f64>,
}

impl Observation {
    /// The group that was furthest off over all seconds, and the starts in which all were inside.
    #[must_use]
    pub fn new(group: &str, error: f64, within: f64, seconds: f64, starts: Starts) -> Self {
        Self {
            verdict: if error <= within { Verdict::Kept } else { Verdict::Broken },
            seconds,
            group: group.to_owned(),
            error: Interval::exact(error),
            repeats_kept: starts.inside,
            repeats: starts.of,
            another_at_least: Some(starts.another_at_least()),
        }
    }

    /// The starts that were inside, of all.
    #[must_use]
    pub fn starts(&self) -> Starts {
        Starts { inside: self.repeats_kept, of: self.repeats }
    }
}

/// A promise about single spans of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpansJudgement {
    /// Seconds of a span.
    pub every_s: f64,
    /// The part of the spans in which it should hold.
    pub promised: f64,
    /// The group in which the fewest hold.
    pub group: String,
    /// The part in which it holds: the mean of the starts, the least and the largest.
    pub held: Interval,
    /// The verdict by the starts in which the promised part held.
    pub verdict: Verdict,
}

/// A validity check: a condition without which a number means nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Stable name: `oom`, `backlogged`, `demand`, `cpu`, `others`, `quota`, `memory`, `scheduler`, `knobs`, `buffered-writes`, `page-cache`,
    /// `start`, `window`, `workloads`.
    pub check: String,
    /// Whether it holds.
    pub ok: bool,
    /// The evidence, with numbers.
    pub evidence: String,
}

/// Context for the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Stable name: `heuristics`, `pool`, `feasible`, `throttled`, `limit`, `looks`.
    pub fact: String,
    /// The evidence, with numbers.
    pub evidence: String,
}

/// How well a suspected cause fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// Possible: not contradicted.
    Weak,
    /// It predicts what was measured, and other causes do too.
    Fair,
    /// It predicts sign and size of every group's error.
    Strong,
}

impl Cause {
    /// A cause that is proven, or whose strength is not known yet.
    #[must_use]
    pub fn new(code: &str, summary: &str, evidence: Vec<String>) -> Self {
        Self { code: code.to_owned(), summary: summary.to_owned(), evidence, strength: None }
    }
}

/// A suspected or proven cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Stable code, `C-REQUEST-POOL`.
    pub code: String,
    /// Summary in one sentence.
    pub summary: String,
    /// The evidence, with numbers.
    pub evidence: Vec<String>,
    /// Strength of a suspicion; absent where the cause is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
}

// The four verdicts.

/// Verdict on a promise, a trial or a study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All bounds lie within the margin.
    Kept,
    /// The bounds of some group lie outside the margin.
    Broken,
    /// More starts are needed to tell.
    Undecided,
    /// The run could not have shown it.
    #[default]
    Void,
}

impl Verdict {
    /// The worst of many: broken, void, undecided, kept, in that order; void without any.
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

    /// Its word in verdict.json.
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

// What the kernel's own events say about a cause.

/// What events in the kernel say about a cause of a broken or void promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofState {
    /// It was seen, and explains direction and size of the errors.
    Proven,
    /// It was seen, but explains the errors in part only, or in some repeats only.
    Contributes,
    /// It was measured to be absent, or far too small.
    Excluded,
}

impl ProofState {
    /// Its word in verdict.json.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Contributes => "contributes",
            Self::Excluded => "excluded",
        }
    }
}

/// What events in the kernel say about one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The cause's code.
    pub code: String,
    /// The result over all repeats that were examined.
    pub state: ProofState,
    /// Repeats that agree with it.
    pub repeats: usize,
    /// Repeats examined: those that broke the promise, or all of a void one.
    pub of: usize,
    /// The evidence, with figures.
    pub evidence: String,
}

// Whether what a command measured counts, as a document: `validity` in the report of `assay exec --quiet-check`.

/// Whether a command had its machine to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Soundness {
    /// Nothing from outside disturbed it beyond the margin.
    Valid,
    /// Something did, or nothing could have shown it: its numbers prove nothing.
    Void,
}

/// The answer for one command, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// The answer: void if a check failed.
    pub verdict: Soundness,
    /// The largest part of the CPUs that others may have taken.
    pub within: f64,
    /// Every check with its evidence.
    pub checks: Vec<Check>,
}

impl Validity {
    /// The answer that follows from the checks.
    #[must_use]
    pub fn new(within: f64, checks: Vec<Check>) -> Self {
        let valid = checks.iter().all(|check| check.ok);
        Self { verdict: if valid { Soundness::Valid } else { Soundness::Void }, within, checks }
    }

    /// Whether nothing disturbed the command.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.verdict == Soundness::Valid
    }
}

// Why a run has no verdict.

/// The end of a run for the program that started it (`assay run --errors-json`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunErrors {
    /// Version of this format.
    pub schema: u32,
    /// The exit code (docs/cli.md).
    pub code: i32,
    /// Every error, in the order in which they occurred; each may have a hint on a line of its own.
    pub errors: Vec<String>,
}

impl RunErrors {
    /// The version of this format.
    pub const SCHEMA: u32 = 1;
}

// The parts of `verdict.json` about promises across trials and about references. Field names are a
// contract with users' scripts.

/// One promise across trials, under one combination of the factors held constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonJudgement {
    /// The measure.
    pub measure: String,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The relation: `ratio`, `equal`.
    pub is: String,
    /// The factors whose levels are compared.
    pub over: Vec<String>,
    /// The levels of all other factors.
    pub held: Levels,
    /// Lower bound of the ratio.
    pub at_least: Option<f64>,
    /// Upper bound of the ratio.
    pub at_most: Option<f64>,
    /// For `equal`: the larger is at most `1 + within` times the smaller.
    pub within: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason in one sentence, with the deciding numbers.
    pub reason: String,
    /// For an undecided promise: repeats that would probably decide it.
    pub needs_repeats: Option<usize>,
    /// The measure under each level, in the order of the study file.
    pub levels: Vec<LevelJudgement>,
    /// Comparisons of levels.
    pub pairs: Vec<PairJudgement>,
}

/// The measure under one level, or one combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelJudgement {
    /// The compared factors' levels.
    pub factors: Levels,
    /// Repeats that have a value.
    pub repeats: usize,
    /// Geometric mean over the repeats, in the unit of the measure.
    pub value: Option<f64>,
    /// Lower bound of its interval; `null` with fewer than two repeats.
    pub low: Option<f64>,
    /// Upper bound of its interval; `null` with fewer than two repeats.
    pub high: Option<f64>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// One level against another, repeat by repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairJudgement {
    /// Levels of the numerator.
    pub of: Levels,
    /// Levels of the denominator.
    pub to: Levels,
    /// Repeats that both sides have.
    pub repeats: usize,
    /// Geometric mean of the ratios.
    pub ratio: Option<f64>,
    /// Lower bound of its interval; `null` with fewer than two repeats.
    pub low: Option<f64>,
    /// Upper bound of its interval; `null` with fewer than two repeats.
    pub high: Option<f64>,
    /// This pair's own verdict.
    pub verdict: Verdict,
}

/// A published number next to our measurement. Never judged: it comes from another machine, kernel
/// and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceJudgement {
    /// What it is.
    pub what: String,
    /// The published number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Its source.
    pub source: String,
    /// Our measure next to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The one group that counts; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The levels of our factors to which it applies.
    pub under: Levels,
    /// The levels that our number is divided by; absent where it is not a ratio.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub to: Levels,
    /// Our numbers, one for each trial with these levels.
    pub ours: Vec<LevelJudgement>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_check_makes_it_void() {
        let check = |ok| Check { check: "swap".to_owned(), ok, evidence: String::new() };
        assert!(Validity::new(0.05, vec![check(true)]).is_valid());
        let void = Validity::new(0.05, vec![check(true), check(false)]);
        assert_eq!(serde_json::to_value(&void).unwrap()["verdict"], "void");
    }
}
