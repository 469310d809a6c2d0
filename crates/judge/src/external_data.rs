//! Verdicts on numbers measured outside of Assay: amounts over time, or only totals.
//!
//! Nothing was set up or watched here, so much of what makes a verdict sound cannot be checked:
//! which weights were in force, whether the disk was the bottleneck. What the numbers themselves
//! show is checked, the rest is reported as unknown, and where totals alone leave the scatter open,
//! the verdict is undecided.

mod checks;
mod series;
mod totals;

use std::collections::BTreeMap;

use assay_run_folder::{PromiseRecord, RelationRecord};
use assay_verdict::{Cause, Check, Judgement, PromiseJudgement, TrialJudgement, Verdict};

use crate::estimates::Estimates;
use crate::expected::Expected;
use crate::promise::{self, Statement};

/// External numbers and their promise.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalData {
    /// Title of the judgement, such as the names of the files.
    pub title: String,
    /// `io.bytes`, `io.ios`, or `amount` for unknown measures.
    pub measure: String,
    /// The groups and their weights.
    pub groups: Vec<ExternalGroup>,
    /// The margin, a fraction of the expected share.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalGroup {
    /// Its name.
    pub name: String,
    /// Its weight, given by the user; above 0.
    pub weight: f64,
    /// The amounts it got.
    pub amounts: Amounts,
    /// Other known facts.
    pub facts: ExternalFacts,
}

/// The amounts a group got.
#[derive(Debug, Clone, PartialEq)]
pub enum Amounts {
    /// Cumulative amounts by nanoseconds on a common clock, in order of time.
    Series(Vec<(u64, f64)>),
    /// One total.
    Total {
        /// In units of the measure.
        amount: f64,
        /// Duration in seconds.
        seconds: f64,
        /// Scatter of the rate, where recorded.
        scatter: Option<Scatter>,
    },
}

/// Scatter of a rate: mean and standard deviation of readings over fixed intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// Mean of the readings, in units of the measure per second.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Number of readings.
    pub readings: f64,
}

/// Facts reported by a tool about a group in addition to its amount; all optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalFacts {
    /// Why its numbers are invalid.
    pub failure: Option<String>,
    /// Start in seconds since any common epoch.
    pub began_s: Option<f64>,
    /// End in seconds since the same epoch.
    pub ended_s: Option<f64>,
    /// Requests that it kept outstanding on average, by Little's law.
    pub outstanding: Option<f64>,
    /// Requests that it was configured to keep outstanding.
    pub wanted: Option<f64>,
    /// An option that limits its rate, as text.
    pub paced: Option<String>,
    /// Whether it bypassed the page cache.
    pub direct: Option<bool>,
    /// The disk used, and the mean number of requests in its queue.
    pub disk: Option<(String, f64)>,
}

/// Judges whether shares follow the weights. The judgement has one trial and one promise.
#[must_use]
pub fn judge_external(outside: &ExternalData) -> Judgement {
    let promise = PromiseRecord {
        measure: outside.measure.clone(),
        is: RelationRecord::Proportional("weight".to_owned()),
        within: outside.within,
        confidence: outside.confidence,
        every: None,
    };
    let mut checks = checks::all(outside);
    let found = numbers(outside);
    checks.extend(found.iter().flat_map(|found| found.checks.clone()));
    let warm_up_s = found.as_ref().map_or(0.0, |found| found.warm_up_s);
    let window_s = found.as_ref().map_or(0.0, |found| found.numbers.window_s);
    let judged = decide(outside, &promise, &checks, found);
    let trial = TrialJudgement {
        factors: BTreeMap::new(),
        verdict: judged.verdict,
        repeats: 1,
        promises: vec![judged],
        validity: checks,
        facts: Vec::new(),
        rounds: Vec::new(),
        window_s,
        warm_up_s,
        observer_cpu: 0.0,
        workloads: Vec::new(),
    };
    Judgement {
        schema: 1,
        study: outside.title.clone(),
        verdict: trial.verdict,
        trials: vec![trial],
        comparisons: Vec::new(),
        references: Vec::new(),
        wrong_by_chance: None,
        restored: None,
        guest: None,
        caveat: Some(
            "measured elsewhere: whether these weights were in force, and whether anything else \
             was running, cannot be checked"
                .to_owned(),
        ),
    }
}

/// Numbers with their evidence.
struct ExternalNumbers {
    numbers: Estimates,
    warm_up_s: f64,
    /// Checks of the window's length and completeness.
    checks: Vec<Check>,
    /// Assumption of the intervals, as text.
    assumption: Option<String>,
    /// Whether the scatter is known.
    known: bool,
}

fn numbers(outside: &ExternalData) -> Result<ExternalNumbers, String> {
    if let Some(group) =
        outside.groups.iter().find(|group| group.weight.is_nan() || group.weight <= 0.0)
    {
        return Err(format!("the weight of `{}` is {}", group.name, group.weight));
    }
    let is_series = |group: &ExternalGroup| matches!(group.amounts, Amounts::Series(_));
    if outside.groups.iter().all(is_series) {
        series::numbers(outside)
    } else {
        totals::numbers(outside)
    }
}

/// The share expected of each group.
fn expected(outside: &ExternalData) -> Vec<Expected> {
    let all: f64 = outside.groups.iter().map(|group| group.weight).sum();
    let share = |group: &ExternalGroup| Expected::plain(Some(group.weight), group.weight / all);
    outside.groups.iter().map(share).collect()
}

fn decide(
    outside: &ExternalData,
    promise: &PromiseRecord,
    checks: &[Check],
    found: Result<ExternalNumbers, String>,
) -> PromiseJudgement {
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| format!("`{}`: {}", check.check, check.evidence))
        .collect();
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            let reason = format!("there is no number to judge: {why}");
            return promise::document(promise, None, Statement::void(reason));
        }
    };
    let mut statement = match failed.is_empty() {
        true => promise::of_numbers(promise, &found.numbers, None),
        false => Statement::void(failed.join("; ")),
    };
    let verdict = statement.verdict;
    if let Some(assumption) = found.assumption.filter(|_| verdict != Verdict::Void) {
        statement.reason = format!("{}; {assumption}", statement.reason);
    }
    let mut judged = promise::document(promise, Some(&found.numbers), statement);
    if !found.known {
        (judged.needs_s, judged.needs_repeats) = (None, None);
    }
    judged.causes = causes(outside, verdict, checks);
    judged
}

/// Failed checks are causes; nothing else can be examined here.
fn causes(outside: &ExternalData, verdict: Verdict, checks: &[Check]) -> Vec<Cause> {
    match verdict {
        Verdict::Void => checks.iter().filter_map(checks::cause).collect(),
        Verdict::Broken => vec![Cause {
            code: "C-UNKNOWN".to_owned(),
            summary: "the recorded data does not show why".to_owned(),
            evidence: vec![format!(
                "of {} groups only amounts are known, not the scheduler, the request pool or the \
                 CPUs; run the same load as a study (`assay run io-weight`) to find out",
                outside.groups.len()
            )],
            strength: None,
        }],
        Verdict::Kept | Verdict::Undecided => Vec::new(),
    }
}
