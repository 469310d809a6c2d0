//! Verdicts on numbers measured outside of Assay: amounts over time, or only totals.
//!
//! Nothing was set up or watched here, so much of what makes a verdict sound cannot be checked:
//! which weights were in force, whether the disk was the bottleneck. What the numbers themselves
//! show is checked, the rest is reported as unknown. One measurement is a fact about itself: its verdict is
//! undecided or void.

use std::collections::BTreeMap;

use assay_judge::{JudgedShares, MeasuredShares, SharePromise, judge_shares};
use assay_verdict::{Cause, Check, Judgement, TrialJudgement, Verdict};

use super::numbers::{Amounts, ExternalData, ExternalGroup};
use super::{checks, totals};

/// Judges whether shares follow the weights. The judgement has one trial and one promise.
#[must_use]
pub fn judge_external(outside: &ExternalData) -> Judgement {
    let promise = SharePromise {
        measure: outside.measure.clone(),
        groups: outside.groups.iter().map(|group| (group.name.clone(), group.weight)).collect(),
        within: outside.within,
    };
    let JudgedShares { mut promise, checks, window_s, warm_up_s } =
        judge_shares(&promise, measured(outside), checks::all(outside));
    promise.causes = causes(promise.verdict, &checks);
    let trial = TrialJudgement {
        factors: BTreeMap::new(),
        verdict: promise.verdict,
        repeats: 1,
        promises: vec![promise],
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
        restored: None,
        guest: None,
        caveat: Some(
            "measured elsewhere: whether these weights were in force, and whether anything else \
             was running, cannot be checked; and one measurement is a fact and no verdict, which takes \
             repeats (`assay run`)"
                .to_owned(),
        ),
    }
}

fn measured(outside: &ExternalData) -> Result<MeasuredShares, String> {
    let series = |group: &ExternalGroup| match &group.amounts {
        Amounts::Series(series) => Some((group.name.clone(), series.clone())),
        Amounts::Total { .. } => None,
    };
    match outside.groups.iter().map(series).collect() {
        Some(series) => MeasuredShares::over_time(series),
        None => totals::shares(outside),
    }
}

/// Failed checks are causes; nothing else can be examined here.
fn causes(verdict: Verdict, checks: &[Check]) -> Vec<Cause> {
    match verdict {
        Verdict::Void => checks.iter().filter_map(checks::cause).collect(),
        _ => Vec::new(),
    }
}
