//! Changes of each promise from one run to the other.

use crate::verdict::{
    Equivalence, MeasureComparison, PromiseChange, PromiseJudgement, PromiseState, TrialJudgement,
    Verdict,
};
use assay_record::run_folder::{PromiseRecord, TrialRecord};

/// One trial with its judgement.
#[derive(Clone, Copy)]
pub(super) struct Judged<'t> {
    pub(super) trial: &'t TrialRecord,
    pub(super) judged: &'t TrialJudgement,
}

/// Promises that both trials make, in the order of A. With another margin or span of time
/// it is another promise.
pub(super) fn changes(of_a: Judged<'_>, of_b: Judged<'_>) -> Vec<PromiseChange> {
    let (a, b) = (of_a.judged, of_b.judged);
    let mut left: Vec<_> = of_b.trial.promises.iter().zip(&b.promises).collect();
    let mut found = Vec::new();
    for (asked, of_a) in of_a.trial.promises.iter().zip(&a.promises) {
        let same = |(other, of_b): &(&PromiseRecord, &PromiseJudgement)| {
            (&of_a.measure, &of_a.is, &of_a.to) == (&of_b.measure, &of_b.is, &of_b.to)
                && of_a.within.to_bits() == of_b.within.to_bits()
                && asked.every == other.every
        };
        let Some(place) = left.iter().position(same) else { continue };
        let (_, of_b) = left.remove(place);
        found.push(PromiseChange {
            measure: of_a.measure.clone(),
            is: of_a.is.clone(),
            to: of_a.to.clone(),
            a: state(a, of_a),
            b: state(b, of_b),
            change: match change(decided(of_a), decided(of_b)) {
                // Shares and rates are compared by their numbers, too; spans are not.
                Equivalence::Equal if asked.every.is_some() && of_a.verdict == Verdict::Broken => {
                    Equivalence::Undecided
                }
                change => change,
            },
        });
    }
    found
}

fn state(trial: &TrialJudgement, promise: &PromiseJudgement) -> PromiseState {
    let PromiseJudgement { verdict, worst_error, .. } = *promise;
    PromiseState { verdict, worst_error, repeats: trial.repeats }
}

/// Kept or broken.
fn decided(promise: &PromiseJudgement) -> Option<Verdict> {
    Some(promise.verdict).filter(|verdict| matches!(verdict, Verdict::Kept | Verdict::Broken))
}

/// The change; undecided unless both sides are decided.
fn change(a: Option<Verdict>, b: Option<Verdict>) -> Equivalence {
    match (a, b) {
        (Some(Verdict::Kept), Some(Verdict::Broken)) => Equivalence::Worse,
        (Some(Verdict::Broken), Some(Verdict::Kept)) => Equivalence::Better,
        (Some(_), Some(_)) => Equivalence::Equal,
        _ => Equivalence::Undecided,
    }
}

/// A measure that is zero on both sides has no ratio. Where a promise about it is kept on both, that is
/// all there is to say: the measure leaves nothing open.
pub(super) fn left_to_promise(
    one: MeasureComparison,
    promises: &[PromiseChange],
) -> MeasureComparison {
    let is_kept = |promise: &PromiseChange| {
        promise.measure == one.measure
            && promise.change == Equivalence::Equal
            && promise.a.verdict == Verdict::Kept
    };
    match promises.iter().any(is_kept) {
        true => MeasureComparison {
            decides: false,
            not_available: Some("0 in every repeat of both; its promise is kept".to_owned()),
            ..one
        },
        false => one,
    }
}
