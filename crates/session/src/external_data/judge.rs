//! Verdicts on numbers measured outside of Assay: amounts over time, or only totals.
//!
//! Nothing was set up or watched here, so much of what makes a verdict sound cannot be checked:
//! which weights were in force, whether the disk was the bottleneck. What the numbers themselves
//! show is checked, the rest is reported as unknown, and where totals alone leave the scatter open,
//! the verdict is undecided.

use std::collections::BTreeMap;

use assay_judge::{JudgedShares, MeasuredShares, SharePromise, judge_shares};
use assay_verdict::{Cause, Check, Judgement, TrialJudgement, Verdict};

use super::numbers::{Amounts, ExternalData, ExternalGroup};
use super::{checks, totals};

/// Judges whether shares follow the weights. The judgement has one trial and one promise.
#[must_use]
pub fn judge_external(outside: &ExternalData) -> Judgement {
    let (measured, note) = match measured(outside) {
        Ok((measured, note)) => (Ok(measured), note),
        Err(why) => (Err(why), None),
    };
    let promise = SharePromise {
        measure: outside.measure.clone(),
        groups: outside.groups.iter().map(|group| (group.name.clone(), group.weight)).collect(),
        within: outside.within,
        confidence: outside.confidence,
    };
    let JudgedShares { mut promise, checks, window_s, warm_up_s } =
        judge_shares(&promise, measured, checks::all(outside));
    promise.causes = causes(outside, promise.verdict, &checks);
    if let Some(note) = note.filter(|_| promise.verdict != Verdict::Void) {
        promise.reason = format!("{}; {}", promise.reason, note.text);
        promise.needs_s = promise.needs_s.filter(|_| note.is_known);
    }
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
        wrong_by_chance: None,
        restored: None,
        guest: None,
        caveat: Some(
            "measured elsewhere: whether these weights were in force, and whether anything else \
             was running, cannot be checked; and one measurement is never kept, which takes repeats \
             (`assay run`)"
                .to_owned(),
        ),
    }
}

fn measured(outside: &ExternalData) -> Result<(MeasuredShares, Option<totals::Note>), String> {
    let series = |group: &ExternalGroup| match &group.amounts {
        Amounts::Series(series) => Some((group.name.clone(), series.clone())),
        Amounts::Total { .. } => None,
    };
    match outside.groups.iter().map(series).collect() {
        Some(series) => Ok((MeasuredShares::over_time(series)?, None)),
        None => totals::shares(outside).map(|(shares, note)| (shares, Some(note))),
    }
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
