//! What became of each promise from one run to the other.

use super::document::{Likeness, PromiseChange, PromiseState};
use crate::judgement::{PromiseJudgement, TrialJudgement, Verdict};

/// Promises that both trials make, in the order of A.
pub(super) fn changes(a: &TrialJudgement, b: &TrialJudgement) -> Vec<PromiseChange> {
    let mut left: Vec<&PromiseJudgement> = b.promises.iter().collect();
    let mut found = Vec::new();
    for of_a in &a.promises {
        let same = |of_b: &&PromiseJudgement| {
            (&of_a.measure, &of_a.is, &of_a.to) == (&of_b.measure, &of_b.is, &of_b.to)
        };
        let Some(place) = left.iter().position(same) else { continue };
        let of_b = left.remove(place);
        found.push(PromiseChange {
            measure: of_a.measure.clone(),
            is: of_a.is.clone(),
            to: of_a.to.clone(),
            a: state(of_a),
            b: state(of_b),
            change: change(of_a.verdict, of_b.verdict),
        });
    }
    found
}

fn state(promise: &PromiseJudgement) -> PromiseState {
    PromiseState { verdict: promise.verdict, worst_error: promise.worst_error }
}

/// Kept and broken are known; between them and what is not known nothing can be said.
fn change(a: Verdict, b: Verdict) -> Likeness {
    match (a, b) {
        (Verdict::Kept, Verdict::Broken) => Likeness::Worse,
        (Verdict::Broken, Verdict::Kept) => Likeness::Better,
        _ if a == b => Likeness::Equal,
        _ => Likeness::Undecided,
    }
}
