//! What the changes together say about each cause.

use assay_judge::verdict::{Cause, PromiseJudgement, Proof, ProofState, Verdict};

use super::sentence;
use super::{ArmResult, CauseFinding, Effect, Finding};

/// Causes, proven and confirmed ones first.
pub(super) fn causes(
    base: &PromiseJudgement,
    suspects: &[Cause],
    results: &[ArmResult],
) -> Vec<CauseFinding> {
    let mut found: Vec<CauseFinding> = Vec::new();
    // A cause that a failed check proves needs no intervention.
    if base.verdict == Verdict::Void {
        found.extend(base.causes.iter().map(|cause| CauseFinding {
            code: cause.code.clone(),
            finding: Finding::Proven,
            evidence: cause.evidence.clone(),
        }));
    }
    // Neither does what events in the kernel prove or exclude; what contributes is said, too.
    let settled: Vec<CauseFinding> =
        base.proofs.iter().map(|proof| by_events(proof, results)).collect();
    for cause in settled {
        if !found.iter().any(|known| known.code == cause.code) {
            found.push(cause);
        }
    }
    let mut codes: Vec<&str> = suspects.iter().map(|cause| cause.code.as_str()).collect();
    codes.extend(base.causes.iter().map(|cause| cause.code.as_str()));
    codes.extend(results.iter().flat_map(|arm| arm.tests.iter().map(String::as_str)));
    for code in codes {
        if code != "C-UNKNOWN" && !found.iter().any(|known| known.code == code) {
            found.push(explain_cause(code, results));
        }
    }
    found.sort_by(|a, b| {
        let by_rank = super::document::rank(a).cmp(&super::document::rank(b));
        by_rank.then(sharpest(a, results).total_cmp(&sharpest(b, results)))
    });
    found
}

/// Width of the narrowest prediction of a confirmed cause that a change which tests it proved right: the narrower, the less
/// likely by chance. Infinite without one, and of causes that are not confirmed, whose order stays.
fn sharpest(cause: &CauseFinding, results: &[ArmResult]) -> f64 {
    if cause.finding != Finding::Confirmed {
        return f64::INFINITY;
    }
    let helped = results.iter().filter(|arm| arm.is_confirmed() && arm.tests.contains(&cause.code));
    let right = helped
        .flat_map(|arm| &arm.predictions)
        .filter(|prediction| prediction.cause == cause.code && prediction.right == Some(true));
    right.map(|prediction| prediction.high - prediction.low).fold(f64::INFINITY, f64::min)
}

/// A cause that events in the kernel prove or exclude, with the changes that test it all the same. What they exclude
/// although a change that tests it removed the error is contradicted: either the rule or the change says something else
/// than is known of it. Of what contributes the changes decide.
fn by_events(proof: &Proof, results: &[ArmResult]) -> CauseFinding {
    let removed = |arm: &ArmResult| {
        arm.tests.contains(&proof.code) && (arm.effect == Effect::Cured || arm.is_confirmed())
    };
    let rounds = match proof.of {
        0 | 1 => String::new(),
        of => format!(" in {} of {of} rounds", proof.repeats),
    };
    let word = proof.state.word();
    let events = format!("the kernel's events: {word}{rounds}: {}", proof.evidence);
    let finding = match proof.state {
        ProofState::Proven => Finding::Proven,
        ProofState::Excluded if results.iter().any(removed) => Finding::Contradicted,
        ProofState::Excluded => Finding::Excluded,
        ProofState::Contributes => {
            let mut cause = explain_cause(&proof.code, results);
            cause.evidence.insert(0, events);
            return cause;
        }
    };
    let arms = results.iter().filter(|arm| arm.tests.contains(&proof.code));
    let tested = arms.map(|arm| sentence::tested_arm_sentence(&proof.code, arm));
    let evidence = std::iter::once(events).chain(tested).collect();
    CauseFinding { code: proof.code.clone(), finding, evidence }
}

fn explain_cause(code: &str, results: &[ArmResult]) -> CauseFinding {
    let arms: Vec<&ArmResult> =
        results.iter().filter(|arm| arm.tests.iter().any(|test| test == code)).collect();
    let helped = |arm: &&&ArmResult| arm.is_confirmed();
    let unmoved = |arm: &&&ArmResult| matches!(arm.effect, Effect::Unmoved | Effect::Worsened);
    let predictions = || {
        results
            .iter()
            .flat_map(|arm| arm.predictions.iter().map(move |prediction| (arm, prediction)))
    };
    let wrong: Vec<String> = predictions()
        .filter(|(_, prediction)| prediction.cause == code && prediction.right == Some(false))
        .map(|(arm, prediction)| format!("{}: {}", arm.change, prediction.line()))
        .collect();
    let finding = if arms.iter().any(|arm| helped(&arm)) {
        if wrong.is_empty() { Finding::Confirmed } else { Finding::Contradicted }
    } else if !arms.is_empty() && arms.iter().all(|arm| unmoved(&arm)) {
        Finding::Refuted
    } else {
        Finding::Open
    };
    let evidence = match arms.is_empty() {
        true => vec!["no intervention that ran tests it".to_owned()],
        false => arms.iter().map(|arm| sentence::tested_arm_sentence(code, arm)).collect(),
    };
    let evidence = match finding {
        Finding::Contradicted => [evidence, wrong].concat(),
        _ => evidence,
    };
    CauseFinding { code: code.to_owned(), finding, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmed_cause_ranks_before_its_effects() {
        let one = |code: &str, finding| CauseFinding {
            code: code.to_owned(),
            finding,
            evidence: Vec::new(),
        };
        let mut found = [
            one("C-INJECTION", Finding::Open),
            one("C-NOT-BACKLOGGED", Finding::Proven),
            one("C-TAG-CAP", Finding::Confirmed),
            one("C-SCHEDULER", Finding::Proven),
        ];
        found.sort_by_key(super::super::document::rank);
        let codes: Vec<&str> = found.iter().map(|cause| cause.code.as_str()).collect();
        assert_eq!(codes, ["C-SCHEDULER", "C-TAG-CAP", "C-NOT-BACKLOGGED", "C-INJECTION"]);
    }
}
