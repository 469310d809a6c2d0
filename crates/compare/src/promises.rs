//! Changes of each promise from one run to the other.

use assay_verdict::{
    Equivalence, PromiseChange, PromiseJudgement, PromiseState, TrialJudgement, Verdict,
};

/// Promises that both trials make, in the order of A.
pub(super) fn changes(a: &TrialJudgement, b: &TrialJudgement) -> Vec<PromiseChange> {
    let mut left: Vec<&PromiseJudgement> = b.promises.iter().collect();
    let mut found = Vec::new();
    for of_a in &a.promises {
        let same = |of_b: &&PromiseJudgement| {
            // With another margin or confidence it is another promise.
            let terms = |one: &PromiseJudgement| (one.within.to_bits(), one.confidence.to_bits());
            (&of_a.measure, &of_a.is, &of_a.to) == (&of_b.measure, &of_b.is, &of_b.to)
                && terms(of_a) == terms(of_b)
        };
        let Some(place) = left.iter().position(same) else { continue };
        let of_b = left.remove(place);
        found.push(PromiseChange {
            measure: of_a.measure.clone(),
            is: of_a.is.clone(),
            to: of_a.to.clone(),
            a: state(a, of_a),
            b: state(b, of_b),
            change: change(decided(of_a), decided(of_b)),
        });
    }
    found
}

fn state(trial: &TrialJudgement, promise: &PromiseJudgement) -> PromiseState {
    let PromiseJudgement { verdict, worst_error, .. } = *promise;
    PromiseState { verdict, worst_error, repeats: trial.repeats }
}

/// Kept or broken, where that is expected of runs like these: a single broken repeat is a fact
/// about its own window, and two such windows do not show what is due to the difference of the
/// runs.
fn decided(promise: &PromiseJudgement) -> Option<Verdict> {
    let known = |verdict: &Verdict| matches!(verdict, Verdict::Kept | Verdict::Broken);
    promise.will_be.filter(known).map(|_| promise.verdict).filter(known)
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
