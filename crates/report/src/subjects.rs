//! The measured groups of a trial with their weights, in display order.

use std::collections::BTreeMap;

use assay_judge::verdict::{GroupJudgement, PromiseJudgement, TrialJudgement};
use assay_record::run_folder::TrialRecord;

use crate::{number, wording};

/// Up to this many groups are shown one by one; more are aggregated by weight.
pub(crate) const MAX_SINGLE_GROUPS: usize = 16;

/// A measured group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeasuredGroup {
    /// Its name.
    pub(crate) name: String,
    /// The knob's value as read back, where a promise of shares refers to a knob.
    pub(crate) weight: Option<f64>,
}

impl MeasuredGroup {
    /// The weight as shown in legends; `all groups` if no promise has a knob.
    pub(crate) fn class(&self) -> String {
        self.weight.map_or_else(|| "all groups".to_owned(), number::plain)
    }
}

/// The measured groups by ascending weight, otherwise in the order of the study.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Subjects(pub(crate) Vec<MeasuredGroup>);

impl Subjects {
    /// Weights come from the judgement, since the value read back counts and not the requested one.
    pub(crate) fn new(record: &TrialRecord, judgement: Option<&TrialJudgement>) -> Self {
        let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
        let promises = judgement.map_or(&[][..], |trial| &trial.promises);
        let shares = promises.iter().filter(|promise| wording::is_about_shares(promise));
        for group in shares.flat_map(|promise| &promise.groups) {
            if let Some(knob) = group.knob {
                weights.entry(&group.name).or_insert(knob);
            }
        }
        let measured = record.groups.iter().filter(|group| group.measured);
        let mut subjects: Vec<MeasuredGroup> = measured
            .map(|group| MeasuredGroup {
                name: group.name.clone(),
                weight: weights.get(group.name.as_str()).copied(),
            })
            .collect();
        subjects.sort_by(|a, b| by_weight(a.weight, b.weight));
        Self(subjects)
    }

    /// Whether curves are drawn per weight because there are too many groups.
    pub(crate) fn aggregated(&self) -> bool {
        self.0.len() > MAX_SINGLE_GROUPS
    }

    /// The weights that occur, ascending, as shown in legends.
    pub(crate) fn classes(&self) -> Vec<String> {
        let mut classes: Vec<String> = self.0.iter().map(MeasuredGroup::class).collect();
        classes.dedup();
        classes
    }
}

fn by_weight(a: Option<f64>, b: Option<f64>) -> std::cmp::Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        // Groups without a weight come last.
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The groups of a promise by ascending weight, otherwise in the order of the study.
pub(crate) fn ordered(promise: &PromiseJudgement) -> Vec<&GroupJudgement> {
    let mut groups: Vec<&GroupJudgement> = promise.groups.iter().collect();
    groups.sort_by(|a, b| by_weight(a.knob, b.knob));
    groups
}

/// Deviation of a group's share (or rate) from the promised one, relative to it.
pub(crate) fn error(group: &GroupJudgement) -> f64 {
    if group.expected_share == 0.0 { f64::NAN } else { group.share / group.expected_share - 1.0 }
}

/// How far a group violates its promise: staying below `at_most` is not an error.
pub(crate) fn violation(promise: &PromiseJudgement, group: &GroupJudgement) -> f64 {
    promise.side().harmful(error(group))
}

/// The group that violates its promise most.
pub(crate) fn worst<'g>(
    promise: &PromiseJudgement,
    groups: &[&'g GroupJudgement],
) -> Option<&'g GroupJudgement> {
    let by_violation = |a: &&&GroupJudgement, b: &&&GroupJudgement| {
        violation(promise, a).total_cmp(&violation(promise, b))
    };
    groups.iter().max_by(by_violation).copied()
}
