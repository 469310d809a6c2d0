//! Whether an error follows a weight or stays with a group when weights are exchanged.

use serde::{Deserialize, Serialize};

use assay_verdict::PromiseJudgement;

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
pub(super) fn compare(before: &PromiseJudgement, after: &PromiseJudgement) -> Option<Follows> {
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
