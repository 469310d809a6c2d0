//! A verdict on numbers that somebody else measured: amounts over time, or only totals.
//!
//! Nothing was set up here and nothing was watched, so that much of what makes a verdict sound
//! cannot be checked: which weights were in force, whether the disk was what the groups waited
//! for. What the numbers themselves tell is checked, the rest is said to be unknown, and where
//! totals alone leave open how far chance reaches, the verdict is undecided.

mod checks;
mod series;
mod totals;

use std::collections::BTreeMap;

use assay_run_folder::{PromiseRecord, RelationRecord};

use crate::estimates::Numbers;
use crate::expected::Expected;
use crate::promise::{self, Statement};
use assay_verdict::{Cause, Check, Judgement, PromiseJudgement, TrialJudgement, Verdict};

/// Numbers from elsewhere, and what they were to be.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalData {
    /// What the judgement is called, such as the names of the files.
    pub title: String,
    /// `io.bytes`, `io.ios`, or `amount` for what Assay does not know.
    pub measure: String,
    /// Who was to get what.
    pub groups: Vec<OutsideGroup>,
    /// The margin, a fraction of the expected share.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct OutsideGroup {
    /// Its name.
    pub name: String,
    /// Its weight as the user gives it; above 0.
    pub weight: f64,
    /// What it got.
    pub amounts: Amounts,
    /// What else is known of it.
    pub facts: OutsideFacts,
}

/// What a group got.
#[derive(Debug, Clone, PartialEq)]
pub enum Amounts {
    /// Cumulative amounts by nanoseconds on a clock that all groups share, in order of time.
    Series(Vec<(u64, f64)>),
    /// One total.
    Total {
        /// In units of the measure.
        amount: f64,
        /// Seconds in which it came together.
        seconds: f64,
        /// How the rate varied within them, where that was recorded.
        scatter: Option<Scatter>,
    },
}

/// How a rate varied: mean and standard deviation of readings that each cover some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// Mean of the readings, in units of the measure per second.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// How many.
    pub readings: f64,
}

/// What a tool told of a group beyond its amount; all of it optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutsideFacts {
    /// Why its numbers are not to be believed.
    pub failure: Option<String>,
    /// Seconds since any common epoch at which it began.
    pub began_s: Option<f64>,
    /// Seconds since the same epoch at which it ended.
    pub ended_s: Option<f64>,
    /// Requests that it kept outstanding on average, by Little's law.
    pub outstanding: Option<f64>,
    /// Requests that it was told to keep outstanding.
    pub wanted: Option<f64>,
    /// An option that holds its rate back, as text.
    pub paced: Option<String>,
    /// Whether it passed the page cache by.
    pub direct: Option<bool>,
    /// The disk that it used, and the mean number of requests in its queue.
    pub disk: Option<(String, f64)>,
}

/// Judges whether shares followed the weights. The judgement has one trial and one promise.
#[must_use]
pub fn judge_outside(outside: &ExternalData) -> Judgement {
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
             was going on, cannot be checked"
                .to_owned(),
        ),
    }
}

/// Numbers with what they rest on.
struct Found {
    numbers: Numbers,
    warm_up_s: f64,
    /// The gates that ask how much time there is, and whether it is all alike.
    checks: Vec<Check>,
    /// What the intervals assume, for people.
    assumption: Option<String>,
    /// Whether anything is known of how the amounts vary.
    known: bool,
}

fn numbers(outside: &ExternalData) -> Result<Found, String> {
    if let Some(group) =
        outside.groups.iter().find(|group| group.weight.is_nan() || group.weight <= 0.0)
    {
        return Err(format!("the weight of `{}` is {}", group.name, group.weight));
    }
    let is_series = |group: &OutsideGroup| matches!(group.amounts, Amounts::Series(_));
    if outside.groups.iter().all(is_series) {
        series::numbers(outside)
    } else {
        totals::numbers(outside)
    }
}

/// What each group was to get.
fn expected(outside: &ExternalData) -> Vec<Expected> {
    let all: f64 = outside.groups.iter().map(|group| group.weight).sum();
    let share = |group: &OutsideGroup| Expected::plain(Some(group.weight), group.weight / all);
    outside.groups.iter().map(share).collect()
}

fn decide(
    outside: &ExternalData,
    promise: &PromiseRecord,
    checks: &[Check],
    found: Result<Found, String>,
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
    let mut said = match failed.is_empty() {
        true => promise::of_numbers(promise, &found.numbers, None),
        false => Statement::void(failed.join("; ")),
    };
    let verdict = said.verdict;
    if let Some(assumption) = found.assumption.filter(|_| verdict != Verdict::Void) {
        said.reason = format!("{}; {assumption}", said.reason);
    }
    let mut judged = promise::document(promise, Some(&found.numbers), said);
    if !found.known {
        (judged.needs_s, judged.needs_repeats) = (None, None);
    }
    judged.causes = causes(outside, verdict, checks);
    judged
}

/// Gates that failed are causes; nothing else can be looked at from here.
fn causes(outside: &ExternalData, verdict: Verdict, checks: &[Check]) -> Vec<Cause> {
    match verdict {
        Verdict::Void => checks.iter().filter_map(checks::cause).collect(),
        Verdict::Broken => vec![Cause {
            code: "C-UNKNOWN".to_owned(),
            summary: "what was recorded does not tell why".to_owned(),
            evidence: vec![format!(
                "of {} groups only amounts are known, not the scheduler, the request pool or the \
                 CPUs; run the same load as a study (`assay run io-weight`) to be told",
                outside.groups.len()
            )],
            strength: None,
        }],
        Verdict::Kept | Verdict::Undecided => Vec::new(),
    }
}
